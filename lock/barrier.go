package lock

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// A Barrier makes processes wait while it is set. It is set while the node of its path exists: the
// barrier of ZooKeeper's recipes, and Curator's DistributedBarrier. Any process may set and remove
// it, and it stays set when that process ends: the node is persistent. Its methods may be called
// concurrently.
type Barrier struct{ queue *queue }

// NewBarrier returns the barrier at the path: see [NewMutex]. The node belongs to the barrier, and
// must have no children. Options that concern contenders have no effect.
func NewBarrier(session *Session, path string, options ...Option) (*Barrier, error) {
	q, err := newQueue(session, path, options)
	if err != nil {
		return nil, err
	}
	return &Barrier{q}, nil
}

// Set sets the barrier, unless it is set, and creates missing parents. Once it has returned nil,
// calls of Wait return nil only after a call of Remove has begun.
//
// Set retries while ZooKeeper cannot be reached. It returns the context's cause when the context
// ends; then ZooKeeper may have set the barrier, or may yet. If ZooKeeper refuses, it returns
// ZooKeeper's error, and zk.ErrClosing after the client is closed. Set costs one request.
func (b *Barrier) Set(ctx context.Context) error {
	path := b.queue.path
	return b.write(ctx, func() error {
		_, err := b.queue.client.Create(path, record{Metadata: b.queue.metadata}.encode(), 0,
			b.queue.acl)
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return nil
		case isNoNode(err):
			return b.queue.createParents(path[:strings.LastIndexByte(path, '/')])
		}
		return err
	})
}

// Remove removes the barrier, if it is set, and so wakes all that wait. It fails like Set. Remove
// costs one request. If its reply is lost, Remove may also undo a Set that runs at the same time.
func (b *Barrier) Remove(ctx context.Context) error {
	return b.write(ctx, func() error {
		if err := b.queue.client.Delete(b.queue.path, anyVersion); !isNoNode(err) {
			return err
		}
		return nil
	})
}

// Wait waits until the barrier is not set. It returns nil only if that was so at some moment of the
// call. It may miss such a moment if the barrier is soon set again. Wait survives lost connections
// and sessions, and fails like Set.
//
// Wait costs two requests. One of them is an empty write, since a server that lags may not know the
// barrier yet. After a call whose context has ended, the client keeps a watch until the barrier is
// removed.
func (b *Barrier) Wait(ctx context.Context) error {
	w := deletionWait{queue: b.queue}
	return w.await(ctx, b.queue.path)
}

// Path returns the path of the node that exists while the barrier is set.
func (b *Barrier) Path() string { return b.queue.path }

// write carries out a write that may be repeated.
func (b *Barrier) write(ctx context.Context, request func() error) error {
	for {
		_, err := await(ctx, func() (struct{}, error) { return struct{}{}, request() })
		if err == nil || errors.Is(err, zk.ErrNotEmpty) {
			return err
		}
		if err := b.queue.awaitRetry(ctx, err); err != nil {
			return err
		}
	}
}
