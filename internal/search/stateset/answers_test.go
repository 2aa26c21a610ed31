package stateset_test

import (
	"sync"
	"testing"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/search/stateset"
)

// An answer is missing or right, also for keys that differ in a single bit, and while others are
// put and the table grows. Those put last are known.
func TestAnswers(t *testing.T) {
	const keys = 2_000_000 // more than the table holds
	var a stateset.Answers
	key := func(i int) uint64 { return hash64.Mix(0, uint64(i/2)) ^ uint64(i%2) }
	get := func(i int) bool {
		yes, known := a.Get(key(i))
		if known && yes != (i%3 == 0) {
			t.Errorf("key %d: %v", i, yes)
		}
		return known
	}
	const workers = 3
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for i := worker; i < keys; i += workers {
				if get(i) {
					t.Errorf("key %d: known before it is put", i)
				}
				a.Put(key(i), i%3 == 0)
				get(i / 2)
			}
		})
	}
	wait.Wait()
	known := 0
	for i := keys - 200_000; i < keys; i++ {
		if get(i) {
			known++
		}
	}
	if known < 150_000 || get(keys) {
		t.Errorf("%d of the 200000 last answers are known", known)
	}
	if get(0) && get(1) && get(2) && get(3) {
		t.Error("the first answers are still known: the table is not bounded")
	}
}
