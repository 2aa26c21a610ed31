package subjects

import (
	"context"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Mutex is the production lock.
func Mutex() scenarios.Subject {
	return scenarios.Subject{
		Name:    "mutex",
		Summary: "the production lock: lock.Mutex",
		Claims:  history.Properties(),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			mutex, err := lock.NewMutex(p.Client, p.Directory, p.SessionTimeout, lock.WithRandom(p.Random))
			if err != nil {
				return nil, err
			}
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				lease, err := mutex.Lock(ctx)
				if err != nil {
					return nil, err
				}
				return &scenarios.Hold{Unlock: lease.Unlock, Done: lease.Done(), Node: lease.Node(), Token: lease.Token()}, nil
			}), nil
		},
	}
}
