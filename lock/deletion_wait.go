package lock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// A deletionWait waits until nodes are deleted, one after the other.
type deletionWait struct {
	queue *queue
	// whose reads reflect all writes before the wait, or at least the creation of the nodes;
	// 0 for none
	session int64
}

// await waits until a node is deleted, or does not exist.
func (w *deletionWait) await(ctx context.Context, node string) error {
	for {
		events, err := await(ctx, func() (<-chan zk.Event, error) { return w.look(node) })
		switch {
		case isNoNode(err):
			return nil
		case err == nil:
			var gone bool
			if gone, err = w.awaitEvent(ctx, events); gone {
				return nil
			}
		}
		if err != nil {
			if err := w.queue.awaitRetry(ctx, err); err != nil {
				return err
			}
		}
	}
}

// look watches a node. Its answer that there is no such node is true, because it comes from a
// session that has seen the node, or after all earlier writes.
func (w *deletionWait) look(node string) (<-chan zk.Event, error) {
	if session := w.queue.client.SessionID(); session != w.session {
		if err := w.queue.barrier(); err != nil {
			return nil, err
		}
		w.session = session
	}
	_, _, events, err := w.queue.client.GetW(node)
	if w.queue.client.SessionID() != w.session {
		return nil, errRestart
	}
	return events, err
}

// awaitEvent waits until a node may be gone, and reports whether it is.
func (w *deletionWait) awaitEvent(ctx context.Context, events <-chan zk.Event) (bool, error) {
	timer := time.NewTimer(lostEventDelays * w.queue.timeout)
	defer timer.Stop()
	select {
	case event := <-events:
		return event.Type == zk.EventNodeDeleted, nil
	case <-timer.C:
		return false, nil
	case <-w.queue.session.ended:
		return false, zk.ErrClosing
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
