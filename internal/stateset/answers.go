package stateset

import (
	"slices"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// Answers holds an answer, yes or no, for each of many keys, at 11 to 22 bytes each: a hash table
// like [Set] with a bit for each slot. The zero value is empty. One goroutine at a time may call
// Put; others may call Get meanwhile, and then miss what was put since their last synchronized
// call.
type Answers struct {
	table atomic.Pointer[answerTable]
	_     cpu.CacheLinePad // Put would take table from the processors that call Get.
	count int
	_     cpu.CacheLinePad
}

type answerTable struct {
	keys []uint64 // a power of two; 0 where there is none
	yes  []uint32 // bits by slot
}

// Get returns the answer for a key, and whether it is known.
func (a *Answers) Get(key uint64) (yes, known bool) {
	t := a.table.Load()
	if t == nil || key == 0 {
		return false, false
	}
	last := uint64(len(t.keys) - 1)
	for at := key & last; ; at = (at + 1) & last {
		switch atomic.LoadUint64(&t.keys[at]) {
		case key:
			return atomic.LoadUint32(&t.yes[at/32])>>(at%32)&1 != 0, true
		case 0:
			return false, false
		}
	}
}

// Put stores the answer for a key unless one is known. The answer for the key 0 is not stored.
func (a *Answers) Put(key uint64, yes bool) {
	if _, known := a.Get(key); known || key == 0 {
		return
	}
	t := a.table.Load()
	if t == nil || 4*(a.count+1) > 3*len(t.keys) {
		t = a.grow(t)
	}
	t.put(key, yes)
	a.count++
}

// Keys returns the keys with that answer in ascending order.
func (a *Answers) Keys(yes bool) (keys []uint64) {
	t := a.table.Load()
	if t == nil {
		return nil
	}
	for at, key := range t.keys {
		if key != 0 && (t.yes[at/32]>>(at%32)&1 != 0) == yes {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// grow returns a table of twice the size, which holds the answers from now on.
func (a *Answers) grow(old *answerTable) *answerTable {
	size := 1 << 10
	if old != nil {
		size = 2 * len(old.keys)
	}
	t := &answerTable{keys: make([]uint64, size), yes: make([]uint32, size/32)}
	if old != nil {
		for at, key := range old.keys {
			if key != 0 {
				t.put(key, old.yes[at/32]>>(at%32)&1 != 0)
			}
		}
	}
	a.table.Store(t)
	return t
}

func (t *answerTable) put(key uint64, yes bool) {
	last := uint64(len(t.keys) - 1)
	at := key & last
	for t.keys[at] != 0 {
		at = (at + 1) & last
	}
	if yes {
		atomic.OrUint32(&t.yes[at/32], 1<<(at%32))
	}
	atomic.StoreUint64(&t.keys[at], key)
}
