package stateset

import "sync/atomic"

// Answers remembers answers, yes or no, for the keys to which they were put last: up to answersMax
// of them, at 8 bytes each. It forgets all when the table grows. The zero value is empty. Its
// methods may be called concurrently.
//
// The table consists of buckets the size of a cache line. The bucket of a key tells the lowest bits
// of the key, so that a slot has room for the answer beside the others, and two keys are never
// confused.
type Answers struct {
	table atomic.Pointer[[]uint64] // a power of two of slots; an empty slot is 0
	puts  atomic.Int64             // since the table has this size
}

const (
	answersMin = 1 << 10
	answersMax = 1 << 20

	bucketSlots = 8

	// The lowest bits of a slot.
	slotFull = 1
	slotYes  = 2
)

// Get returns the answer for a key, and whether it is known.
func (a *Answers) Get(key uint64) (yes, known bool) {
	t := a.table.Load()
	if t == nil {
		return false, false
	}
	slots, no := bucket(*t, key)
	for i := range slots {
		if slot := atomic.LoadUint64(&slots[i]); slot&^slotYes == no {
			return slot&slotYes != 0, true
		}
	}
	return false, false
}

// Put stores the answer for a key whose answer is not known. It may replace that for another key.
func (a *Answers) Put(key uint64, yes bool) {
	t := a.table.Load()
	if t == nil || len(*t) < answersMax && a.puts.Add(1) > int64(len(*t)) {
		t = a.grow(t)
	}
	slots, slot := bucket(*t, key)
	if yes {
		slot |= slotYes
	}
	at := int(key>>32) % bucketSlots
	for i := range slots {
		if atomic.LoadUint64(&slots[i]) == 0 {
			at = i
			break
		}
	}
	atomic.StoreUint64(&slots[at], slot)
}

// bucket returns the slots that can hold a key, and what such a slot holds if the answer is no.
func bucket(table []uint64, key uint64) (slots []uint64, no uint64) {
	at := key % uint64(len(table)/bucketSlots) * bucketSlots
	return table[at : at+bucketSlots], key&^slotYes | slotFull
}

// grow replaces the table by an empty one of twice the size, and returns it.
func (a *Answers) grow(old *[]uint64) *[]uint64 {
	size := answersMin
	if old != nil {
		size = 2 * len(*old)
	}
	t := make([]uint64, size)
	if !a.table.CompareAndSwap(old, &t) {
		return a.table.Load()
	}
	a.puts.Store(0)
	return &t
}
