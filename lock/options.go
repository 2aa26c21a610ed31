package lock

import (
	"io"
	"log/slog"

	"github.com/go-zookeeper/zk"
)

// An Option changes a lock that is being made.
type Option func(*queue)

// WithACL sets the access control list of the nodes that the lock makes: of the contenders' own, of
// the path, and of parents that do not exist. It must let every contender read all of them, create
// and delete below the path, and write its own node where [Lease.Downgrade] is used; whoever calls
// Revoke must be allowed to write the path. Where a contender may not write its own node, a [Mutex]
// takes a request more to give back, and the next one lists again. One that may not delete is told
// so by Unlock, and its node stays until its session ends. The default lets everyone do everything.
func WithACL(acl []zk.ACL) Option { return func(q *queue) { q.acl = acl } }

// WithRandom sets where the GUIDs in the names of nodes come from. The default is crypto/rand. Two
// contenders with the same GUID would take each other's node for their own. A reader that is given
// to several locks must bear it that they read at the same time.
func WithRandom(random io.Reader) Option { return func(q *queue) { q.random = random } }

// WithMetadata sets a text that says who contends, such as host and process. It stands in the data
// of each of the lock's nodes, for people to read and for [Participant.Metadata]. The default is
// none.
func WithMetadata(text string) Option { return func(q *queue) { q.metadata = text } }

// WithObserver sets whom to tell what becomes of the lock's contenders. It may be given several
// times.
func WithObserver(o Observer) Option {
	return func(q *queue) {
		q.observers = append(q.observers,
			o)
	}
}

// WithLogger logs what becomes of the lock's contenders: losses and failures as warnings, the rest
// for debugging.
func WithLogger(logger *slog.Logger) Option { return WithObserver(logObserver{logger}) }

// WithContainers makes the lock's directory and its parents container nodes, which ZooKeeper
// removes some time after their last child is gone. They need ZooKeeper 3.5.3 or newer, and a
// client with a method CreateContainer, as *zk.Conn has; with any other client the option has no
// effect.
func WithContainers() Option { return func(q *queue) { q.containers = true } }
