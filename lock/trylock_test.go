package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

func TestTryLock(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.take(background, w.mutex(1).TryLock)
		for range 3 {
			w.wantError(w.begin(background, w.mutex(2).TryLock), lock.ErrNotAcquired)
			w.wantNodes(1)
		}
		if got := w.requests(2, ""); got != 10 { // The first sync serves the others.
			t.Errorf("three tries took %d requests, want 10", got)
		}
		w.unlock(lease)
		w.unlock(w.take(background, w.mutex(2).TryLock))
	})
}

// A TryLock behind a mere waiter fails too: it would overtake.
func TestTryLockBehindWaiter(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		holder := w.acquire(w.mutex(1))
		waiter := w.start(background, w.mutex(2))
		w.flow()
		go holder.Unlock(background)
		w.serve(1) // The holder's node is gone, but the waiter does not know it yet.
		try := w.begin(background, w.mutex(3).TryLock)
		w.serve(3)
		w.cluster.Deliver(w.client(3).Link)
		w.serve(3)
		w.wantError(try, lock.ErrNotAcquired)
		w.wantGranted(waiter)
	})
}

// A waiter behind a failed TryLock gets the lock when the holder unlocks.
func TestWaiterBehindTry(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		holder := w.acquire(w.mutex(1))
		try := w.begin(background, w.mutex(2).TryLock)
		w.serve(2)
		waiter := w.start(background, w.mutex(3))
		w.serve(3)
		w.cluster.Deliver(w.client(3).Link)
		w.serve(3)
		w.wantError(try, lock.ErrNotAcquired)
		w.wantWaiting(waiter)
		w.unlock(holder)
		w.wantGranted(waiter)
	})
}

// A try that ZooKeeper does not answer is none that finds the lock held. If the context ended it,
// that is the cause, and a deadline is both.
func TestTryLockUnavailable(t *testing.T) {
	for name, test := range map[string]struct {
		interfere         func(w *world, cancel func())
		want              error
		unavailable, node bool
	}{
		"the connection is lost before the create": {
			func(w *world, _ func()) { w.cluster.Cut(w.client(1).Link) },
			zk.ErrConnectionClosed, true, false,
		},
		"the deadline passes": {
			func(w *world, _ func()) { w.pass(2 * time.Second) },
			context.DeadlineExceeded, true, false,
		},
		"the context is cancelled": {
			func(_ *world, cancel func()) { cancel() }, context.Canceled, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.cluster.StallRequests(w.client(1).Link)
				ctx, cancel := context.WithTimeout(background, time.Second)
				defer cancel()
				c := w.call(ctx, w.mutex(1).TryLock)
				w.send()
				test.interfere(w, cancel)
				w.wantError(c, test.want)
				if errors.Is(c.err, lock.ErrUnavailable) != test.unavailable ||
					errors.Is(c.err, lock.ErrNotAcquired) {
					t.Errorf("TryLock: %v", c.err)
				}
				w.cluster.Heal(w.client(1).Link)
				w.pass(3 * time.Second)
				w.wantNodes(0)
				if n := w.requests(1, "create"); n != 0 {
					t.Errorf("%d creates, want none", n)
				}
			})
		})
	}
}

// A try that may have queued waits for its connection.
func TestTryLockReconnects(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		c := w.begin(background, w.mutex(1).TryLock)
		w.serve(1)
		w.wantNodes(1)
		w.cluster.LoseReply(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(3 * time.Second)
		w.wantGranted(c)
	})
}

// TryLock waits for ZooKeeper no longer than its context allows, and leaves no node then either.
func TestTryLockCancelled(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		c := w.begin(ctx, w.mutex(1).TryLock)
		w.serve(1)
		w.cluster.Cut(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantError(c, context.DeadlineExceeded)
		w.wantError(c, lock.ErrUnavailable)
		w.wantNodes(1)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantNodes(0)
	})
}

// One deadline covers the whole call, however often a waiter is woken.
func TestOneDeadline(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		w.acquire(w.mutex(1))
		var leave []context.CancelFunc
		for client := 2; client <= 3; client++ {
			ctx, cancel := context.WithCancel(background)
			leave = append(leave, cancel)
			w.start(ctx, w.mutex(client))
			w.flow()
		}
		ctx, cancel := context.WithTimeout(background, 3*time.Second)
		defer cancel()
		began := time.Now()
		c := w.start(ctx, w.mutex(4))
		for _, wake := range []context.CancelFunc{leave[1], leave[0]} {
			w.pass(time.Second)
			wake()
		}
		w.pass(1100 * time.Millisecond)
		if !c.returned() || !errors.Is(c.err, context.DeadlineExceeded) {
			t.Errorf("after %v: returned %v with %v, want the deadline of 3 s", time.Since(began),
				c.returned(), c.err)
		}
	})
}
