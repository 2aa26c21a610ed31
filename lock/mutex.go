package lock

import "context"

// A Mutex is a mutual exclusion lock between processes. Its methods may be called concurrently.
// Each call of Lock is a contender of its own, unless its context carries an owner: see
// [WithOwner].
type Mutex struct{ queue *queue }

// NewMutex returns the lock whose contenders create their nodes below the path, which is created on
// first use. A lease is lost after a third of the session's timeout without a confirmation from
// ZooKeeper.
//
// NewMutex returns an error if the path is relative or the root, or the session's timeout is not
// positive. It sends no request: whether ZooKeeper accepts the path shows on first use.
func NewMutex(session *Session, path string, options ...Option) (*Mutex, error) {
	q, err := newQueue(session, path, options)
	if err != nil {
		return nil, err
	}
	return &Mutex{q}, nil
}

// Lock waits until it holds the lock and returns a lease on it. It survives lost connections and
// lost sessions: a contender whose session has expired queues again, at the end. So does one that
// is next, if ZooKeeper has taken too long to answer for a grant for a session timeout. Lock does
// not queue while an answer takes longer than a ninth of it.
//
// Lock fails with
//
//   - the cause of the context, at once, when the context ends first; its deadline covers the whole
//     call;
//   - the error of the client if ZooKeeper refuses a request (no permission, an invalid path, an
//     ephemeral parent);
//   - zk.ErrClosing, at once, after [Session.Close], or when the client has closed its channel of
//     events.
//
// In each case the contender's node is removed, in the background if necessary.
//
// Lock costs three requests if the lock is free (a sync, then create and list, sent together) and
// four if it is not (sync, create, list, watch), with no further request once its predecessor
// unlocks. docs/costs.md tells when it costs more or less.
//
// The node is watched once the lock has been held for a twentieth of the session timeout: only from
// then on is the holder told at once that its node was deleted or that Revoke was called. On a slow
// link, its next confirmation tells it of the deletion. The watch of a contender that has given up
// lasts until the watched node is gone.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	return m.queue.lock(ctx, rule{reentrant: true})
}

// TryLock takes the lock if it is free, and returns [ErrNotAcquired] if a contender holds it or
// waits for it, or [ErrUnavailable], also while a connection that was slow to open is too young for
// a grant. It is otherwise like Lock, and once it has sent its create it waits for replies until
// the context ends. If it fails, its node has been removed by the time it returns, unless the
// context ended first; that costs four requests: sync, create, list and delete.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.queue.lock(ctx, rule{reentrant: true, try: true})
}

// Path returns the path below which the contenders create their nodes.
func (m *Mutex) Path() string { return m.queue.path }

// Participants returns the contenders that hold the lock or wait for it, in queue order. It costs a
// sync, a listing, a read of the path's data and one of each node. When the context ends first it
// returns the context's cause.
func (m *Mutex) Participants(ctx context.Context) ([]Participant, error) {
	return m.queue.participants(ctx, rule{})
}

// Revoke asks the holder to unlock, by closing its lease's Revoked channel; the holder may keep the
// lock. It returns [ErrNotHeld] if the lock is free. It writes to the data of the lock's path, and
// returns an error if they contain anything but revocations. It costs two requests more than
// Participants.
func (m *Mutex) Revoke(ctx context.Context) error { return m.queue.revoke(ctx, rule{}) }

func (m *Mutex) element() element { return element{m.queue, rule{reentrant: true}} }
