package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// subject returns a lock under test that claims every property.
func subject(name string, open func(*scenarios.Process) scenarios.LockerFunc) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: name, Claims: history.Properties(),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) { return open(p), nil },
	}
}

func free(context.Context) error { return nil }

// noLock grants the lock to every process at once.
func noLock() scenarios.Subject {
	return subject("no-lock", func(*scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			return &scenarios.Hold{Unlock: free}, nil
		}
	})
}

// neverFree is the textbook lock without a release: Unlock keeps the node.
func neverFree() scenarios.Subject {
	return withLock("never-free", func(hold *scenarios.Hold) { hold.Unlock = free })
}

// unlockFails releases the lock and returns an error.
func unlockFails() scenarios.Subject {
	return withLock("unlock-fails", func(hold *scenarios.Hold) {
		unlock := hold.Unlock
		hold.Unlock = func(ctx context.Context) error {
			return errors.Join(unlock(ctx), errors.New("no"))
		}
	})
}

// panics panics in Unlock.
func panics() scenarios.Subject {
	return withLock("panics", func(hold *scenarios.Hold) {
		hold.Unlock = func(context.Context) error { panic("on purpose") }
	})
}

// panicsLate panics in the given call of Lock of a process.
func panicsLate(times int) scenarios.Subject {
	return subject("panics-late", func(p *scenarios.Process) scenarios.LockerFunc {
		textbook, count := subjects.Textbook(), 0
		locker, err := textbook.Open(p)
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if err != nil {
				return nil, err
			}
			if count++; count == times {
				panic("on purpose")
			}
			return locker.Lock(ctx)
		}
	})
}

// leaks leaks a goroutine that nothing can wake.
func leaks() scenarios.Subject {
	return withLock("leaks", func(*scenarios.Hold) { go func() { select {} }() })
}

// misplaced creates its node under a parent that does not exist.
func misplaced() scenarios.Subject {
	return subject("misplaced", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			_, err := p.Client.Create("/nowhere/node", nil, zk.FlagEphemeral,
				zk.WorldACL(zk.PermAll))
			return nil, err
		}
	})
}

// sharedMutex waits for ZooKeeper while it holds a mutex that all processes share.
func sharedMutex() scenarios.Subject {
	var mu sync.Mutex
	return subject("shared-mutex", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			mu.Lock()
			defer mu.Unlock()
			_, _, err := p.Client.Exists(p.Directory)
			return nil, err
		}
	})
}

// withLock is the textbook lock with every hold changed.
func withLock(name string, change func(*scenarios.Hold)) scenarios.Subject {
	return subject(name, func(p *scenarios.Process) scenarios.LockerFunc {
		textbook := subjects.Textbook()
		locker, err := textbook.Open(p)
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if err != nil {
				return nil, err
			}
			hold, err := locker.Lock(ctx)
			if err == nil {
				change(hold)
			}
			return hold, err
		}
	})
}

// fickle sends different requests in every run.
func fickle() scenarios.Subject {
	var calls atomic.Int64
	return subject("fickle", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			if _, _, err := p.Client.Exists(fmt.Sprintf("/call-%d", calls.Add(1))); err != nil {
				return nil, err
			}
			return &scenarios.Hold{Unlock: free}, nil
		}
	})
}
