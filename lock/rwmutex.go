package lock

import "context"

// An RWMutex is a lock that is held by one writer or by any number of readers. It is fair: readers
// and writers form one queue, and a reader waits for the writers before it, so that neither
// starves. Its methods may be called concurrently. [WithOwner] makes it reentrant, and
// [Lease.Downgrade] turns a writer into a reader.
type RWMutex struct{ queue *queue }

// NewRWMutex returns the lock whose contenders create their nodes below the path: see [NewMutex].
func NewRWMutex(session *Session, path string, options ...Option) (*RWMutex, error) {
	q, err := newQueue(session, path, options)
	if err != nil {
		return nil, err
	}
	return &RWMutex{q}, nil
}

// The rules of a reader and of a writer.
var (
	readRule  = rule{kind: shared, reentrant: true}
	writeRule = rule{kind: writer, reentrant: true}
)

// Lock waits until it holds the lock alone. It is like [Mutex.Lock], but lists once more at its
// turn if others than its predecessor were blocking it: the end of a reader, or of a writer that
// may have become a reader, does not imply that nobody else is before it. An owner that holds the
// lock for reading gets [ErrUpgrade] at once.
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) { return m.queue.lock(ctx, writeRule) }

// TryLock takes the lock for writing if it is free: see [Mutex.TryLock].
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.queue.lock(ctx, writeRule.trying())
}

// RLock waits until no writer is before it and returns a shared lease. It is like [RWMutex.Lock]
// and costs as much: readers before it cost nothing. A waiting reader checks the writer with one
// request per session timeout.
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) { return m.queue.lock(ctx, readRule) }

// TryRLock takes the lock for reading if no writer holds it or waits for it. It is like
// [Mutex.TryLock], with one request more if it fails.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) {
	return m.queue.lock(ctx, readRule.trying())
}

// RLocker returns the lock for reading, for use in [NewMulti].
func (m *RWMutex) RLocker() Locker { return reader{m} }

// Path returns the path below which the contenders create their nodes.
func (m *RWMutex) Path() string { return m.queue.path }

// Participants is like [Mutex.Participants].
func (m *RWMutex) Participants(ctx context.Context) ([]Participant, error) {
	return m.queue.participants(ctx, writeRule)
}

// Revoke asks all holders to unlock: see [Mutex.Revoke].
func (m *RWMutex) Revoke(ctx context.Context) error { return m.queue.revoke(ctx, writeRule) }

func (m *RWMutex) element() element { return element{m.queue, writeRule} }

// trying returns the rule of a contender that does not wait.
func (r rule) trying() rule {
	r.try = true
	return r
}

// A reader takes a read-write lock for reading.
type reader struct{ *RWMutex }

func (r reader) Lock(ctx context.Context) (*Lease, error)    { return r.RLock(ctx) }
func (r reader) TryLock(ctx context.Context) (*Lease, error) { return r.TryRLock(ctx) }
func (r reader) element() element                            { return element{r.queue, readRule} }
