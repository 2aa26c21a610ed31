package subjects

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/interlock-sim/interlock/scenarios"
)

// ZKLock is the unmodified lock of go-zookeeper/zk. After its create, it returns from every error
// without deleting its node (go-zookeeper/zk#229 and its successors). It gives up when its release
// fails, and can then neither be released nor acquired.
func ZKLock() scenarios.Subject {
	return scenarios.Subject{
		Name: "zk-lock", Summary: "broken: the lock of go-zookeeper/zk v1.0.4, on the real client",
		Claims: recipeClaims, Real: true,
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			lock := zk.NewLock(p.Conn(), p.Directory, openACL)
			return scenarios.LockerFunc(func(context.Context) (*scenarios.Hold, error) {
				if err := lock.Lock(); err != nil {
					return nil, err
				}
				return &scenarios.Hold{
					Unlock: func(ctx context.Context) error { return unlockZK(ctx, lock) },
				}, nil
			}), nil
		},
	}
}

// Authenticated is the textbook recipe on the real client, with credentials. The recipe is correct,
// but go-zookeeper/zk v1.0.4 has a defect: if a write fails while the client resends its
// credentials after a reconnect, the client never reconnects and every call on it blocks forever.
// With --faults cut=1,fail-write=1 the lock violates progress.
func Authenticated() scenarios.Subject {
	subject := recipeSubject("authenticated", "the recipe with AddAuth on the real client: "+
		"correct except under fail-write", recipe{})
	open := subject.Open
	subject.Real = true
	subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		inner, err := open(p)
		authenticated := false
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			for !authenticated && ctx.Err() == nil {
				if authenticated = p.Conn().AddAuth("digest",
					[]byte("user:password")) == nil; !authenticated {
					time.Sleep(retryDelay)
				}
			}
			return inner.Lock(ctx)
		}), err
	}
	return subject
}

// unlockZK retries Unlock until it succeeds or reports that the lock is not held.
func unlockZK(ctx context.Context, lock *zk.Lock) error {
	for {
		err := lock.Unlock()
		if err == nil || err == zk.ErrNoNode || err == zk.ErrNotLocked {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryDelay):
		}
	}
}
