package flat

import "sync/atomic"

// A cacheLine keeps apart what different processors use: at least the longest line of any.
type cacheLine [128]byte

// An Index finds records by a hash, at 11 to 21 bytes each: a hash table with linear probing that
// holds the records' numbers and half of their hashes. Slots go by the lowest bits of a hash. The
// zero value is empty.
//
// One goroutine at a time may add and replace. Others may call Find meanwhile; what they miss, or
// find replaced, they find in a synchronized call.
type Index struct {
	slots atomic.Pointer[[]uint64] // the length is a power of two
	_     cacheLine                // Add would take slots from the processors that call Find.
	count int
	_     cacheLine
}

// A slot holds the lower half of a hash, and the number of the record + 1; 0 is an empty one.
func slotOf(hash uint64, number uint32) uint64 { return hash<<32 | uint64(number+1) }

// Find returns the number of the record with that hash for which is returns true.
func (x *Index) Find(hash uint64, is func(number uint32) bool) (number uint32, ok bool) {
	table := x.slots.Load()
	if table == nil {
		return 0, false
	}
	slots := *table
	last := uint64(len(slots) - 1)
	for at := hash & last; ; at = (at + 1) & last {
		slot := atomic.LoadUint64(&slots[at])
		if slot == 0 {
			return 0, false
		}
		if number := uint32(slot) - 1; slot>>32 == hash&(1<<32-1) && is(number) {
			return number, true
		}
	}
}

// Add adds a record that is not in the index.
func (x *Index) Add(hash uint64, number uint32) {
	table := x.slots.Load()
	if table == nil || 4*(x.count+1) > 3*len(*table) {
		table = x.grow(table)
	}
	place(*table, slotOf(hash, number))
	x.count++
}

// grow returns a table of twice the size, in which the index has its records from now on.
func (x *Index) grow(old *[]uint64) *[]uint64 {
	var slots []uint64
	if old != nil {
		slots = *old
	}
	table := make([]uint64, max(1<<8, 2*len(slots)))
	for _, slot := range slots {
		if slot != 0 {
			place(table, slot)
		}
	}
	x.slots.Store(&table)
	return &table
}

// Replace puts a record in the place of another one, which is in the index with the same hash.
func (x *Index) Replace(hash uint64, old, number uint32) {
	slots := *x.slots.Load()
	last := uint64(len(slots) - 1)
	at := hash & last
	for slots[at] != slotOf(hash, old) {
		at = (at + 1) & last
	}
	atomic.StoreUint64(&slots[at], slotOf(hash, number))
}

func place(slots []uint64, slot uint64) {
	last := uint64(len(slots) - 1)
	at := slot >> 32 & last
	for slots[at] != 0 {
		at = (at + 1) & last
	}
	atomic.StoreUint64(&slots[at], slot)
}
