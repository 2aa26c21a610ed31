// Package stateset holds sets of state keys in little memory.
package stateset

import "slices"

// A Set is a set of state keys, at 11 to 22 bytes each: a hash table with linear probing. Keys are
// hashes, so their lowest bits are the slot. The zero value is an empty set. A Set is not safe for
// concurrent use.
type Set struct {
	slots []uint64 // a power of two; 0 where there is none
	count int
	zero  bool // the key 0 is in the set

	fetched uint64 // keeps the compiler from removing Prefetch
}

// Add adds a key and reports whether it is new.
func (s *Set) Add(key uint64) bool {
	if key == 0 {
		fresh := !s.zero
		s.zero = true
		if fresh {
			s.count++
		}
		return fresh
	}
	if 4*(s.count+1) > 3*len(s.slots) {
		s.grow()
	}
	at := s.place(key)
	if s.slots[at] == key {
		return false
	}
	s.slots[at] = key
	s.count++
	return true
}

// Len returns the number of keys.
func (s *Set) Len() int { return s.count }

// Prefetch loads the slots of the keys into the processor's caches before they are added. The loads
// of a large set overlap here, while Add waits for each.
func (s *Set) Prefetch(keys []uint64) {
	if len(s.slots) == 0 {
		return
	}
	last := uint64(len(s.slots) - 1)
	for _, key := range keys {
		s.fetched ^= s.slots[key&last]
	}
}

// Has reports whether the key is in the set.
func (s *Set) Has(key uint64) bool {
	if key == 0 {
		return s.zero
	}
	return len(s.slots) > 0 && s.slots[s.place(key)] == key
}

func (s *Set) grow() {
	old := s.slots
	s.slots = make([]uint64, max(1<<10, 2*len(old)))
	for _, key := range old {
		if key != 0 {
			s.slots[s.place(key)] = key
		}
	}
}

// place returns the slot where the key is or would be.
func (s *Set) place(key uint64) int {
	last := uint64(len(s.slots) - 1)
	at := key & last
	for s.slots[at] != 0 && s.slots[at] != key {
		at = (at + 1) & last
	}
	return int(at)
}

// Sorted returns the keys in ascending order.
func (s *Set) Sorted() []uint64 {
	keys := make([]uint64, 0, s.count)
	if s.zero {
		keys = append(keys, 0)
	}
	for _, key := range s.slots {
		if key != 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
