// Package subjects provides the bundled locks under test: the production locks of package lock, and
// ZooKeeper's lock recipe, correct and with the defects of published locks.
package subjects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects/redislocks"
	"github.com/interlock-sim/interlock/scenarios/subjects/sqllocks"
)

// Correct returns the bundled locks on ZooKeeper that keep all that they claim, the production one
// first.
func Correct() []scenarios.Subject {
	return []scenarios.Subject{
		Mutex(), Textbook(), Herd(),
		TryLock(), Reentrant(), RWMutex(), Semaphore(),
		ReadersWriters(), Semaphore3(), Multi(), Guarded(), Session(), Election(), DoubleBarrier(),
		Barrier(),
		NoDeadline(),
		DeadlineRetry(), Pair(), SequenceOverflow(), Prefixed(), Refused(),
		Careful(), GuardedRecipe(),
	}
}

// All returns the bundled locks, the production one first. [Museum] has more broken ones.
func All() []scenarios.Subject {
	all := Correct()
	for _, d := range Defects() {
		all = append(all, d.Broken)
	}
	all = append(all, Heartbeat(), ZKLock(), Authenticated(),
		JavaZKLock(), JavaZKLockFinally(), ZKHerd(), ZKPredecessor(),
		Curator(), CuratorTimed(), CuratorListener(), CuratorRWLock(), CuratorRWLock55(),
		CuratorSemaphore(),
	)
	return slices.Concat(all, redislocks.All(), sqllocks.All())
}

// Named returns the bundled lock with the name, or an error that lists all names. The name of a
// broken lock followed by -fixed names the same lock without the defect.
func Named(name string) (scenarios.Subject, error) {
	all := All()
	for _, d := range Museum() {
		switch name {
		case d.Fixed.Name:
			return d.Fixed, nil
		case d.Broken.Name:
			return d.Broken, nil
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
