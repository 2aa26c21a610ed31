package lock

import (
	"context"
	"time"
)

// A Mutex is a lock that processes take in turn. Its methods may be called by any number of
// goroutines; each call of Lock is a contender of its own, unless its context carries an owner: see
// [WithOwner].
type Mutex struct{ queue *queue }

// NewMutex returns the lock whose contenders make their nodes under the path, which is created when
// it is first needed. The session timeout is the one that the client was connected with, or less:
// after a third of it without a confirmation from ZooKeeper, a lease counts as lost. The timeout of
// a [Session] is known, and a longer one has no effect. It returns an error if the client is nil,
// the path is not absolute, or is the root, or the timeout is not positive, be it that of the
// session. It sends nothing: whether ZooKeeper takes the path shows when it is first used.
func NewMutex(client Client, path string, sessionTimeout time.Duration, options ...Option) (*Mutex,
	error,
) {
	q, err := newQueue(client, path, sessionTimeout, options)
	if err != nil {
		return nil, err
	}
	return &Mutex{q}, nil
}

// Lock waits until it holds the lock and returns a lease on it. It survives lost connections and
// lost sessions: a contender whose session expired queues again, at the end.
//
// When the context ends first, Lock returns its cause at once; its deadline is one for the whole
// call. ZooKeeper can refuse an attempt (no permission, a bad path, a parent that is ephemeral);
// then Lock returns the error of the client, for which errors.Is works. After the client was closed
// it returns zk.ErrClosing: at once if it waits for others by then, or the client is a [Session],
// else after twice the session timeout. In each of these cases the contender's node is removed, in
// the background if need be.
//
// Uncontended it costs two requests: create and list. Contended it costs three: with a watch. Where
// all contenders come back as soon as they have given the lock back, and so in the same order again
// and again, it costs two: who has waited behind the same contender three times in a row, or only
// once so far, does not list but looks for that one. If the order has changed it finds nobody, and
// lists after all. When the one before it gives the lock back, it has its turn without asking for
// anything, wherever in the queue it stood at first. It lists again when the one before it ends in
// another way, by giving up or with its session, or has not had to wait itself; then only if there
// were others before that one, for all that it knows. After a wait of more than a twentieth of the
// session timeout it reads its own node, as somebody may have deleted it: on a [Session] once while
// it waits, else when its turn has come. If by then its node was made longer ago than a sixth of
// the session timeout, an empty write comes instead, or on top on a [Session].
//
// Once the lock has been held for a twentieth of the session timeout, its node is watched: only
// from then on is the holder told at once when somebody deletes it, or calls Revoke. A watch stays
// in the client until the node that it watches goes, also where the contender has given up long
// before, as the client cannot take it back; but an attempt through this Mutex within a session
// timeout uses it again.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	return m.queue.lock(ctx, rule{reentrant: true})
}

// TryLock takes the lock if it is free, and returns [ErrNotAcquired] if somebody else holds it or
// waits for it. Else it is as Lock: it does wait for ZooKeeper, and for a lost connection to come
// back, until the context ends. Where it does not get the lock it has removed its node by the time
// it returns, unless the context ended first. That costs three requests: create, list and delete.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.queue.lock(ctx, rule{reentrant: true, try: true})
}

// Path returns the path under which the contenders make their nodes.
func (m *Mutex) Path() string { return m.queue.path }

// Participants returns who holds the lock and who waits for it, in the order of the queue. It costs
// a sync, a listing, a read of the path's data and one of each node. When the context ends first it
// returns the context's cause.
func (m *Mutex) Participants(ctx context.Context) ([]Participant, error) {
	return m.queue.participants(ctx, rule{})
}

// Revoke asks the holder to give the lock back: its lease's Revoked channel is closed. It is a
// request and no more; the holder may well keep the lock. It returns [ErrNotHeld] if nobody holds
// the lock. It costs two requests more than Participants. It writes to the data of the lock's path,
// and returns an error if somebody else has put something there.
func (m *Mutex) Revoke(ctx context.Context) error { return m.queue.revoke(ctx, rule{}) }

func (m *Mutex) element() element { return element{m.queue, rule{reentrant: true}} }
