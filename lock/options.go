package lock

import (
	"io"
	"log/slog"
	"time"

	"github.com/go-zookeeper/zk"
)

// An Option configures a lock.
type Option func(*queue)

// WithACL sets the access control list of the nodes that the lock creates: the contenders' own
// nodes, the path, and missing parents. The default grants everything to everyone. The list must
// permit:
//
//   - every contender to read all nodes, and to create and delete below the path;
//   - every contender to write its own node, if [Lease.Downgrade] is used;
//   - every caller of Revoke to write the path.
//
// If a contender may not delete, Unlock returns an error and its node stays until its session ends.
func WithACL(acl []zk.ACL) Option { return func(q *queue) { q.acl = acl } }

// WithRandom sets the source of the GUIDs in node names. The default is crypto/rand. Two contenders
// with the same GUID would mistake each other's node for their own. A reader that several locks
// share must support concurrent reads.
func WithRandom(random io.Reader) Option { return func(q *queue) { q.random = random } }

// WithMetadata sets a text that identifies the contender, such as host and process. It is stored in
// the data of each of its nodes, for people and for [Participant.Metadata]. The default is none.
func WithMetadata(text string) Option { return func(q *queue) { q.metadata = text } }

// WithObserver adds an observer of the lock's contenders, of all events or of those of the given
// kinds. It may be given several times.
func WithObserver(o Observer, kinds ...EventKind) Option {
	return func(q *queue) { q.observers = append(q.observers, subscription{o, kinds}) }
}

// WithLogger logs the events of the lock's contenders: losses and failures as warnings, all others
// at debug level.
func WithLogger(logger *slog.Logger) Option { return WithObserver(logObserver{logger}) }

// WithContainers creates the lock's directory and its parents as container nodes, which ZooKeeper
// removes some time after their last child is gone. It requires ZooKeeper 3.5.3 or newer.
func WithContainers() Option { return func(q *queue) { q.containers = true } }

// WithRetryDelay sets the delay before a contender, a candidate or an observer retries a request
// that failed while ZooKeeper could not be reached. The default is 100 ms. Contenders add up to two
// thirds of it, drawn from their GUIDs, so that those that failed together retry at different
// times. Confirmations of a held lease are always retried after the default.
func WithRetryDelay(delay time.Duration) Option { return func(q *queue) { q.retryDelay = delay } }
