package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrLost is the error of a lease that has ended without being asked to. What [Lease.Err] returns wraps it and says
// why.
var ErrLost = errors.New("lock: lease lost")

// The reasons for which a lease is lost.
var (
	errNodeGone    = fmt.Errorf("%w: its node is gone, or belongs to a session that is over", ErrLost)
	errUnconfirmed = fmt.Errorf("%w: ZooKeeper could not be reached for so long that the session may be over", ErrLost)
)

// A Lease is a lock that is held. Its methods may be called by any number of goroutines.
type Lease struct {
	contender *contender
	node      string
	token     int64

	mu   sync.Mutex
	done chan struct{} // closed when the lease has ended
	err  error         // why, unless Unlock was called
}

// Done returns a channel that is closed when the lease has ended, because it was lost or unlocked. Whoever works
// under the lock should stop then.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err returns nil while the lease stands or after it was unlocked in time, and why it was lost otherwise.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Token returns the fencing token: the id of the transaction that created the contender's node. A lease that was
// granted later has a higher token. A resource that remembers the highest token that it has seen, and refuses lower
// ones, is safe even from a holder that does not know yet that it has lost the lock.
func (l *Lease) Token() int64 { return l.token }

// Node returns the path of the contender's node.
func (l *Lease) Node() string { return l.node }

// Unlock gives the lock back and waits until ZooKeeper has confirmed it. It returns an error that wraps [ErrLost] if
// the lease was lost before, and the client's error if the node could not be removed because ZooKeeper refused that or
// the client was closed. When the context ends first it returns the context's cause, and the removal goes on in the
// background. Unlock may be called again; once the node is gone, the result is always the same.
func (l *Lease) Unlock(ctx context.Context) error {
	l.end(nil)
	l.contender.dismiss()
	select {
	case <-l.contender.gone:
		return l.result()
	default:
	}
	select {
	case <-l.contender.gone:
		return l.result()
	case <-ctx.Done():
		return fmt.Errorf("lock: not yet unlocked, the removal of %s goes on: %w", l.node, context.Cause(ctx))
	}
}

// result returns how the lease and its node ended.
func (l *Lease) result() error {
	if err := l.Err(); err != nil {
		return err
	}
	return l.contender.removal
}

// end ends the lease. Only the first call counts.
func (l *Lease) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
	default:
		l.err = err
		close(l.done)
	}
}
