package lock

import (
	"context"
	"fmt"
)

// A Semaphore is a lock with a fixed number of places. One lease holds one place. Places are
// granted in the order in which the contenders' nodes were created. Its methods may be called
// concurrently, and each call takes a place of its own, whatever its owner.
type Semaphore struct {
	queue  *queue
	places int
}

// NewSemaphore returns the semaphore whose contenders create their nodes below the path: see
// [NewMutex]. It returns an error if places is less than one. All processes must pass the same
// number of places. While they differ, as during a change of the configuration, no more leases
// exist than the largest allows.
func NewSemaphore(session *Session, path string, places int, options ...Option) (*Semaphore,
	error,
) {
	if places < 1 {
		return nil, fmt.Errorf("lock: a semaphore needs at least one place, not %d", places)
	}
	q, err := newQueue(session, path, options)
	if err != nil {
		return nil, err
	}
	return &Semaphore{q, places}, nil
}

func (s *Semaphore) rule() rule { return rule{kind: slot, spare: s.places - 1} }

// Lock waits for a place. It is like [RWMutex.Lock], with one watch per place: the end of a lease
// wakes at most as many waiters as there are places, and each of them lists again.
func (s *Semaphore) Lock(ctx context.Context) (*Lease, error) { return s.queue.lock(ctx, s.rule()) }

// TryLock takes a place if one is free that nobody waits for: see [Mutex.TryLock].
func (s *Semaphore) TryLock(ctx context.Context) (*Lease, error) {
	return s.queue.lock(ctx, s.rule().trying())
}

// Path returns the path below which the contenders create their nodes.
func (s *Semaphore) Path() string { return s.queue.path }

// Participants is like [Mutex.Participants].
func (s *Semaphore) Participants(ctx context.Context) ([]Participant, error) {
	return s.queue.participants(ctx, s.rule())
}

// Revoke asks all holders to give their places back: see [Mutex.Revoke].
func (s *Semaphore) Revoke(ctx context.Context) error { return s.queue.revoke(ctx, s.rule()) }

func (s *Semaphore) element() element { return element{s.queue, s.rule()} }
