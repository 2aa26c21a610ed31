package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A queue is a directory of ZooKeeper in which contenders create their nodes, with the
// configuration of this process. Each lock of the package is a queue with rules of its own.
type queue struct {
	session     *Session
	client      Client // of the session
	path        string
	timeout     time.Duration
	validity    time.Duration // of a confirmation, from when its first request was sent
	acl         []zk.ACL
	metadata    string
	containers  bool
	retryDelay  time.Duration // see [WithRetryDelay]
	observers   []subscription
	idleWatches watchRegistry // of contenders that have ended
	randomMu    sync.Mutex
	random      io.Reader
}

// A rule defines for whom a contender waits.
type rule struct {
	kind      kind // role in the queue
	spare     int  // number of blockers that may be left when it is granted the lock
	try       bool // it fails instead of waiting
	reentrant bool // its owner does not wait for itself
	parties   int  // of a party: how many begin a round together
}

// blockedBy reports whether the contender waits for an entry before it.
func (r *rule) blockedBy(e *entry) bool { return r.kind != shared || e.kind != shared }

func newQueue(session *Session, path string, options []Option) (*queue, error) {
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
		return nil, fmt.Errorf("lock: path %q must begin with a slash and must not end with one",
			path)
	}
	if session == nil {
		return nil, errors.New("lock: the session is nil")
	}
	if session.timeout <= 0 {
		return nil, fmt.Errorf("lock: session timeout %v must be positive", session.timeout)
	}
	q := &queue{
		session: session, client: session.Client, path: path, timeout: session.timeout,
		validity: validity(session.timeout), acl: zk.WorldACL(zk.PermAll), random: rand.Reader,
		retryDelay: retryDelay,
	}
	for _, option := range options {
		option(q)
	}
	if q.retryDelay <= 0 {
		return nil, fmt.Errorf("lock: retry delay %v must be positive", q.retryDelay)
	}
	return q, nil
}

// lock takes the lock for the owner in the context, or for this call alone.
func (q *queue) lock(ctx context.Context, r rule) (*Lease, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if o := ownerOf(ctx); o != nil && r.reentrant {
		return o.lock(ctx, q, r)
	}
	t, err := q.contend(ctx, r)
	if err != nil {
		return nil, err
	}
	return t.enter(!r.kind.isExclusive())
}

// contend adds a contender to the queue and waits until it is granted the lock.
func (q *queue) contend(ctx context.Context, r rule) (*tenure, error) {
	c, err := newContender(ctx, q, r)
	if err != nil {
		return nil, err
	}
	// The attempt cannot be cancelled, so it needs no goroutine of its own.
	if ctx.Done() == nil {
		k, err := c.obtain()
		if err != nil {
			return nil, err
		}
		go c.hold(k)
		return k.tenure, nil
	}
	type outcome struct {
		tenure *tenure
		err    error
	}
	outcomes, over := make(chan outcome, 1), make(chan struct{})
	go func() {
		defer close(over) // even if the client ends the goroutine
		k, err := c.obtain()
		if err != nil {
			outcomes <- outcome{err: err}
			return
		}
		outcomes <- outcome{tenure: k.tenure}
		c.hold(k)
	}()
	select {
	case outcome := <-outcomes:
		return outcome.tenure, outcome.err
	case <-ctx.Done():
	}
	select {
	case outcome := <-outcomes: // Both were ready: an outcome takes precedence.
		return outcome.tenure, outcome.err
	default:
		c.cancel(context.Cause(ctx))
		if r.kind == party { // No round must count it once the call has returned.
			<-over
			select {
			case outcome := <-outcomes:
				if outcome.err != nil {
					return nil, outcome.err
				}
				return nil, c.unlessBegun(context.Cause(ctx)) // It was granted at that moment.
			default: // The client has ended the goroutine.
			}
		}
		if r.try {
			return nil, unanswered(ctx)
		}
		return nil, context.Cause(ctx)
	}
}

// list returns the contenders in the directory, unordered. It returns none if the directory does
// not exist.
func (q *queue) list() (listing, error) {
	names, stat, err := q.client.Children(q.path)
	if isNoNode(err) {
		return listing{}, nil
	}
	if err != nil {
		return listing{}, err
	}
	entries := make([]entry, 0, len(names))
	for _, name := range names {
		if e, ok := parseEntry(name); ok {
			entries = append(entries, e)
		}
	}
	return listing{entries, stat.Czxid, stat.Pzxid}, nil
}

// sync ensures that subsequent reads reflect everything committed before the call.
func (q *queue) sync() error { return q.session.proof.sync(q.client, q.path) }

// barrier ensures that earlier requests of this session are decided and that subsequent reads
// reflect them.
func (q *queue) barrier() error {
	return q.write(func() error { return commitNoop(q.client, q.path) })
}

// precede sends the first request of a pair unless one was sent recently: see [proof].
func (q *queue) precede() error { return q.session.proof.precede(q.client, q.path) }

// write sends a write, whose success counts for the proof.
func (q *queue) write(send func() error) error { return q.session.proof.write(q.client, send) }

// multi is write for several operations.
func (q *queue) multi(operations ...any) error {
	return q.write(func() error {
		_, err := q.client.Multi(operations...)
		return err
	})
}

func syncWith(client Client, path string) error {
	if _, err := client.Sync(path); err != nil && !isNoNode(err) {
		return err
	}
	return nil
}

// commitNoop commits a write that changes nothing. The leader accepts it only if the session is
// alive, and it is answered only once a majority has logged it and the answering server has applied
// it. Neither a read nor a sync proves this: a deposed leader that has not noticed yet answers a
// sync alone (ProposalRequestProcessor).
func commitNoop(client Client, path string) error {
	_, err := client.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
	// The leader itself has returned these two.
	if err != nil && !isNoNode(err) && !errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	return nil
}

// withOrder completes the entries so that their order is known. If the numbers do not give the
// order, it reads the zxid that created each node, and omits nodes that are gone.
func (q *queue) withOrder(entries []entry) ([]entry, error) {
	if numbersOrdered(entries) {
		return entries, nil
	}
	remaining := entries[:0]
	for _, e := range entries {
		exists, stat, err := q.client.Exists(q.at(e.name))
		if err != nil {
			return nil, err
		}
		if exists {
			e.czxid = stat.Czxid
			remaining = append(remaining, e)
		}
	}
	return remaining, nil
}

// at returns the path of a node in the directory.
func (q *queue) at(name string) string { return q.path + "/" + name }

// await runs a request that takes no context, and abandons it when the context ends first.
func await[T any](ctx context.Context, request func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if err := context.Cause(ctx); err != nil {
		return none, err
	}
	results := make(chan result, 1)
	go func() {
		value, err := request()
		results <- result{value, err}
	}()
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-results: // Both were ready: a known outcome takes precedence.
		return r.value, r.err
	default:
		return none, context.Cause(ctx)
	}
}
