package subjects

import (
	"context"
	"errors"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
)

// Session is the production lock on a lock.Session. A holder stays in its critical section for as
// long as both its lease and the session from before it asked for the lock stand, and has held the
// lock only if both stood when it gave it back.
func Session() scenarios.Subject {
	s := production("session", "lock.Mutex on a lock.Session", func(p *scenarios.Process) (lockFunc,
		error,
	) {
		session := lock.NewSession(p.Client, p.Client.Events(), p.SessionTimeout)
		mutex, err := lock.NewMutex(session, p.Directory, p.SessionTimeout,
			lock.WithRandom(p.Random))
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			standing, err := session.Context(ctx)
			if err != nil {
				return nil, err
			}
			lease, err := mutex.Lock(ctx)
			h, err := hold(lease, err)
			if err != nil {
				return nil, err
			}
			h.Done, h.Unlock = lease.Context(standing).Done(), func(ctx context.Context) error {
				return errors.Join(lease.Unlock(ctx), context.Cause(standing))
			}
			return h, nil
		}, nil
	})
	s.Limits.Listens = true
	// The session is confirmed again and again while the process waits.
	s.Limits.Requests = history.Unbounded
	return s
}
