package lock

import (
	"context"
	"fmt"
	"time"
)

// A Semaphore is a lock with a number of places: so many leases stand at a time. It gives them out
// in the order in which the contenders' nodes were created. Its methods may be called by any number
// of goroutines, and each call takes a place of its own, whoever the owner is.
type Semaphore struct {
	queue  *queue
	places int
}

// NewSemaphore returns the semaphore whose contenders make their nodes under the path. It is as
// [NewMutex], and returns an error if there is not at least one place. All processes must be given
// the same number of places. While they differ, as in a change of the configuration, no more leases
// stand than the largest of them allows.
func NewSemaphore(client Client, path string, places int, sessionTimeout time.Duration,
	options ...Option,
) (*Semaphore, error) {
	if places < 1 {
		return nil, fmt.Errorf("lock: a semaphore must have at least one place, not %d", places)
	}
	q, err := newQueue(client, path, sessionTimeout, options)
	if err != nil {
		return nil, err
	}
	return &Semaphore{q, places}, nil
}

func (s *Semaphore) rule() rule { return rule{kind: slot, spare: s.places - 1} }

// Lock waits for a place. It is as [RWMutex.Lock], with one watch for each place instead of one: a
// lease that ends wakes at most as many waiters as there are places, and each of those lists again.
func (s *Semaphore) Lock(ctx context.Context) (*Lease, error) { return s.queue.lock(ctx, s.rule()) }

// TryLock takes a place if there is one that nobody waits for. It is as [Mutex.TryLock].
func (s *Semaphore) TryLock(ctx context.Context) (*Lease, error) {
	return s.queue.lock(ctx, s.rule().trying())
}

// Path returns the path under which the contenders make their nodes.
func (s *Semaphore) Path() string { return s.queue.path }

// Participants is as [Mutex.Participants].
func (s *Semaphore) Participants(ctx context.Context) ([]Participant, error) {
	return s.queue.participants(ctx, s.rule())
}

// Revoke asks all holders to give their places back. It is as [Mutex.Revoke].
func (s *Semaphore) Revoke(ctx context.Context) error { return s.queue.revoke(ctx, s.rule()) }

func (s *Semaphore) element() element { return element{s.queue, s.rule()} }
