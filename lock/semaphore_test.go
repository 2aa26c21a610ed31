package lock_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

func (w *world) semaphore(client, places int) *lock.Semaphore {
	return must(lock.NewSemaphore(w.session(client), "/lock", places))
}

func TestSemaphore(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		first := w.take(background, w.semaphore(1, 2).Lock)
		second := w.take(background, w.semaphore(2, 2).TryLock)
		if one, two := w.requests(1, ""), w.requests(2, ""); one != 3 || two != 3 {
			t.Errorf("free places took %d and %d requests, want 3", one, two)
		}
		third := w.begin(background, w.semaphore(3, 2).Lock)
		w.wantWaiting(third)
		fourth := w.begin(background, w.semaphore(4, 2).Lock)
		w.wantWaiting(third, fourth)
		w.wantError(w.begin(background, w.semaphore(5, 2).TryLock), lock.ErrNotAcquired)
		// The later holder unlocks first, and the longest waiter gets its place.
		w.unlock(second)
		w.wantGranted(third)
		w.wantWaiting(fourth)
		w.unlock(third.lease)
		w.wantGranted(fourth)
		w.unlock(first)
		w.unlock(fourth.lease)
		w.wantNodes(0)
	})
}

// An owner takes a place each time: a semaphore is not reentrant.
func TestSemaphoreKnowsNoOwner(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		owner := lock.WithOwner(background)
		s := w.semaphore(1, 2)
		first, second := w.take(owner, s.Lock), w.take(owner, s.Lock)
		if first.Node() == second.Node() || first.Token() >= second.Token() {
			t.Errorf("nodes %s and %s, tokens %d and %d", first.Node(), second.Node(),
				first.Token(),
				second.Token())
		}
		w.wantError(w.begin(owner, s.TryLock), lock.ErrNotAcquired)
	})
}

// Waiters for places can be cancelled without harm to those behind them.
func TestSemaphoreWaiterGivesUp(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		var holders []*lock.Lease
		for client := 1; client <= 2; client++ {
			holders = append(holders, w.take(background, w.semaphore(client, 2).Lock))
		}
		ctx, cancel := context.WithCancel(background)
		third := w.begin(ctx, w.semaphore(3, 2).Lock)
		w.flow()
		fourth := w.begin(background, w.semaphore(4, 2).Lock)
		w.flow()
		fifth := w.begin(background, w.semaphore(5, 2).Lock)
		w.flow()
		cancel()
		w.wantError(third, context.Canceled)
		w.wantWaiting(fourth, fifth)
		w.unlock(holders[0])
		w.wantGranted(fourth)
		w.wantWaiting(fifth)
		w.unlock(holders[1])
		w.wantGranted(fifth)
	})
}

// Places are granted in order even after sequence numbers have overflowed.
func TestSemaphoreWraps(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		w.cluster.Tree().SetSequence("/lock", math.MaxInt32-2)
		var calls []*call
		for client := 1; client <= 5; client++ {
			calls = append(calls, w.begin(background, w.semaphore(client, 2).Lock))
			w.flow()
		}
		for i, c := range calls {
			w.wantGranted(c)
			w.wantWaiting(calls[min(i+2, 5):]...)
			w.unlock(c.lease)
		}
	})
}

func TestNewSemaphoreRefuses(t *testing.T) {
	session := lock.NewSession(&identified{}, nil, time.Second)
	for _, tc := range []struct {
		path   string
		places int
		want   string
	}{
		{"/lock", 0, "at least one place"},
		{"/lock", -1, "at least one place"},
		{"lock", 1, `path "lock"`},
	} {
		if _, err := lock.NewSemaphore(session, tc.path, tc.places); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("NewSemaphore(%q, %d): %v", tc.path, tc.places, err)
		}
	}
	if _, err := lock.NewRWMutex(session, "lock"); err == nil {
		t.Error("NewRWMutex accepted a relative path")
	}
}

// A client that lost its session while it waited for a place queues again.
func TestSemaphoreWaiterExpires(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		holder := w.take(background, w.semaphore(1, 1).Lock)
		c := w.begin(background, w.semaphore(2, 1).Lock)
		w.flow()
		w.cluster.Expire(w.client(2).SessionID())
		w.pass(2 * time.Second)
		w.wantWaiting(c)
		w.unlock(holder)
		w.wantGranted(c)
		if errors.Is(c.lease.Err(), lock.ErrLost) {
			t.Error("lost at once")
		}
	})
}

// On a Session, a waiter for one of several places watches its own node too: it queues again if
// that is deleted, and is otherwise granted a place without a request.
func TestSemaphoreWaiterOnASession(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		inWorld(t, 3, func(w *world) {
			first := w.take(background, w.semaphore(1, 2).Lock)
			second := w.take(background, w.semaphore(2, 2).Lock)
			c := w.begin(background, must(lock.NewSemaphore(w.session(3), "/lock", 2)).Lock)
			w.watch()
			w.wantWaiting(c)
			nodes := 1
			if deleted {
				nodes = 2
				for _, name := range w.nodes() {
					if path := "/lock/" + name; path != first.Node() && path != second.Node() {
						w.do(func() error { return w.client(1).Delete(path, -1) })
					}
				}
				w.watch()
			}
			if made := w.requests(3, "create"); made != nodes {
				t.Errorf("created %d nodes, want %d", made, nodes)
			}
			before := w.requests(3, "")
			w.unlock(second)
			w.wantGranted(c)
			if sent := w.requests(3, "") - before; sent != 0 {
				t.Errorf("%d requests for the grant, want none", sent)
			}
		})
	}
}
