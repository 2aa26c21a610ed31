package subjects

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client"
)

// Guarded is the production lock with guarded writes: each holder writes its token to a shared node
// when it acquires the lock and again before it unlocks. It panics if a write of an earlier holder
// follows a write of a later one.
func Guarded() scenarios.Subject {
	return production("guarded", "lock.Mutex with Lease.Write: an earlier holder never writes "+
		"after a later one", func(p *scenarios.Process) (lockFunc, error) {
		mutex, err := newMutex(p)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (*scenarios.Hold, error) {
			lease, err := mutex.Lock(ctx)
			h, err := hold(lease, err)
			if err != nil {
				return nil, err
			}
			r := &register{client: p.Client, path: p.Directory + "/data", lease: lease}
			r.write(ctx)
			h.Unlock = func(ctx context.Context) error {
				r.check()
				r.write(ctx)
				r.check()
				return lease.Unlock(ctx)
			}
			return h, nil
		}, nil
	})
}

// A register is a shared node. It contains the highest token written so far, unless a stale write
// succeeded.
type register struct {
	client  client.Client
	path    string
	lease   *lock.Lease
	written bool
}

// write makes one attempt to write the lease's token while the lease is held. It creates the node
// if there is none.
func (r *register) write(ctx context.Context) {
	content := []byte(strconv.FormatInt(r.lease.Token(), 10))
	_, err := r.lease.Write(ctx, &zk.SetDataRequest{Path: r.path, Data: content, Version: -1})
	if errors.Is(err, zk.ErrNoNode) {
		_, err = r.lease.Write(ctx, &zk.CreateRequest{Path: r.path, Data: content, Acl: openACL})
	}
	r.written = r.written || err == nil
}

// check panics if the lease's token was written and the node contains an earlier one.
func (r *register) check() {
	if !r.written {
		return
	}
	data, _, err := r.client.Get(r.path)
	if err != nil {
		return // Without an answer there is nothing to check.
	}
	if found, err := strconv.ParseInt(string(data), 10, 64); err != nil || found < r.lease.Token() {
		panic(fmt.Sprintf("the holder with token %d wrote it and then read %q", r.lease.Token(),
			data))
	}
}
