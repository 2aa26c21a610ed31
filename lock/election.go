package lock

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// ErrNoLeader is the error of [Election.Leader] while no process leads.
var ErrNoLeader = errors.New("lock: the election has no leader")

// An Election makes one of several processes the leader, which all processes can observe. Its
// methods may be called concurrently. Candidates queue like the contenders of a [Mutex]. A leader
// proclaims data, such as its address, in a child "leader" of the election's path, so that
// [WithContainers] does not make ZooKeeper remove the path.
type Election struct{ queue *queue }

// NewElection returns the election whose candidates create their nodes below the path: see
// [NewMutex]. An access control list must permit every candidate to read and write the nodes below
// the path, and every observer to read them.
func NewElection(session *Session, path string, options ...Option) (*Election, error) {
	q, err := newQueue(session, path, options)
	if err != nil {
		return nil, err
	}
	return &Election{q}, nil
}

// Campaign waits until it leads and has proclaimed the data. A candidate whose session is lost, or
// that loses the lead before it has proclaimed, queues again at the end. Each call is a candidate
// of its own, whatever its owner. It returns the errors of [Mutex.Lock].
//
// Campaign costs one request more than Mutex.Lock; the first on a path costs another two.
func (e *Election) Campaign(ctx context.Context, data string) (*Leadership, error) {
	for {
		lease, err := e.queue.lock(ctx, rule{})
		if err != nil {
			return nil, err
		}
		l := &Leadership{Lease: lease, queue: e.queue}
		l.version.Store(anyVersion)
		if err = l.Proclaim(ctx, data); err == nil {
			return l, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			lease.Unlock(ended)
			return nil, cause
		}
		unlocked := lease.Unlock(ctx)
		if !errors.Is(err, ErrNotHeld) && !errors.Is(unlocked, ErrNotHeld) {
			return nil, err
		}
	}
}

// Do campaigns, calls the function while it leads, and resigns: see [Mutex.Do]. A process that is
// to lead again, after it has lost the lead say, calls Do in a loop. [LeaseFrom] returns the lease.
func (e *Election) Do(ctx context.Context, data string, f func(context.Context) error) error {
	return do(ctx, func(ctx context.Context) (*Lease, error) {
		l, err := e.Campaign(ctx, data)
		if err != nil {
			return nil, err
		}
		return l.Lease, nil
	}, f)
}

// Path returns the path below which the candidates create their nodes.
func (e *Election) Path() string { return e.queue.path }

// Participants returns the leader and the candidates: see [Mutex.Participants].
func (e *Election) Participants(ctx context.Context) ([]Participant, error) {
	return e.queue.participants(ctx, rule{})
}

// Revoke asks the leader to resign: see [Mutex.Revoke].
func (e *Election) Revoke(ctx context.Context) error { return e.queue.revoke(ctx, rule{}) }

// A Leadership is a [Lease] on the lead of an [Election]: its context ends when the lead is lost,
// and its token rises from term to term.
type Leadership struct {
	*Lease
	queue   *queue
	version atomic.Int32 // of the proclamation that this term has made; anyVersion before
}

// anyVersion is the version of a write that replaces any other.
const anyVersion = -1

// Resign ends the lead: see [Lease.Unlock].
func (l *Leadership) Resign(ctx context.Context) error { return l.Unlock(ctx) }

// Proclaim replaces the leader's data, which observers then receive. It retries until ZooKeeper has
// answered, the lead is lost or the context ends. Its error wraps [ErrNotHeld] if the lead was
// lost, and [ErrUncertain] if the data may have been proclaimed or may yet be. If ZooKeeper
// refuses, the error is ZooKeeper's. Earlier data never replace data proclaimed later.
func (l *Leadership) Proclaim(parent context.Context, data string) error {
	parent, cancel := context.WithCancel(parent)
	defer cancel() // so that the lease retains nothing
	ctx := l.Context(parent)
	content := proclamation{l.Token(), nameOf(l.Node()), data}.encode()
	version := l.version.Load()
	var uncertain error // of a write that may still be in flight
	known := true       // the version
	for {
		err := context.Cause(ctx)
		switch {
		case err != nil:
		case known:
			err = l.write(ctx, content, version)
		default:
			var carriedOut bool
			if carriedOut, err = l.learnVersion(ctx, content); err == nil {
				if carriedOut {
					return nil
				}
				known, uncertain, version = true, nil, l.version.Load()
				continue
			}
		}
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrUncertain) {
			uncertain = err
		}
		if cause := context.Cause(ctx); cause != nil {
			return errors.Join(uncertain, cause)
		}
		if errors.Is(err, ErrNotHeld) || known && !retriable(err) || refused(err) {
			return errors.Join(uncertain, err)
		}
		known = false
		if !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) {
			l.queue.pause(ctx)
		}
	}
}

// retriable reports whether a write that failed may succeed for another version, or later.
func retriable(err error) bool {
	return errors.Is(err, ErrUncertain) || errors.Is(err, zk.ErrBadVersion) ||
		errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoServer)
}

// write proclaims the content in place of a version.
func (l *Leadership) write(ctx context.Context, content []byte, version int32) error {
	path := l.queue.at(leaderNode)
	done, err := l.Write(ctx, &zk.SetDataRequest{Path: path, Data: content, Version: version})
	if err == nil {
		l.version.Store(done[0].Stat.Version)
		return nil
	}
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	_, err = l.Write(ctx, &zk.CreateRequest{Path: path, Data: content, Acl: l.queue.acl})
	if err == nil {
		l.version.Store(0)
	}
	return err
}

// learnVersion learns the version of the proclamation, once all earlier requests of the session are
// decided. It reports whether one of them has proclaimed the content.
func (l *Leadership) learnVersion(ctx context.Context, content []byte) (bool, error) {
	return await(ctx, func() (bool, error) {
		if err := l.queue.barrier(); err != nil {
			return false, err
		}
		present, stat, err := l.queue.client.Get(l.queue.at(leaderNode))
		if isNoNode(err) {
			l.version.Store(anyVersion)
			return false, nil
		}
		if err != nil {
			return false, err
		}
		l.version.Store(stat.Version)
		return bytes.Equal(present, content), nil
	})
}
