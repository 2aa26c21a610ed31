package lock

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// A failureRun is a sequence of requests that have failed at once. Its zero value has none.
type failureRun struct {
	since  time.Time // first failure
	latest time.Time
}

// clientClosed reports whether the owner of the client has closed it, given the failure of a
// request that is retried after the delay. A [Session] knows. go-zookeeper/zk tells only watches:
// calls fail with ErrConnectionClosed, as after a lost connection. But an open client reconnects at
// once and its calls wait for that, so a client is closed if every call fails at once for longer
// than any session lasts.
func (r *failureRun) clientClosed(q *queue, err error, retryAfter time.Duration) bool {
	if q.session != nil {
		return q.session.isClosed()
	}
	if q.client.State() != zk.StateDisconnected || !errors.Is(err, zk.ErrConnectionClosed) {
		return false
	}
	now := time.Now()
	if now.Sub(r.latest) > max(q.timeout/2, 2*retryAfter) {
		r.since = now // A call in between took time, unlike the calls of a closed client.
	}
	r.latest = now
	return now.Sub(r.since) > 2*q.timeout
}
