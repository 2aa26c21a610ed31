package lock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

// A GUID is reused only if no request that names it can be in flight.
func TestGUIDReuse(t *testing.T) {
	for _, tc := range []struct {
		name  string
		again bool
		test  func(w *world, m *lock.Mutex)
	}{
		{"nothing went wrong", true, func(w *world, m *lock.Mutex) { w.unlock(w.acquire(m)) }},
		{"it was cancelled", true, func(w *world, m *lock.Mutex) {
			holder := w.acquire(w.mutex(2))
			ctx, cancel := context.WithCancel(background)
			c := w.start(ctx, m)
			w.flow()
			cancel()
			w.wantError(c, context.Canceled)
			w.unlock(holder)
		}},
		{"a write was carried out", true, func(w *world, m *lock.Mutex) {
			lease := w.acquire(m)
			w.do(func() error { _, err := lease.Write(background); return err })
			w.unlock(lease)
		}},
		{"the reply to the create was lost", false, func(w *world, m *lock.Mutex) {
			c := w.start(background, m)
			w.serve(1)
			w.loseReply()
			w.wantGranted(c)
			w.unlock(c.lease)
		}},
		{"the reply to the delete was lost", false, func(w *world, m *lock.Mutex) {
			lease := w.acquire(m)
			go lease.Unlock(background)
			w.serve(1)
			w.loseReply()
		}},
		{"the delete was lost", false, func(w *world, m *lock.Mutex) {
			lease := w.acquire(m)
			go lease.Unlock(background)
			w.send()
			w.cluster.Cut(w.client(1).Link)
			w.cluster.Heal(w.client(1).Link)
			w.pass(time.Second)
		}},
		{"its session was lost", false, func(w *world, m *lock.Mutex) {
			holder := w.acquire(w.mutex(2))
			c := w.start(background, m)
			w.flow()
			w.cluster.Expire(w.client(1).SessionID())
			w.pass(2 * time.Second)
			w.unlock(holder)
			w.wantGranted(c)
			w.unlock(c.lease)
		}},
		{"a write is in flight", false, func(w *world, m *lock.Mutex) {
			lease := w.acquire(m)
			go lease.Write(background)
			w.send()
			w.unlock(lease)
		}},
		{"the reply to a write was lost", false, func(w *world, m *lock.Mutex) {
			lease := w.acquire(m)
			go lease.Write(background)
			w.serve(1)
			w.loseReply()
			w.unlock(lease)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				var first string
				m := w.mutex(1, lock.WithObserver(observerFunc(func(e lock.Event) {
					if e.Kind == lock.Queued && first == "" {
						first = e.Node
					}
				})))
				tc.test(w, m)
				w.wantNodes(0)
				lease := w.acquire(m)
				prefix := first[:len(first)-len("0123456789")]
				if again := strings.HasPrefix(lease.Node(), prefix); again != tc.again {
					t.Errorf("%s after %s: the GUID is used again: %v, want %v", lease.Node(),
						first, again,
						tc.again)
				}
				w.unlock(lease)
			})
		})
	}
}

// Two contenders of one process never have the same GUID at the same time.
func TestGUIDUsedOnce(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m := w.mutex(1)
		w.unlock(w.acquire(m))
		first := w.acquire(m)
		second := w.start(background, m)
		w.wantWaiting(second)
		w.wantNodes(2)
		w.unlock(first)
		w.wantGranted(second)
		w.unlock(second.lease)
	})
}
