package subjects

import (
	"context"
	"errors"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Session is the production lock on a lock.Session. A holder stays in its critical section while
// its lease and the session from before the acquire are both valid. Unlock fails unless both are
// valid at that time.
func Session() scenarios.Subject {
	s := production("session", "lock.Mutex on a lock.Session", func(
		p *scenarios.Process,
	) (lockFunc, error) {
		session := newSession(p, p.Client)
		mutex, err := lock.NewMutex(session, p.Directory, options(p)...)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			sessionCtx, err := session.Context(ctx)
			if err != nil {
				return nil, err
			}
			lease, err := mutex.Lock(ctx)
			h, err := hold(lease, err)
			if err != nil {
				return nil, err
			}
			h.Done, h.Unlock = lease.Context(sessionCtx).Done(), func(ctx context.Context) error {
				return errors.Join(lease.Unlock(ctx), context.Cause(sessionCtx))
			}
			return h, nil
		}, nil
	})
	// The process confirms the session repeatedly while it waits.
	s.Limits.Requests = history.Unbounded
	// A session confirms itself for as long as it is open.
	s.Claims = without(s.Claims, history.Quiescence)
	return s
}
