package stateset_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/stateset"
)

func TestSet(t *testing.T) {
	var s stateset.Set
	s.Prefetch([]uint64{1}) // An empty set has nothing to load.
	const keys = 100_000
	for round := range 2 {
		for i := range uint64(keys) {
			key := i
			if i > 10 {
				key = i * 0x9e3779b97f4a7c15 // The first keys are small, and one of them is 0.
			}
			if fresh := s.Add(key); fresh != (round == 0) {
				t.Fatalf("round %d: key %d is new: %v", round, i, fresh)
			}
		}
	}
	if s.Len() != keys {
		t.Errorf("%d keys, want %d", s.Len(), keys)
	}
	sorted := s.Sorted()
	if len(sorted) != keys || sorted[0] != 0 || !slices.IsSorted(sorted) {
		t.Errorf("Sorted returns %d keys from %d on, in order: %v", len(sorted), sorted[0],
			slices.IsSorted(sorted))
	}
	for _, key := range sorted {
		if !s.Has(key) {
			t.Fatalf("the set does not have its key %d", key)
		}
	}
	missing := uint64(keys)
	if missing *= 0x9e3779b97f4a7c15; s.Has(missing) {
		t.Errorf("the set has %d, which nobody added", missing)
	}
}
