// Package locktest has small locks with one defect each, and what the tests of the engine and of
// the searches share.
package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Subject returns a lock under test that claims every property.
func Subject(name string, open func(*scenarios.Process) scenarios.LockerFunc) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: name, Claims: check.Properties(),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) { return open(p), nil },
	}
}

// Free releases nothing.
func Free(context.Context) error { return nil }

// NoLock grants the lock to every process at once.
func NoLock() scenarios.Subject {
	return Subject("no-lock", func(*scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			return &scenarios.Hold{Unlock: Free}, nil
		}
	})
}

// NeverFree is the textbook lock without a release: Unlock keeps the node.
func NeverFree() scenarios.Subject {
	return WithLock("never-free", func(hold *scenarios.Hold) { hold.Unlock = Free })
}

// UnlockFails releases the lock and returns an error.
func UnlockFails() scenarios.Subject {
	return WithLock("unlock-fails", func(hold *scenarios.Hold) {
		unlock := hold.Unlock
		hold.Unlock = func(ctx context.Context) error {
			return errors.Join(unlock(ctx), errors.New("no"))
		}
	})
}

// Panics panics in Unlock.
func Panics() scenarios.Subject {
	return WithLock("panics", func(hold *scenarios.Hold) {
		hold.Unlock = func(context.Context) error { panic("on purpose") }
	})
}

// PanicsLate panics in the given call of Lock of a process.
func PanicsLate(times int) scenarios.Subject {
	return Subject("panics-late", func(p *scenarios.Process) scenarios.LockerFunc {
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

// Leaks leaks a goroutine that nothing can wake.
func Leaks() scenarios.Subject {
	return WithLock("leaks", func(*scenarios.Hold) { go func() { select {} }() })
}

// Misplaced creates its node under a parent that does not exist.
func Misplaced() scenarios.Subject {
	return Subject("Misplaced", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			_, err := p.Client.Create("/nowhere/node", nil, zk.FlagEphemeral,
				zk.WorldACL(zk.PermAll))
			return nil, err
		}
	})
}

// SharedMutex waits for ZooKeeper while it holds a mutex that all processes share.
func SharedMutex() scenarios.Subject {
	var mu sync.Mutex
	return Subject("shared-mutex", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			mu.Lock()
			defer mu.Unlock()
			_, _, err := p.Client.Exists(p.Directory)
			return nil, err
		}
	})
}

// WithLock is the textbook lock with every hold changed.
func WithLock(name string, change func(*scenarios.Hold)) scenarios.Subject {
	return Subject(name, func(p *scenarios.Process) scenarios.LockerFunc {
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

// Fickle sends different requests in every run.
func Fickle() scenarios.Subject {
	var calls atomic.Int64
	return Subject("Fickle", func(p *scenarios.Process) scenarios.LockerFunc {
		return func(context.Context) (*scenarios.Hold, error) {
			if _, _, err := p.Client.Exists(fmt.Sprintf("/call-%d", calls.Add(1))); err != nil {
				return nil, err
			}
			return &scenarios.Hold{Unlock: Free}, nil
		}
	})
}

// DeletesUntilClosed sends deletes without a pause until its client is closed.
func DeletesUntilClosed() scenarios.Subject {
	return LeavesBehind("deletes-until-closed", func(p *scenarios.Process) {
		for p.Client.Delete(p.Directory+"/gone", -1) != zk.ErrConnectionClosed {
		}
	})
}

// LeavesBehind is the textbook lock that starts a goroutine after each unlock.
func LeavesBehind(name string, background func(p *scenarios.Process)) scenarios.Subject {
	s := Subject(name, func(p *scenarios.Process) scenarios.LockerFunc {
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			hold, err := locker.Lock(ctx)
			if err != nil {
				return nil, err
			}
			unlock := hold.Unlock
			hold.Unlock = func(ctx context.Context) error {
				err := unlock(ctx)
				go background(p)
				return err
			}
			return hold, nil
		}
	})
	s.Claims = []history.Property{history.ServerMutualExclusion}
	return s
}

// SometimesNoLock is no lock in one run of three, and the textbook lock in all others.
func SometimesNoLock() scenarios.Subject {
	var opened, broken atomic.Int64
	return Subject("sometimes-no-lock", func(p *scenarios.Process) scenarios.LockerFunc {
		if p.Number == 1 {
			broken.Store(opened.Add(1) % 3)
		}
		locker, err := subjects.Textbook().Open(p)
		if err != nil {
			panic(err)
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			if _, _, err := p.Client.Exists("/"); err != nil { // All have been opened by then.
				return nil, err
			}
			if broken.Load() == 0 {
				return &scenarios.Hold{Unlock: Free}, nil
			}
			return locker.Lock(ctx)
		}
	})
}
