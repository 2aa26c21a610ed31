package flat

// An Index finds records by a hash, at 5 to 11 bytes each: a hash table with linear probing that
// holds the records' numbers. Slots go by the lowest bits of a hash. The zero value is empty.
type Index struct {
	slots []uint32 // number + 1, or 0 where there is none; the length is a power of two
	count int
}

// Find returns the number of the record with that hash for which is returns true.
func (x *Index) Find(hash uint64, is func(number uint32) bool) (number uint32, ok bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	last := uint64(len(x.slots) - 1)
	for at := hash & last; x.slots[at] != 0; at = (at + 1) & last {
		if number := x.slots[at] - 1; is(number) {
			return number, true
		}
	}
	return 0, false
}

// Add adds a record that is not in the index. The function returns the hash of any record in it.
func (x *Index) Add(hash uint64, number uint32, hashOf func(number uint32) uint64) {
	if 4*(x.count+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]uint32, max(1<<8, 2*len(old)))
		for _, slot := range old {
			if slot != 0 {
				x.place(hashOf(slot-1), slot)
			}
		}
	}
	x.place(hash, number+1)
	x.count++
}

// Replace puts a record in the place of another one, which is in the index with the same hash.
func (x *Index) Replace(hash uint64, old, number uint32) {
	last := uint64(len(x.slots) - 1)
	at := hash & last
	for x.slots[at] != old+1 {
		at = (at + 1) & last
	}
	x.slots[at] = number + 1
}

func (x *Index) place(hash uint64, slot uint32) {
	last := uint64(len(x.slots) - 1)
	at := hash & last
	for x.slots[at] != 0 {
		at = (at + 1) & last
	}
	x.slots[at] = slot
}
