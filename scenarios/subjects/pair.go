package subjects

import (
	"context"
	"errors"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Pair is the production lock, held beside another one on the same session, which is taken first
// and given back last.
func Pair() scenarios.Subject {
	s := production("pair", "lock.Mutex beside another one on the same session",
		func(p *scenarios.Process) (lockFunc, error) {
			other, err := lock.NewMutex(p.Client, p.Directory+"-beside", p.SessionTimeout,
				lock.WithRandom(p.Random))
			if err != nil {
				return nil, err
			}
			mutex, err := newMutex(p)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				beside, err := other.Lock(ctx)
				if err != nil {
					return nil, err
				}
				lease, err := mutex.Lock(ctx)
				h, err := hold(lease, err)
				if err != nil {
					return nil, errors.Join(err, beside.Unlock(ctx))
				}
				h.Unlock = func(ctx context.Context) error {
					return errors.Join(lease.Unlock(ctx), beside.Unlock(ctx))
				}
				return h, nil
			}, nil
		})
	// The one is confirmed again and again while the process waits for the other.
	s.Limits.Requests = history.Unbounded
	return s
}
