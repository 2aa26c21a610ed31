package lock

import (
	"context"
	"time"
)

// An RWMutex is a lock that one writer holds alone, or any number of readers together. It is fair:
// all stand in one queue, and a reader that comes after a writer waits for it, so that neither
// starves. Its methods may be called by any number of goroutines. See [WithOwner] for reentrancy,
// [Lease.Downgrade] for turning a writer into a reader.
type RWMutex struct{ queue *queue }

// NewRWMutex returns the lock whose contenders make their nodes under the path. It is as
// [NewMutex].
func NewRWMutex(client Client, path string, sessionTimeout time.Duration,
	options ...Option,
) (*RWMutex, error) {
	q, err := newQueue(client, path, sessionTimeout, options)
	if err != nil {
		return nil, err
	}
	return &RWMutex{q}, nil
}

// The rules of a reader and a writer.
var (
	readRule  = rule{kind: shared, reentrant: true}
	writeRule = rule{kind: writer, reentrant: true}
)

// Lock waits until it holds the lock alone. It is as [Mutex.Lock], but lists once more when its
// turn comes, if others than the one before it stood in its way: the end of a reader, or of a
// writer that may have become a reader, says nothing of those before. An owner that holds the lock
// for reading gets [ErrUpgrade] at once.
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) { return m.queue.lock(ctx, writeRule) }

// TryLock takes the lock for writing if it is free. It is as [Mutex.TryLock].
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.queue.lock(ctx, writeRule.trying())
}

// RLock waits until no writer stands before it, and returns a shared lease. It is as
// [RWMutex.Lock], and costs as many requests: readers that stand before it cost nothing. A waiting
// reader looks again, with one request, once in each session timeout.
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) { return m.queue.lock(ctx, readRule) }

// TryRLock takes the lock for reading if no writer holds it or waits for it. It is as
// [Mutex.TryLock], with one request more where it does not get it.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) {
	return m.queue.lock(ctx, readRule.trying())
}

// RLocker returns the lock for reading, for [NewMulti].
func (m *RWMutex) RLocker() Locker { return reader{m} }

// Path returns the path under which the contenders make their nodes.
func (m *RWMutex) Path() string { return m.queue.path }

// Participants is as [Mutex.Participants].
func (m *RWMutex) Participants(ctx context.Context) ([]Participant, error) {
	return m.queue.participants(ctx, writeRule)
}

// Revoke asks all holders to give the lock back. It is as [Mutex.Revoke].
func (m *RWMutex) Revoke(ctx context.Context) error { return m.queue.revoke(ctx, writeRule) }

func (m *RWMutex) element() element { return element{m.queue, writeRule} }

// trying returns the rule of one that does not wait.
func (r rule) trying() rule {
	r.try = true
	return r
}

// A reader is a read-write lock that is only read.
type reader struct{ *RWMutex }

func (r reader) Lock(ctx context.Context) (*Lease, error)    { return r.RLock(ctx) }
func (r reader) TryLock(ctx context.Context) (*Lease, error) { return r.TryRLock(ctx) }
func (r reader) element() element                            { return element{r.queue, readRule} }
