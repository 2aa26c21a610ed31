package interlock

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-sim/interlock/internal/show/recording"
)

// checkedLocks holds the names of the locks that each running test has checked. A test may check
// several, and each replays its own recordings. A recording of no lock that the test checks would
// never be replayed: the lock has another name now, or none of them is checked any more.
var checkedLocks struct {
	sync.Mutex
	of map[string][]string // by name of the test
}

// noteLock notes that the test checks the lock. When the test has ended, it fails if a recording is
// that of no lock that it has checked.
func noteLock(t *testing.T, lock string) {
	checkedLocks.Lock()
	defer checkedLocks.Unlock()
	if checkedLocks.of == nil {
		checkedLocks.of = make(map[string][]string)
	}
	name := t.Name()
	if len(checkedLocks.of[name]) == 0 {
		t.Cleanup(func() { refuseOthers(t) })
	}
	checkedLocks.of[name] = append(checkedLocks.of[name], lock)
}

// refuseOthers fails the test for each recording of a lock that it has not checked.
func refuseOthers(t *testing.T) {
	checkedLocks.Lock()
	locks := slices.Compact(slices.Sorted(slices.Values(checkedLocks.of[t.Name()])))
	delete(checkedLocks.of, t.Name())
	checkedLocks.Unlock()
	if t.Failed() || t.Skipped() {
		return
	}
	for _, path := range recordings(t) {
		recorded, err := recording.Read(path)
		if err == nil && !slices.Contains(locks, recorded.Lock) {
			newVerdictOf(t, recorded.Lock).write(t)
			t.Errorf("%s is a schedule of the lock %q, and the test checks %s: a lock that is "+
				"renamed needs its recordings anew", path, recorded.Lock,
				strings.Join(locks, ", "))
		}
	}
}
