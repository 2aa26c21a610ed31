package subjects

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
)

// ZKLock is the lock that comes with go-zookeeper/zk, as it is released. It returns from every
// error after its create without removing its node (go-zookeeper/zk#229 and its successors), and
// gives up when its release fails, so that it can neither be released nor taken again.
func ZKLock() scenarios.Subject {
	return scenarios.Subject{
		Name: "zk-lock", Summary: "broken: the lock of go-zookeeper/zk v1.0.4 itself, on the " +
			"real client",
		Claims: recipeClaims, Real: true,
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			lock := zk.NewLock(p.Conn(), p.Directory, openACL)
			return scenarios.LockerFunc(func(context.Context) (*scenarios.Hold, error) {
				if err := lock.Lock(); err != nil {
					return nil, err
				}
				return &scenarios.Hold{Unlock: func(ctx context.Context) error { return unlockZK(ctx, lock) }},
					nil
			}), nil
		},
	}
}

// Authenticated is the textbook recipe on the real client, with credentials. It is correct, but
// when a write fails while go-zookeeper/zk v1.0.4 sends its credentials again after a reconnect,
// the client never connects again and every call on it waits for good: with --faults
// cut=1,fail-write=1 it does not make progress.
func Authenticated() scenarios.Subject {
	subject := recipeSubject("authenticated", "the recipe on the real client with AddAuth: "+
		"correct, "+
		"but see fail-write", recipe{})
	open := subject.Open
	subject.Real = true
	subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		inner, err := open(p)
		proved := false
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			for !proved && ctx.Err() == nil {
				if proved = p.Conn().AddAuth("digest", []byte("user:password")) == nil; !proved {
					time.Sleep(recipePause)
				}
			}
			return inner.Lock(ctx)
		}), err
	}
	return subject
}

// unlockZK does what a careful user does: it tries again until the lock says that it is not held.
func unlockZK(ctx context.Context, lock *zk.Lock) error {
	for {
		err := lock.Unlock()
		if err == nil || err == zk.ErrNoNode || err == zk.ErrNotLocked {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(recipePause):
		}
	}
}
