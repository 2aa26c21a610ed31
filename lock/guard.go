package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Write carries out operations on ZooKeeper atomically, and only if the lease is valid at that
// moment according to ZooKeeper's leader. A holder that was paused or partitioned, or whose session
// has expired without its knowledge, therefore cannot overwrite the writes of a later holder. The
// operations are those of zk.Conn.Multi: *zk.CreateRequest, *zk.SetDataRequest, *zk.DeleteRequest
// and *zk.CheckVersionRequest; without any, Write checks whether the lease is valid. It costs one
// request.
//
// Write returns the result of each operation. If it returns an error, nothing was or will be
// written, unless the error wraps [ErrUncertain]: test for that first. Write does not retry. An
// uncertain write can still take effect until the lease's node is gone, even after a later Write;
// a Version in the operations prevents that. The error
//
//   - wraps [ErrNotHeld] if the lease had ended, or if ZooKeeper reports it lost, which ends it
//     now;
//   - is the first error of the operations, as the client returns it;
//   - is neither if an operation changes or deletes the lease's own node, which would signal to the
//     next contender that the lock is free.
func (l *Lease) Write(ctx context.Context, operations ...any) ([]zk.MultiResponse, error) {
	if err := context.Cause(l.ctx); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(operations, l.touchesOwnNode) {
		return nil, fmt.Errorf("lock: %s is the lease's own node, which is not to be written to",
			l.Node())
	}
	// The name holds a GUID, so a node of this name is the lease's. Its version does not matter: a
	// downgrade changes it.
	guarded := append([]any{&zk.CheckVersionRequest{Path: l.Node(), Version: -1}}, operations...)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	responses, err := await(ctx, func() ([]zk.MultiResponse, error) {
		return l.tenure.contender.client.Multi(guarded...)
	})
	if ctx.Err() != nil && len(responses) == 0 {
		// Not its cause: that may be the end of the lease, which would imply that nothing was
		// written.
		err = ctx.Err()
	}
	if len(responses) == 0 {
		return nil, uncertainError(err)
	}
	if errors.Is(responses[0].Error, zk.ErrNoNode) {
		l.tenure.end(errNodeGone)
		return nil, errNodeGone
	}
	for _, r := range responses {
		if err == nil && r.Error != nil {
			err = r.Error
		}
	}
	return responses[1:], err
}

// touchesOwnNode reports whether an operation changes or deletes the lease's own node.
func (l *Lease) touchesOwnNode(operation any) bool {
	switch o := operation.(type) {
	case *zk.SetDataRequest:
		return o.Path == l.Node()
	case *zk.DeleteRequest:
		return o.Path == l.Node()
	}
	return false
}

// uncertainError returns the error of a request that was not answered. It wraps ErrUncertain unless
// the request certainly had no effect.
func uncertainError(err error) error {
	for _, answer := range [...]error{
		zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty,
		zk.ErrNoServer,
	} {
		if errors.Is(err, answer) {
			return err
		}
	}
	if err == nil || refused(err) && !errors.Is(err, zk.ErrClosing) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUncertain, err)
}
