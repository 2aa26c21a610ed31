package stateset_test

import (
	"sync"
	"testing"

	"github.com/interlock-sim/interlock/internal/stateset"
)

func TestAnswers(t *testing.T) {
	const keys = 50_000
	var a stateset.Answers
	key := func(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 }
	check := func(i uint64, must bool) {
		yes, known := a.Get(key(i))
		if known && yes != (i%3 == 0) || must && !known {
			t.Errorf("key %d: %v, known %v", i, yes, known)
		}
	}
	var readers sync.WaitGroup
	readers.Go(func() { // While the table grows, an answer is missing or right.
		for i := range uint64(2 * keys) {
			check(1+i%keys, false)
		}
	})
	for i := range uint64(keys) {
		a.Put(key(i), i%3 == 0)
		a.Put(key(i), i%3 != 0) // The first answer counts.
	}
	readers.Wait()
	for i := range uint64(keys) {
		check(i, i > 0) // That for 0 is not stored.
	}
	if _, known := a.Get(key(keys)); known {
		t.Error("there is an answer for a key without one")
	}
}
