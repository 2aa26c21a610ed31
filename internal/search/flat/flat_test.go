package flat_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/flat"
)

const many = 10_000

func TestListKeepsElements(t *testing.T) {
	var l flat.List[uint64]
	first := l.At(l.Append(7))
	for i := uint32(1); i < many; i++ {
		if number := l.Append(uint64(i) * 3); number != i {
			t.Fatalf("element %d has the number %d", i, number)
		}
	}
	if *first++; *l.At(0) != 8 {
		t.Error("the first element has moved")
	}
	for i := uint32(1); i < many; i++ {
		if *l.At(i) != uint64(i)*3 {
			t.Fatalf("element %d is %d", i, *l.At(i))
		}
	}
	if l.Len() != many {
		t.Errorf("%d elements, want %d", l.Len(), many)
	}
}

// The hash leaves few slots distinct, so that most records collide.
func TestIndexFindsCollidingRecords(t *testing.T) {
	var x flat.Index
	hashOf := func(number uint32) uint64 { return uint64(number % 100) }
	find := func(wanted uint32) (uint32, bool) {
		return x.Find(hashOf(wanted), func(number uint32) bool { return number == wanted })
	}
	const records = 2000
	for number := range uint32(records) {
		if _, ok := find(number); ok {
			t.Fatalf("record %d is found before it is added", number)
		}
		x.Add(hashOf(number), number)
	}
	const replaced = 1234
	x.Replace(hashOf(replaced), replaced, replaced+records)
	for number := range uint32(records) {
		wanted := number
		if number == replaced {
			if _, ok := find(replaced); ok {
				t.Errorf("record %d is found after another has replaced it", replaced)
			}
			wanted += records
		}
		if found, ok := find(wanted); !ok || found != wanted {
			t.Fatalf("record %d: found %d, %v", wanted, found, ok)
		}
	}
}

func TestTuplesAreStoredOnce(t *testing.T) {
	var s flat.Tuples[uint32]
	tuple := func(i uint32) []uint32 {
		return slices.Repeat([]uint32{i / 7, i % 7, i}, int(i%5))[:i%5]
	}
	numbers := map[uint32][]uint32{}
	for range 2 {
		for i := range uint32(many) {
			number := s.Number(tuple(i))
			if known, ok := numbers[number]; ok && !slices.Equal(known, tuple(i)) {
				t.Fatalf("%v and %v have the number %d", known, tuple(i), number)
			}
			numbers[number] = tuple(i)
		}
	}
	distinct := map[[5]uint32]bool{}
	for number, elements := range numbers {
		if !slices.Equal(s.At(number), elements) {
			t.Fatalf("tuple %d is %v, not %v", number, s.At(number), elements)
		}
		key := [5]uint32{uint32(len(elements))}
		copy(key[1:], elements)
		distinct[key] = true
	}
	if len(numbers) != len(distinct) {
		t.Errorf("%d numbers for %d tuples", len(numbers), len(distinct))
	}
}
