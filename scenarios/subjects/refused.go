package subjects

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client"
)

// Refused is the production lock of processes that lack the right to list the directory in their
// first attempt, as before their credentials have arrived. They acquire the lock by another
// attempt, for which the first must leave no node behind.
func Refused() scenarios.Subject {
	s := production("refused", "lock.Mutex, acquired again after a request was refused",
		func(p *scenarios.Process) (lockFunc, error) {
			refusing := &refusingClient{Client: p.Client}
			refusing.refuses.Store(true)
			mutex, err := lock.NewMutex(newSession(p, refusing), p.Directory, options(p)...)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				lease, err := mutex.Lock(ctx)
				if errors.Is(err, zk.ErrNoAuth) {
					refusing.refuses.Store(false)
					lease, err = mutex.Lock(ctx)
				}
				return hold(lease, err)
			}, nil
		})
	// The second attempt queues behind contenders that came after the first.
	s.Limits.Requests, s.Limits.Overtakings = 12, history.Unbounded
	return s
}

// A refusingClient fails listings as a server does if the access control list of the directory
// allows to create and delete nodes but not to read. It stops once the outcome of a create is
// unknown: nobody could then find the node.
type refusingClient struct {
	client.Client
	refuses atomic.Bool
}

func (r *refusingClient) Create(path string, data []byte, flags int32, acl []zk.ACL) (string,
	error,
) {
	created, err := r.Client.Create(path, data, flags, acl)
	if err != nil {
		r.refuses.Store(false)
	}
	return created, err
}

func (r *refusingClient) Children(path string) ([]string, *zk.Stat, error) {
	if r.refuses.Load() {
		return nil, nil, zk.ErrNoAuth
	}
	return r.Client.Children(path)
}
