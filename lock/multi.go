package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Locker is a lock that a [Multi] can take: a *[Mutex], an *[RWMutex], the result of its RLocker,
// or a *[Semaphore].
type Locker interface {
	Lock(context.Context) (*Lease, error)
	TryLock(context.Context) (*Lease, error)
	TryLockFor(ctx context.Context, wait time.Duration) (*Lease, error)
	Do(ctx context.Context, f func(context.Context) error) error
	Path() string

	element() element
}

// An element is the queue and the rule of a lock in a Multi.
type element struct {
	queue *queue
	rule  rule
}

// A Multi takes several locks, all or none. Two Multis with locks in common cannot deadlock,
// because each takes its locks in the order of their paths; locks on the same path through
// different clients are taken in the order given. Its methods may be called concurrently.
type Multi struct{ lockers []Locker }

// NewMulti combines the locks into one. The same lock may be given more than once, also for reading
// and for writing. A semaphore may not: two Multis that each hold the first of two places would
// deadlock.
func NewMulti(lockers ...Locker) (*Multi, error) {
	if len(lockers) == 0 {
		return nil, errors.New("lock: a multi needs at least one lock")
	}
	sorted := slices.Clone(lockers)
	slices.SortStableFunc(sorted, func(a, b Locker) int {
		// On the same path the writer comes first: its owner may read too, but a reader may not
		// write.
		return cmp.Or(cmp.Compare(a.Path(), b.Path()), cmp.Compare(a.element().rule.kind,
			b.element().rule.kind))
	})
	for i, locker := range sorted {
		for _, other := range sorted[i+1:] {
			a, b := locker.element(), other.element()
			if a.queue.path == b.queue.path && a.queue.session == b.queue.session &&
				(a.rule.kind == slot || b.rule.kind == slot) {
				return nil, fmt.Errorf("lock: a multi cannot take two places of the semaphore %s",
					locker.Path())
			}
		}
	}
	return &Multi{sorted}, nil
}

// Lock waits until it holds all of the locks. The context's deadline covers the whole call. If one
// of the locks cannot be taken, Lock unlocks those that it has taken, in the background if
// necessary, and returns the error of that lock's Lock.
func (m *Multi) Lock(ctx context.Context) (*MultiLease, error) { return m.take(ctx, Locker.Lock) }

// TryLock takes the locks if all of them are free, and otherwise returns [ErrNotAcquired]: see
// [Mutex.TryLock].
func (m *Multi) TryLock(ctx context.Context) (*MultiLease, error) {
	return m.take(ctx, Locker.TryLock)
}

func (m *Multi) take(ctx context.Context, lock func(Locker, context.Context) (*Lease,
	error),
) (*MultiLease, error) {
	if ownerOf(ctx) == nil {
		// The elements may include the same lock twice.
		ctx = WithOwner(ctx)
	}
	ctx = context.WithValue(ctx, othersKey{}, true)
	for {
		taken, err := m.takeOnce(ctx, lock)
		if !errors.Is(err, errForfeited) {
			return taken, err
		}
	}
}

func (m *Multi) takeOnce(ctx context.Context, lock func(Locker, context.Context) (*Lease,
	error),
) (*MultiLease, error) {
	taken := &MultiLease{leases: make([]*Lease, 0, len(m.lockers))}
	for _, locker := range m.lockers {
		lease, err := lock(locker, ctx)
		if err != nil {
			taken.unlockAll(ctx)
			return nil, fmt.Errorf("%s: %w", locker.Path(), err)
		}
		taken.leases = append(taken.leases, lease)
	}
	taken.linkLeases()
	return taken, nil
}

// A MultiLease holds the leases of a [Multi]. It ends when the first of them ends. Its methods may
// be called concurrently.
type MultiLease struct {
	leases []*Lease

	ctx    context.Context // ends with the first of the leases; its cause is the reason
	cancel context.CancelCauseFunc
	stops  []func() bool
}

// linkLeases ends the MultiLease when any of its leases ends.
func (m *MultiLease) linkLeases() {
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	for _, lease := range m.leases {
		m.stops = append(m.stops,
			context.AfterFunc(lease.ctx, func() { m.cancel(context.Cause(lease.ctx)) }))
	}
}

// Leases returns the leases in the order in which they were taken, which is that of their paths.
// Each has a token of its own.
func (m *MultiLease) Leases() []*Lease { return slices.Clone(m.leases) }

// Done returns a channel that is closed when any of the leases ends: see [Lease.Done].
func (m *MultiLease) Done() <-chan struct{} {
	for _, lease := range m.leases {
		lease.tenure.checkExpired()
		if cause := context.Cause(lease.ctx); cause != nil {
			m.cancel(cause)
		}
	}
	return m.ctx.Done()
}

// Context returns a context that ends with the first lease that ends: see [Lease.Context].
func (m *MultiLease) Context(parent context.Context) context.Context {
	for _, lease := range m.leases {
		parent = lease.Context(parent)
	}
	return parent
}

// Err returns why the first of the lost leases was lost, or nil if none was: see [Lease.Err].
func (m *MultiLease) Err() error {
	for _, lease := range m.leases {
		if err := lease.Err(); err != nil {
			return fmt.Errorf("%s: %w", lease.tenure.contender.path, err)
		}
	}
	return nil
}

// Unlock unlocks all locks in reverse order and waits until ZooKeeper has confirmed it. It returns
// the errors of all of them, joined: see [Lease.Unlock]. When the context ends first, the rest is
// unlocked in the background.
func (m *MultiLease) Unlock(ctx context.Context) error {
	m.cancel(errUnlocked)
	for _, stop := range m.stops {
		stop()
	}
	var errs []error
	for _, lease := range slices.Backward(m.leases) {
		if err := lease.Unlock(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", lease.tenure.contender.path, err))
		}
	}
	return errors.Join(errs...)
}

// unlockAll unlocks the leases taken so far. It drops their errors, which would hide why the Multi
// failed.
func (m *MultiLease) unlockAll(ctx context.Context) {
	for _, lease := range slices.Backward(m.leases) {
		_ = lease.Unlock(ctx)
	}
}
