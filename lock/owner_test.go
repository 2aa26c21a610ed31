package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

// An owner takes the lock any number of times, through any handle, without a request. The lock is
// free after as many unlocks.
func TestReentrant(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		owner := lock.WithOwner(background)
		a, b := w.mutex(1), w.mutex(1)
		leases := []*lock.Lease{w.take(owner, a.Lock)}
		before := w.requests(1, "")
		derived, cancel := context.WithTimeout(owner, time.Second)
		defer cancel()
		leases = append(leases, w.take(derived, a.Lock), w.take(owner, b.Lock),
			w.take(owner, b.TryLock))
		if got := w.requests(1, "") - before; got != 0 {
			t.Errorf("re-entry took %d requests, want none", got)
		}
		waiter := w.start(background, w.mutex(2))
		for i, lease := range leases {
			w.wantWaiting(waiter)
			if lease.Token() != leases[0].Token() || lease.Err() != nil {
				t.Errorf("lease %d: token %d, error %v, want token %d", i, lease.Token(),
					lease.Err(),
					leases[0].Token())
			}
			w.unlock(lease)
			w.unlock(lease) // counts once
			select {
			case <-lease.Done():
			default:
				t.Errorf("lease %d is not done", i)
			}
		}
		w.wantGranted(waiter)
	})
}

// Without an owner, or with another one, a second call waits for the first.
func TestOwnersAreApart(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m := w.mutex(1)
		owner := lock.WithOwner(background)
		lease := w.take(owner, m.Lock)
		var others []*call
		for _, ctx := range []context.Context{
			background, lock.WithOwner(background),
			lock.WithOwner(owner),
		} {
			others = append(others, w.start(ctx, m))
			w.wantWaiting(others...)
		}
		w.unlock(lease)
		for _, c := range others {
			w.flow()
			w.wantGranted(c)
			w.unlock(c.lease)
		}
	})
}

// Concurrent goroutines of one owner share one place in the queue.
func TestOwnerComesTwice(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		owner := lock.WithOwner(background)
		m := w.mutex(2)
		first, cancel := context.WithCancel(owner)
		a, b := w.start(first, m), (*call)(nil)
		w.flow()
		b = w.start(owner, m)
		w.wantWaiting(a, b)
		w.wantNodes(2)
		w.wantError(w.begin(owner, m.TryLock), lock.ErrNotAcquired)
		cancel() // The second takes over from the first.
		w.wantError(a, context.Canceled)
		w.wantWaiting(b)
		w.unlock(holder)
		w.wantGranted(b)
		w.unlock(b.lease)
		w.wantNodes(0)
	})
}

// A goroutine that waits for another one of its owner can be cancelled on its own.
func TestOwnerGivesUp(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.acquire(w.mutex(1))
		owner := lock.WithOwner(background)
		a := w.start(owner, w.mutex(2))
		w.flow()
		ctx, cancel := context.WithCancel(owner)
		b := w.start(ctx, w.mutex(2))
		w.wantWaiting(a, b)
		cancel()
		w.wantError(b, context.Canceled)
		w.wantWaiting(a)
	})
}

// An owner that has unlocked queues like any other.
func TestOwnerComesBack(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		lease := w.take(owner, m.Lock)
		waiter := w.start(background, w.mutex(2))
		w.flow()
		ended, cancel := context.WithCancel(background)
		cancel()
		if err := lease.Unlock(ended); !errors.Is(err, context.Canceled) {
			t.Fatalf("Unlock: %v, want a removal in progress", err)
		}
		again := w.start(owner, m)
		w.flow()
		w.wantGranted(waiter)
		w.wantWaiting(again)
		w.unlock(waiter.lease)
		w.wantGranted(again)
		if again.lease.Token() <= waiter.lease.Token() {
			t.Errorf("token %d after %d", again.lease.Token(), waiter.lease.Token())
		}
	})
}

// All leases of an owner are lost together, and a lost lock is not re-entered.
func TestOwnerLoses(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		a, b := w.take(owner, m.Lock), w.take(owner, m.Lock)
		w.watch()
		go w.client(2).Delete(a.Node(), -1)
		w.flow()
		for _, l := range []*lock.Lease{a, b} {
			if !errors.Is(l.Err(), lock.ErrLost) {
				t.Errorf("error %v, want ErrLost", l.Err())
			}
		}
		rival := w.acquire(w.mutex(2))
		again := w.start(owner, m)
		w.wantWaiting(again)
		for _, l := range []*lock.Lease{a, b} {
			if err := w.do(func() error { return l.Unlock(background) }); !errors.Is(err,
				lock.ErrLost) {
				t.Errorf("Unlock: %v, want ErrLost", err)
			}
		}
		w.wantWaiting(again)
		w.unlock(rival)
		w.wantGranted(again)
		// Unlocks of lost leases do not count for current ones.
		once := w.take(owner, m.Lock)
		w.unlock(again.lease)
		w.wantNodes(1)
		w.unlock(once)
		w.wantNodes(0)
	})
}

// An owner holds a Mutex alone to the end, even if its last lease is shared.
func TestOwnerReadsAMutex(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		owner := lock.WithOwner(background)
		wrote := w.take(owner, w.mutex(1).Lock)
		read := w.take(owner, w.rwmutex(1).RLock)
		reader := w.begin(background, w.rwmutex(2).RLock)
		w.unlock(wrote)
		w.wantWaiting(reader)
		again := w.take(owner, w.rwmutex(1).Lock)
		if err := w.do(func() error { return again.Downgrade(background) }); err != nil {
			t.Fatal(err)
		}
		w.wantWaiting(reader)
		w.unlock(read)
		w.wantWaiting(reader)
		w.unlock(again)
		w.wantGranted(reader)
	})
}

// An owner that locks again after a pause does not enter a lease that has expired meanwhile, though
// no timer has ended it yet.
func TestNoReentryAfterAPause(t *testing.T) {
	const looks = 100 // They wake when the timers fire, in random order.
	inWorld(t, 1, func(w *world) {
		entered := make(chan bool, looks)
		for i := range looks {
			m := must(lock.NewMutex(w.session(1), fmt.Sprint("/lock/", i)))
			ctx := lock.WithOwner(background)
			w.take(ctx, m.Lock)
			go func() {
				time.Sleep(sessionTimeout / 3)
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_, err := m.Lock(ctx)
				entered <- err == nil
			}()
		}
		w.cluster.Cut(w.client(1).Link)
		time.Sleep(sessionTimeout)
		for range looks {
			if <-entered {
				t.Fatal("a lost lease was entered")
			}
		}
	})
}
