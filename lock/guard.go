package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// A multiClient is a client that can carry out several operations as one. *zk.Conn is one.
type multiClient interface {
	Multi(operations ...any) ([]zk.MultiResponse, error)
}

// Write carries out operations on ZooKeeper, all or none, and only if the lease stands at that
// moment as ZooKeeper's leader sees it. So not even a holder that was paused, or cut off, or whose
// session has expired without its knowing, can write over what a later holder has written. It costs
// one request. The operations are those of zk.Conn.Multi: *zk.CreateRequest, *zk.SetDataRequest,
// *zk.DeleteRequest and *zk.CheckVersionRequest; with none, it asks whether the lease stands.
//
// It returns the result of each operation. Whatever error it returns, nothing was written and
// nothing will be, unless the error wraps [ErrUncertain]. One that wraps [ErrNotHeld] says that the
// lease had ended, or that ZooKeeper has found that it is lost; then it ends now. Errors of the
// operations are those of the client, the first of them is returned. A client without a method
// Multi gives an error too, and so does an operation that would change or delete the lease's own
// node: that would tell the next contender that the lock is free.
func (l *Lease) Write(ctx context.Context, operations ...any) ([]zk.MultiResponse, error) {
	if err := context.Cause(l.ctx); err != nil {
		return nil, err
	}
	client, ok := l.tenure.contender.client.(multiClient)
	if !ok {
		return nil, fmt.Errorf("lock: the client %T has no method Multi", l.tenure.contender.client)
	}
	if slices.ContainsFunc(operations, l.touchesOwnNode) {
		return nil, fmt.Errorf("lock: %s is the lease's own node, which is not to be written to",
			l.Node())
	}
	// The name holds a GUID, so that a node of this name is the lease's. Its version is no matter:
	// it changes with a downgrade, and when somebody asks for the lock back.
	guarded := append([]any{&zk.CheckVersionRequest{Path: l.Node(), Version: -1}}, operations...)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := l.tenure.beginWrite(l); err != nil {
		return nil, err
	}
	responses, err := await(ctx, func() ([]zk.MultiResponse, error) {
		responses, err := client.Multi(guarded...)
		if len(responses) > 0 || !errors.Is(uncertainError(err), ErrUncertain) {
			l.tenure.endWrite()
		}
		return responses, err
	})
	if ctx.Err() != nil && len(responses) == 0 {
		// Not its cause: that may be the end of the lease, which says that nothing was written.
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

// touchesOwnNode tells whether an operation would change or delete the lease's own node.
func (l *Lease) touchesOwnNode(operation any) bool {
	switch o := operation.(type) {
	case *zk.SetDataRequest:
		return o.Path == l.Node()
	case *zk.DeleteRequest:
		return o.Path == l.Node()
	}
	return false
}

// uncertainError returns the error of a request that was not answered, which wraps ErrUncertain
// unless it is clear that nothing was done.
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
