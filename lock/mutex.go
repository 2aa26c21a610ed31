// Package lock is a distributed lock on ZooKeeper.
//
// A [Mutex] follows ZooKeeper's lock recipe: every contender makes an ephemeral sequential node, holds the lock when
// no contender stands before it, and until then watches only the one just before its own. Beyond the recipe:
//
//   - A lost reply loses nothing. A node's name holds a GUID; after any unknown outcome the contender looks for it.
//   - A contender leaves no node behind, whichever way its attempt ends. Where the connection is down at that moment,
//     the removal goes on in the background until ZooKeeper confirms it or the session is over.
//   - A node is proof only while it stands and belongs to the current session. Both are verified right before the
//     lock is granted.
//   - The holder is told when it loses the lock: see [Lease.Done].
//   - Fencing tokens are transaction ids, and so is the order of contenders as soon as their numbers do not tell it:
//     since 3.6.0 servers hand out 2147483647 again and again once they have come so far (ZOOKEEPER-3249).
//
// # What is guaranteed
//
// ZooKeeper grants the lock to one contender at a time, in the order in which their nodes were created. A process can
// still act on a lock that it has just lost, if it is paused between looking at [Lease.Done] and acting. Only the
// protected resource can rule that out, by refusing a [Lease.Token] lower than one that it has seen.
//
// Without such pauses, a lease ends before ZooKeeper can grant the lock to another as long as the process's clock
// loses less than a tenth against that of ZooKeeper's leader, the timeout given to [NewMutex] is not longer than the
// session's, and the server that the client is connected to is in touch with the leader. A follower that is cut off
// goes on answering for up to syncLimit ticks, while the leader no longer hears of the sessions that it serves: for
// that time a lease can outlive its session, and only the token protects the resource.
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

// Client is what the lock needs of ZooKeeper. *zk.Conn of github.com/go-zookeeper/zk satisfies it.
type Client interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Children(path string) ([]string, *zk.Stat, error)
	Sync(path string) (string, error)
	SessionID() int64
	State() zk.State
}

// A Mutex is a lock that processes take in turn. Its methods may be called by any number of goroutines; each call of
// Lock is a contender of its own. A Mutex is not reentrant.
type Mutex struct {
	client   Client
	path     string
	timeout  time.Duration
	validity time.Duration // how long a confirmation of the node lasts, from when it was asked for
	acl      []zk.ACL
	randomMu sync.Mutex
	random   io.Reader
}

// An Option changes a [Mutex] that is being made.
type Option func(*Mutex)

// WithACL sets the access control list of the nodes that the mutex makes. It must let every contender read the nodes of
// the others. The default lets everyone do everything.
func WithACL(acl []zk.ACL) Option { return func(m *Mutex) { m.acl = acl } }

// WithRandom sets where the GUIDs in the names of nodes come from. The default is crypto/rand. Two contenders with
// the same GUID would take each other's node for their own.
func WithRandom(random io.Reader) Option { return func(m *Mutex) { m.random = random } }

// NewMutex returns the lock whose contenders make their nodes under the path, which is created when it is first
// needed. The session timeout is the one that the client was connected with, or less: after nine tenths of it without
// a word from ZooKeeper, a lease counts as lost. It returns an error if the path is not absolute, or is the root, or
// the timeout is not positive. It sends nothing.
func NewMutex(client Client, path string, sessionTimeout time.Duration, options ...Option) (*Mutex, error) {
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
		return nil, fmt.Errorf("lock: path %q must begin with a slash and not end in one", path)
	}
	if sessionTimeout <= 0 {
		return nil, fmt.Errorf("lock: session timeout %v must be positive", sessionTimeout)
	}
	m := &Mutex{
		client: client, path: path, timeout: sessionTimeout, validity: sessionTimeout / 10 * 9,
		acl: zk.WorldACL(zk.PermAll), random: rand.Reader,
	}
	for _, option := range options {
		option(m)
	}
	return m, nil
}

// Lock waits until it holds the lock and returns a lease on it. It survives lost connections and lost sessions: a
// contender whose session expired queues again, at the end.
//
// When the context ends first, Lock returns its cause at once. ZooKeeper can refuse an attempt (no permission, a bad
// path, a parent that is ephemeral); then Lock returns the error of the client, for which errors.Is works. After the
// client was closed it returns zk.ErrClosing, after twice the session timeout. In each of these cases the contender's node is removed, in the
// background if need be.
//
// Uncontended it costs three requests: create, list, confirm. Right behind the holder it costs one more, the watch;
// further behind, two more, because it lists again when the one before it is gone. Each watch stays in the client until
// the node that it watches goes, also where the contender has given up long before: the client cannot take it back.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	c, err := newContender(m)
	if err != nil {
		return nil, err
	}
	go c.run()
	select {
	case outcome := <-c.outcome:
		return outcome.lease, outcome.err
	case <-ctx.Done():
		c.dismiss()
		return nil, context.Cause(ctx)
	}
}

// refused tells whether ZooKeeper has said no, so that trying again is useless. Every other error leaves open whether
// the request was carried out.
func refused(err error) bool {
	for _, final := range [...]error{
		zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrBadArguments, zk.ErrInvalidFlags,
		zk.ErrNoChildrenForEphemerals, zk.ErrClosing,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}
