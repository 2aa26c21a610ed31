// Package subjects holds the locks that Interlock brings along to be tested: the production lock of
// package lock, and a textbook recipe with and without defects that published locks have had.
package subjects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/scenarios"
)

// All returns the bundled locks, the production one first.
func All() []scenarios.Subject {
	all := []scenarios.Subject{
		Mutex(), Textbook(), Herd(),
		TryLock(), Reentrant(), RWMutex(), Semaphore(), Multi(), Guarded(), Session(), Patient(),
		Hurried(), Pair(), Steady(), Wrap(), Careful(), GuardedRecipe(),
	}
	for _, d := range Defects() {
		all = append(all, d.Broken)
	}
	return append(all, Heartbeat(), ZKLock(), Authenticated())
}

// Named returns the bundled lock of that name, or an error that lists the names that there are. The
// name of a broken lock that is followed by -mended is that of its twin without the defect.
func Named(name string) (scenarios.Subject, error) {
	all := All()
	for _, d := range Defects() {
		if d.Mended.Name == name {
			return d.Mended, nil
		}
	}
	i := slices.IndexFunc(all, func(s scenarios.Subject) bool { return s.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for j := range all {
			names[j] = all[j].Name
		}
		return scenarios.Subject{}, fmt.Errorf("unknown lock %q; known are %s", name,
			strings.Join(names, ", "))
	}
	return all[i], nil
}
