package subjects

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
)

// lockCountingFirst counts before it has the lock, and does not undo that.
func (r *recipeLock) lockCountingFirst(ctx context.Context) (*scenarios.Hold, error) {
	if r.count > 0 {
		r.count++
		return r.hold(), nil
	}
	r.count = 1
	if err := r.attempt(ctx); err != nil {
		return nil, err
	}
	return r.hold(), nil
}

// lockIfCounted takes a negative count for a hold too.
func (r *recipeLock) lockIfCounted(ctx context.Context) (*scenarios.Hold, error) {
	if r.count != 0 {
		r.count++
		return r.hold(), nil
	}
	if err := r.attempt(ctx); err != nil {
		return nil, err
	}
	return r.hold(), nil
}

// cleanUpCountingDown unlocks what was never locked.
func (r *recipeLock) cleanUpCountingDown(err error) {
	r.count--
	r.cleanUp(err)
}

// errDeadlock is the error of an acquire by a contender that considers itself the holder.
var errDeadlock = errors.New("the lock is already held by this contender")

// lockUnlessNode refuses to lock while it knows of a node.
func (r *recipeLock) lockUnlessNode(ctx context.Context) (*scenarios.Hold, error) {
	if r.node != "" {
		return nil, errDeadlock
	}
	return r.lock(ctx)
}

// releaseKeepingNode forgets the node only if it could delete it.
func (r *recipeLock) releaseKeepingNode() error {
	err := r.release()
	if err == nil {
		r.node = ""
	}
	return err
}

// lockUnlessCanceled takes the cancellation of the previous attempt for its own.
func (r *recipeLock) lockUnlessCanceled(ctx context.Context) (*scenarios.Hold, error) {
	if r.canceled {
		r.canceled = false
		return nil, zk.ErrClosing
	}
	hold, err := r.lock(ctx)
	r.canceled = err != nil && ctx.Err() != nil
	return hold, err
}
