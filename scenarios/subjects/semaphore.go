package subjects

import (
	"context"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Semaphore is the production semaphore with a single place, which must have all properties of a
// lock. The properties cannot express several places; the tests of package lock cover those.
func Semaphore() scenarios.Subject {
	return production("semaphore", "lock.Semaphore with one place",
		func(p *scenarios.Process) (lockFunc, error) {
			semaphore, err := lock.NewSemaphore(p.Client, p.Directory, 1, p.SessionTimeout,
				lock.WithRandom(p.Random))
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				return hold(semaphore.Lock(ctx))
			}, nil
		})
}
