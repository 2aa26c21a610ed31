// Package subjects holds the locks that Interlock brings along to be tested: the production lock of package lock, and
// a textbook recipe with and without defects that published locks have had.
package subjects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/scenarios"
)

// All returns the bundled locks, the production one first.
func All() []scenarios.Subject {
	return []scenarios.Subject{
		Mutex(), Textbook(), Herd(),
		TryLock(), Reentrant(), RWMutex(), Semaphore(), Multi(), Guarded(), Session(), Wrap(),
		NoRecheck(), ExistsThenWait(), NoGUID(), LeakOnError(), DeleteOnce(), DeafToExpiry(), NameOrder(), RetryProtected(), PresumeExpiry(), Heartbeat(), ZKLock(), Authenticated(),
	}
}

// Named returns the bundled lock of that name, or an error that lists the names that there are.
func Named(name string) (scenarios.Subject, error) {
	all := All()
	i := slices.IndexFunc(all, func(s scenarios.Subject) bool { return s.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for j := range all {
			names[j] = all[j].Name
		}
		return scenarios.Subject{}, fmt.Errorf("unknown lock %q; known are %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}
