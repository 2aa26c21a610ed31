package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// RWMutex is the production read-write lock. In each attempt a process acquires and releases a read
// lock, and then acquires a write lock; every second write lock is downgraded before it is
// unlocked. Only writers count as holders, so the properties of an exclusive lock must hold;
// readers add contention.
func RWMutex() scenarios.Subject {
	s := production("rwmutex", "lock.RWMutex: read, then write, every second time downgraded",
		func(p *scenarios.Process) (lockFunc, error) {
			mutex, err := lock.NewRWMutex(newSession(p, p.Client), p.Directory, options(p)...)
			if err != nil {
				return nil, err
			}
			turn := p.Number
			return func(ctx context.Context) (*scenarios.Hold, error) {
				read, err := mutex.RLock(ctx)
				if err != nil {
					return nil, err
				}
				if err := read.Unlock(ctx); err != nil && !errors.Is(err, lock.ErrLost) {
					return nil, err
				}
				lease, err := mutex.Lock(ctx)
				h, err := hold(lease, err)
				if turn++; err == nil && turn%2 == 0 {
					h.Unlock = func(ctx context.Context) error {
						err := lease.Downgrade(ctx)
						// The lock's own goroutine has a request to send. Without the pause, Go's
						// scheduler would decide whether Unlock precedes it.
						time.Sleep(time.Nanosecond)
						return errors.Join(err, lease.Unlock(ctx))
					}
				}
				return h, err
			}, nil
		})
	// Readers are woken together. An attempt acquires twice, and a process may be overtaken in
	// between.
	s.Limits.WakeUps, s.Limits.Overtakings = history.Unbounded, history.Unbounded
	s.Limits.Requests = 20
	return s
}

// ReadersWriters is the production read-write lock as its users see it: every second process reads,
// and the others write. Every second read lock is a write lock that was downgraded.
func ReadersWriters() scenarios.Subject {
	s := production("readers-writers",
		"lock.RWMutex: every second process reads, every second time after a downgrade", nil)
	s.Shared = func(process, _ int) bool { return process%2 == 0 }
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		mutex, err := lock.NewRWMutex(newSession(p, p.Client), p.Directory, options(p)...)
		if err != nil {
			return nil, err
		}
		return &rwLocker{mutex, p.Number / 2}, nil
	}
	return s
}

// An rwLocker is a process's handle on a production read-write lock.
type rwLocker struct {
	mutex *lock.RWMutex
	turn  int // of the next read lock; even ones are downgraded
}

func (l *rwLocker) Lock(ctx context.Context) (*scenarios.Hold, error) {
	return hold(l.mutex.Lock(ctx))
}

func (l *rwLocker) LockShared(ctx context.Context) (*scenarios.Hold, error) {
	if l.turn++; l.turn%2 == 0 {
		return l.lockDowngraded(ctx)
	}
	return hold(l.mutex.RLock(ctx))
}

// lockDowngraded acquires the lock as a writer, and becomes a reader. If the lock is lost before,
// the hold says so.
func (l *rwLocker) lockDowngraded(ctx context.Context) (*scenarios.Hold, error) {
	lease, err := l.mutex.Lock(ctx)
	if err != nil {
		return nil, err
	}
	if err := lease.Downgrade(ctx); err != nil && ctx.Err() != nil {
		return nil, errors.Join(err, lease.Unlock(ctx))
	}
	return hold(lease, nil)
}
