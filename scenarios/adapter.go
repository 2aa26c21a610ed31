package scenarios

import (
	"context"

	"github.com/interlock-sim/interlock/sim"
)

// Mutex returns a [Locker] for the common shape of a lock: one function that waits until the
// process holds the lock, and one that releases it, both of the same type. Functions that take a
// context get that of the attempt. The hold says neither its znode nor a token nor its loss; a lock
// that has these returns a [Hold] of its own. It panics if a function is nil, which a check reports
// as a mistake in the scenario.
func Mutex[F func() | func() error | func(context.Context) error](lock, unlock F) Locker {
	return mutex(demandFunction("Mutex", "lock", lock),
		demandFunction("Mutex", "unlock", unlock))
}

func mutex(take, release func(context.Context) error) Locker {
	return LockerFunc(func(ctx context.Context) (*Hold, error) {
		if err := take(ctx); err != nil {
			return nil, err
		}
		return Held(release, nil), nil
	})
}

// RWMutex returns a [SharedLocker] for the common shape of a read-write lock: the functions that
// lock and unlock it for writing, as for [Mutex], and for reading.
func RWMutex[F func() | func() error | func(context.Context) error](lock, unlock, rlock,
	runlock F,
) SharedLocker {
	return rwMutex{
		mutex(demandFunction("RWMutex", "lock", lock),
			demandFunction("RWMutex", "unlock", unlock)),
		mutex(demandFunction("RWMutex", "rlock", rlock),
			demandFunction("RWMutex", "runlock", runlock)),
	}
}

type rwMutex struct {
	Locker

	reader Locker
}

func (l rwMutex) LockShared(ctx context.Context) (*Hold, error) { return l.reader.Lock(ctx) }

// demandFunction is withContext, but a function that is nil is a mistake in the scenario. The
// arguments name its parameter.
func demandFunction(caller, parameter string, f any) func(context.Context) error {
	function := withContext(f)
	if function == nil {
		panic(sim.SetUpError("the function " + parameter + " of scenarios." + caller + " is nil"))
	}
	return function
}

// withContext returns the function in the form that a [Hold] wants, nil for a function that is nil.
func withContext(f any) func(context.Context) error {
	switch f := f.(type) {
	case func():
		if f != nil {
			return func(context.Context) error { f(); return nil }
		}
	case func() error:
		if f != nil {
			return func(context.Context) error { return f() }
		}
	case func(context.Context) error:
		return f
	}
	return nil
}
