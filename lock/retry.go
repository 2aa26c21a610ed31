package lock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// awaitRetry returns nil once a request that has failed may be sent again, and otherwise the error
// with which its caller ends.
func (q *queue) awaitRetry(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == errRestart:
		return nil
	case refused(err):
		return err
	case q.session.isClosed():
		return zk.ErrClosing
	}
	q.pause(ctx)
	return nil
}

// pause waits before a failed request is retried, unless the context ends or the client is closed.
func (q *queue) pause(ctx context.Context) {
	timer := time.NewTimer(q.retryDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-q.session.ended:
	}
}
