package subjects

import (
	"context"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Semaphore is the production semaphore with a single place, which must have all properties of a
// lock.
func Semaphore() scenarios.Subject {
	return semaphore("semaphore", "lock.Semaphore with one place", 1)
}

// Semaphore3 is the production semaphore with three places. Its holders come and go in any order,
// so that it guards no resource.
func Semaphore3() scenarios.Subject {
	s := semaphore("semaphore-3", "lock.Semaphore with three places", 3)
	s.Places, s.Guard, s.Limits.WakeUps = 3, scenarios.NoResource, 3
	s.Claims = without(s.Claims, history.Fencing, history.NoLostUpdate)
	return s
}

func semaphore(name, summary string, places int) scenarios.Subject {
	return production(name, summary, func(p *scenarios.Process) (lockFunc, error) {
		semaphore, err := lock.NewSemaphore(newSession(p, p.Client), p.Directory, places,
			options(p)...)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			return hold(semaphore.Lock(ctx))
		}, nil
	})
}
