package lock

import (
	"context"
	"fmt"
)

// A DoubleBarrier lets processes begin and end a computation together, in rounds: Enter waits until
// enough of them are there, and Leave until all of the round have left. Its methods may be called
// concurrently, and each call of Enter is a participant of its own, whatever its owner.
//
// A round consists of the participants that have waited longest. With more processes than
// participants, a round can begin while others last. The path's data hold the rounds.
type DoubleBarrier struct {
	queue        *queue
	participants int
}

// NewDoubleBarrier returns the barrier for rounds of so many participants, whose nodes are below
// the path: see [NewMutex]. All processes must pass the same number. An access control list must
// permit every participant to write the path.
func NewDoubleBarrier(session *Session, path string, participants int, options ...Option) (
	*DoubleBarrier, error,
) {
	if participants < 1 {
		return nil, fmt.Errorf("lock: a barrier needs at least one participant, not %d",
			participants)
	}
	q, err := newQueue(session, path, options)
	if err != nil {
		return nil, err
	}
	return &DoubleBarrier{q, participants}, nil
}

// Enter waits until as many participants wait as a round needs. It survives lost connections. A
// participant whose session is lost waits again, as a new one. A participant whose connection takes
// too long to open is counted by no round before it could begin one.
//
// Enter otherwise fails like [Mutex.Lock], but returns only once its node is removed, so that no
// round counts a participant that has given up. If its round has begun, or may have, the error
// wraps [ErrLost] too, and the others do not wait for it. If the context ends while ZooKeeper
// cannot be reached, Enter returns once the connection or the session's end is known. A participant
// that crashes counts until its session ends.
//
// Enter costs four requests (read, sync, create and list; see [Mutex.Lock] for the sync), and one
// more when the round begins, or three after a wait of more than a sixth of the session timeout.
// The beginning of a round wakes all that wait.
func (b *DoubleBarrier) Enter(ctx context.Context) (*Round, error) {
	lease, err := b.queue.lock(ctx, rule{kind: party, parties: b.participants})
	if err != nil {
		return nil, err
	}
	return &Round{lease}, nil
}

// Do enters, calls the function and leaves: see [Mutex.Do]. The function's context ends when the
// participant's session is lost.
func (b *DoubleBarrier) Do(ctx context.Context, f func(context.Context) error) error {
	return do(ctx, func(ctx context.Context) (leaver, error) {
		r, err := b.Enter(ctx)
		return leaver{r}, err
	}, f)
}

// A leaver is a [Round] whose Unlock waits for the others.
type leaver struct{ *Round }

func (l leaver) Unlock(ctx context.Context) error { return l.Leave(ctx) }

// Path returns the path below which the participants create their nodes.
func (b *DoubleBarrier) Path() string { return b.queue.path }

// A Round is the part of one process in a round of a [DoubleBarrier]. Its [Lease] is lost with the
// session; then the others no longer wait for it. Unlock leaves without waiting for them.
type Round struct{ *Lease }

// Leave leaves the round, and waits until all other participants have left it or lost their
// sessions. It returns the errors of [Lease.Unlock]. If the context ends first, it returns the
// context's cause: the others do not wait for this participant, or soon will not. Leave may be
// called again. It costs one request, and one for each other participant that it finds.
func (r *Round) Leave(ctx context.Context) error {
	if err := r.Unlock(ctx); err != nil {
		return err
	}
	w := deletionWait{queue: r.tenure.contender.queue, session: r.tenure.session}
	for _, name := range r.tenure.contender.gathering.members {
		node := w.queue.at(name)
		if node == r.Node() {
			continue
		}
		if err := w.await(ctx, node); err != nil {
			return fmt.Errorf("lock: has left, but not all others have: %w", err)
		}
	}
	return nil
}
