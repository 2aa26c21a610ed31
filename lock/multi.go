package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Locker is a lock that a [Multi] can take: a *[Mutex], an *[RWMutex], what its RLocker returns,
// or a *[Semaphore].
type Locker interface {
	Lock(context.Context) (*Lease, error)
	TryLock(context.Context) (*Lease, error)
	Path() string

	element() element
}

// An element is a lock of a Multi as its order and its identity need it.
type element struct {
	queue *queue
	rule  rule
}

// A Multi takes several locks, all or none. Two of them that have locks in common never wait for
// each other, because each takes its locks in the order of their paths; of locks on the same path
// through different clients, in the order in which they were given. Its methods may be called by
// any number of goroutines.
type Multi struct{ lockers []Locker }

// NewMulti returns the locks as one. The same lock may be given more than once, also for reading
// and for writing; but a semaphore may not, because those who each have the first of two places
// would wait for each other.
func NewMulti(lockers ...Locker) (*Multi, error) {
	if len(lockers) == 0 {
		return nil, errors.New("lock: a multi needs at least one lock")
	}
	sorted := slices.Clone(lockers)
	slices.SortStableFunc(sorted, func(a, b Locker) int {
		// On the same path the writer comes first: it may read too, but not the other way round.
		return cmp.Or(cmp.Compare(a.Path(), b.Path()), cmp.Compare(a.element().rule.kind,
			b.element().rule.kind))
	})
	for i, locker := range sorted {
		for _, other := range sorted[i+1:] {
			a, b := locker.element(), other.element()
			if a.queue.path == b.queue.path && a.queue.identity == b.queue.identity &&
				(a.rule.kind == slot || b.rule.kind == slot) {
				return nil, fmt.Errorf("lock: a multi can not take two places of the semaphore %s",
					locker.Path())
			}
		}
	}
	return &Multi{sorted}, nil
}

// Lock waits until it holds all of the locks. The context's deadline is one for all. If one can not
// be had, those that it has by then are given back, in the background if need be, and it returns
// that one's error, as its Lock returns it.
func (m *Multi) Lock(ctx context.Context) (*MultiLease, error) { return m.take(ctx, Locker.Lock) }

// TryLock takes the locks if all of them are free, and returns [ErrNotAcquired] if not: see
// [Mutex.TryLock].
func (m *Multi) TryLock(ctx context.Context) (*MultiLease,
	error,
) {
	return m.take(ctx, Locker.TryLock)
}

func (m *Multi) take(ctx context.Context, lock func(Locker, context.Context) (*Lease,
	error),
) (*MultiLease, error) {
	if ownerOf(ctx) == nil {
		// The same lock may be among the elements twice.
		ctx = WithOwner(ctx)
	}
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

// A MultiLease is the leases of a [Multi]. It ends when the first of them ends. Its methods may be
// called by any number of goroutines.
type MultiLease struct {
	leases []*Lease

	ctx    context.Context // ends with the first of the leases, its cause says how
	cancel context.CancelCauseFunc
	stops  []func() bool
}

// linkLeases makes the end of each lease that of all.
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

// Done returns a channel that is closed when one of the leases has ended: see [Lease.Done].
func (m *MultiLease) Done() <-chan struct{} {
	for _, lease := range m.leases {
		lease.tenure.checkExpired()
		if cause := context.Cause(lease.ctx); cause != nil {
			m.cancel(cause)
		}
	}
	return m.ctx.Done()
}

// Context returns a context that ends with the first of the leases: see [Lease.Context].
func (m *MultiLease) Context(parent context.Context) context.Context {
	for _, lease := range m.leases {
		parent = lease.Context(parent)
	}
	return parent
}

// Err returns nil while all leases stand or after they were unlocked in time, and why the first of
// them was lost otherwise.
func (m *MultiLease) Err() error {
	for _, lease := range m.leases {
		if err := lease.Err(); err != nil {
			return fmt.Errorf("%s: %w", lease.tenure.contender.path, err)
		}
	}
	return nil
}

// Unlock gives all locks back, the last that was taken first, and waits until ZooKeeper has
// confirmed it. It returns what was wrong with any of them, joined: see [Lease.Unlock]. When the
// context ends first, what is left is done in the background.
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

// unlockAll gives back what was taken when the rest can not be had. The error of an unlock would
// hide why.
func (m *MultiLease) unlockAll(ctx context.Context) {
	for _, lease := range slices.Backward(m.leases) {
		_ = lease.Unlock(ctx)
	}
}
