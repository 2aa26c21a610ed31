package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// TryLock is the production lock, taken by trying until it is free. Each try that fails must leave
// nothing behind.
func TryLock() scenarios.Subject {
	s := production("trylock", "lock.Mutex by TryLock alone, again and again",
		func(p *scenarios.Process) (lockFunc, error) {
			mutex, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				for {
					lease, err := mutex.TryLock(ctx)
					if !errors.Is(err, lock.ErrNotAcquired) {
						return hold(lease, err)
					}
					select {
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					case <-time.After(recipePause):
					}
				}
			}, nil
		})
	// it asks until it finds the lock free
	s.Limits.Requests, s.Limits.Overtakings = history.Unbounded, history.Unbounded
	// nobody waits in a queue
	s.Sometimes = []history.Sometimes{history.Contention, history.LostCreate}
	return s
}
