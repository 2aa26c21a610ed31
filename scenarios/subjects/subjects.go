// Package subjects provides the bundled locks under test: the production locks of package lock, and
// ZooKeeper's lock recipe, correct and with the defects of published locks.
package subjects

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/scenarios"
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

// All returns the bundled locks on ZooKeeper, the production one first. [Museum] has more broken
// ones.
func All() []scenarios.Subject {
	all := Correct()
	for _, d := range Defects() {
		all = append(all, d.Broken)
	}
	return append(all, Heartbeat(), ZKLock(), Authenticated(),
		JavaZKLock(), JavaZKLockFinally(), ZKHerd(), ZKPredecessor(),
		Curator(), CuratorTimed(), CuratorListener(), CuratorRWLock(), CuratorRWLock55(),
		CuratorSemaphore(),
	)
}

// Named returns the bundled lock on ZooKeeper with the name. See [Find].
func Named(name string) (scenarios.Subject, error) { return Find(name, All()) }

// Find returns the lock with the name, of the given ones or of [Museum], or an error that lists the
// names of the given ones. The name of a broken lock of the museum followed by -fixed names the
// same lock without the defect.
func Find(name string, all []scenarios.Subject) (scenarios.Subject, error) {
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
		return scenarios.Subject{}, unknown.Name("lock", name, names)
	}
	return all[i], nil
}
