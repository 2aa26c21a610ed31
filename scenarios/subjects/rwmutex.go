package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// RWMutex is the production read-write lock. In each attempt a process reads, gives that back and
// then writes; every second writer becomes a reader before it unlocks. Only the writers count as
// holders, so that what holds for a lock that one process has at a time must hold here; readers
// stand in their way.
func RWMutex() scenarios.Subject {
	s := production("rwmutex", "lock.RWMutex: read, then write, every second time with a downgrade",
		func(p *scenarios.Process) (lockFunc, error) {
			mutex, err := lock.NewRWMutex(p.Client, p.Directory, p.SessionTimeout,
				lock.WithRandom(p.Random))
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
						// The lock's own goroutine has a request to send, and the scheduler would
						// decide whether the end comes first.
						time.Sleep(time.Nanosecond)
						return errors.Join(err, lease.Unlock(ctx))
					}
				}
				return h, err
			}, nil
		})
	// Readers are woken together, and an acquire is two, between which a process may be overtaken.
	s.Limits.WakeUps, s.Limits.Overtakings, s.Limits.Requests = history.Unbounded,
		history.Unbounded,
		20
	return s
}
