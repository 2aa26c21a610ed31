package scenarios

import "testing"

func TestStateSet(t *testing.T) {
	var s stateSet
	const keys = 100_000
	for round := range 2 {
		for i := range uint64(keys) {
			key := i
			if i > 10 {
				key = mix(i, 0) // The first keys are small, and one of them is 0.
			}
			if fresh := s.add(key); fresh != (round == 0) {
				t.Fatalf("round %d: key %d is new: %v", round, i, fresh)
			}
		}
	}
	if s.count != keys {
		t.Errorf("%d keys, want %d", s.count, keys)
	}
}
