package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A queue is a directory of ZooKeeper in which contenders make their nodes, and how this process
// does so. Every lock of the package is one, with rules of its own about who waits for whom.
type queue struct {
	client      Client
	session     *Session // as which the client was given, or nil
	identity    any      // equal for queues whose clients are the same
	path        string
	timeout     time.Duration
	validity    time.Duration // how long a confirmation of a node lasts, from when it was asked for
	acl         []zk.ACL
	metadata    string
	containers  bool
	observers   []Observer
	idleWatches watchRegistry // that contenders have left behind
	hints       predecessorHints
	randomMu    sync.Mutex
	random      io.Reader
	// closed when the session's client was closed; nil without a session
	closing <-chan struct{}
}

// A rule says whom a contender waits for.
type rule struct {
	kind      kind // as what it stands in the queue
	spare     int  // how many of those that it waits for may stand when it has its turn
	try       bool // it gives up where it would have to wait
	reentrant bool // its owner need not wait for itself
}

// blockedBy tells whether the contender waits for one that stands before it.
func (r *rule) blockedBy(e *entry) bool { return r.kind != shared || e.kind != shared }

func newQueue(client Client, path string, sessionTimeout time.Duration, options []Option) (*queue,
	error,
) {
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
		return nil, fmt.Errorf("lock: path %q must begin with a slash and not end in one", path)
	}
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("lock: the client is nil")
	}
	q := &queue{path: path, acl: zk.WorldACL(zk.PermAll), random: rand.Reader}
	if session, ok := client.(*Session); ok {
		q.session, client, q.closing = session, session.Client, session.ended
		sessionTimeout = min(sessionTimeout, session.timeout)
	}
	if sessionTimeout <= 0 {
		return nil, fmt.Errorf("lock: session timeout %v must be positive", sessionTimeout)
	}
	q.client, q.timeout, q.validity = client, sessionTimeout, validity(sessionTimeout)
	q.identity = q
	if reflect.ValueOf(client).Comparable() {
		q.identity = client
	}
	for _, option := range options {
		option(q)
	}
	return q, nil
}

// lock takes the lock for the owner that the context carries, or for this call alone.
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

// contend sends a contender into the queue and waits until it has its turn.
func (q *queue) contend(ctx context.Context, r rule) (*tenure, error) {
	c, err := newContender(ctx, q, r)
	if err != nil {
		return nil, err
	}
	// Nothing can call the attempt off, so that it need not go on without the caller.
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
	outcomes := make(chan outcome, 1)
	go func() {
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
	case outcome := <-outcomes: // Both were ready: what is there goes before the rest.
		return outcome.tenure, outcome.err
	default:
		c.cancel(context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
}

// list returns the contenders in the directory, in no order. A directory that is not there has
// none.
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

// sync makes sure that what is read next is no older than what was committed before the call.
func (q *queue) sync() error { return syncWith(q.client, q.path) }

// barrier makes sure that what was sent before in this session is decided, and that what is read
// next shows it.
func (q *queue) barrier() error { return commitNoop(q.client, q.path) }

func syncWith(client Client, path string) error {
	if _, err := client.Sync(path); err != nil && !isNoNode(err) {
		return err
	}
	return nil
}

// commitNoop has ZooKeeper's servers commitNoop on a write that changes nothing. The leader takes
// it only if the session lives, and it is answered only when a majority has logged it, and when the
// server that answers has come so far. A read shows none of that, and neither does a sync: a leader
// that has been deposed and does not know it yet answers one by itself (ProposalRequestProcessor).
// A client without a method Multi has to make do with a sync.
func commitNoop(client Client, path string) error {
	multi, ok := client.(multiClient)
	if !ok {
		return syncWith(client, path)
	}
	_, err := multi.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
	// These two are what the leader has found as well.
	if err != nil && !isNoNode(err) && !errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	return nil
}

// withOrder makes sure that the entries tell in which order their nodes were created. Where their
// numbers do not, it asks for the transaction that created each node, and leaves out those that are
// gone by now.
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

// await runs a request that knows no context, and leaves it to itself when the context ends first.
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
	case r := <-results: // Both were ready: what is certain goes before the rest.
		return r.value, r.err
	default:
		return none, context.Cause(ctx)
	}
}
