package subjects

import (
	"context"
	"errors"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Pair is the production lock of a process that also holds another lock on the same session. The
// other lock is acquired first and unlocked last.
func Pair() scenarios.Subject {
	s := production("pair", "lock.Mutex inside another lock.Mutex on the same session",
		func(p *scenarios.Process) (lockFunc, error) {
			session := newSession(p, p.Client)
			other, err := lock.NewMutex(session, p.Directory+"-beside", options(p, lock.Ended)...)
			if err != nil {
				return nil, err
			}
			mutex, err := lock.NewMutex(session, p.Directory, options(p)...)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				otherLease, err := other.Lock(ctx)
				if err != nil {
					return nil, err
				}
				lease, err := mutex.Lock(ctx)
				h, err := hold(lease, err)
				if err != nil {
					return nil, errors.Join(err, otherLease.Unlock(ctx))
				}
				h.Unlock = func(ctx context.Context) error {
					return errors.Join(lease.Unlock(ctx), otherLease.Unlock(ctx))
				}
				return h, nil
			}, nil
		})
	// A process confirms one lock repeatedly while it waits for the other.
	s.Limits.Requests = history.Unbounded
	// Processes wait behind the node of the other lock, so the node that grants has none behind it.
	s.Sometimes = []history.Sometimes{
		check.Contention, check.ExpiredWaiter, check.LostCreate, check.AbandonedPlace,
	}
	return s
}
