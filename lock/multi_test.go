package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

func (w *world) at(client int, path string) *lock.Mutex {
	return must(lock.NewMutex(w.session(client), path))
}

// takeAll calls Lock of a multi and returns its leases once it has returned.
func (w *world) takeAll(ctx context.Context, m *lock.Multi) (*lock.MultiLease, error) {
	w.t.Helper()
	var leases *lock.MultiLease
	err := w.do(func() (err error) { leases, err = m.Lock(ctx); return err })
	return leases, err
}

func TestMulti(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		m := must(lock.NewMulti(w.at(1, "/c"), w.at(1, "/a"), w.at(1, "/b")))
		leases, err := w.takeAll(background, m)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, l := range leases.Leases() {
			paths = append(paths, l.Node()[:2])
		}
		if !slices.Equal(paths, []string{"/a", "/b", "/c"}) {
			t.Errorf("taken in the order %v", paths)
		}
		rivals := []*call{
			w.start(background, w.at(2, "/a")), w.start(background, w.at(2, "/b")),
			w.start(background, w.at(2, "/c")),
		}
		w.wantWaiting(rivals...)
		for range 2 {
			if err := w.do(func() error { return leases.Unlock(background) }); err != nil ||
				leases.Err() != nil {
				t.Errorf("Unlock: %v, then %v", err, leases.Err())
			}
		}
		for _, c := range rivals {
			w.wantGranted(c)
		}
	})
}

// If one lock cannot be taken, none is kept. The deadline covers the whole call.
func TestMultiIsAllOrNone(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		held := w.take(background, w.at(2, "/b").Lock)
		m := must(lock.NewMulti(w.at(1, "/a"), w.at(1, "/b"), w.at(1, "/c")))
		err := w.do(func() error { _, err := m.TryLock(background); return err })
		if !errors.Is(err, lock.ErrNotAcquired) || !strings.Contains(err.Error(), "/b") {
			t.Errorf("TryLock: %v, want ErrNotAcquired of /b", err)
		}
		w.unlock(w.take(background, w.at(2, "/a").TryLock))
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		c := w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) {
			_,
				err := m.Lock(ctx)
			return nil, err
		})
		w.pass(1100 * time.Millisecond)
		w.wantError(c, context.DeadlineExceeded)
		w.unlock(w.take(background, w.at(2, "/a").TryLock))
		w.unlock(held)
		w.unlock(w.take(background, w.at(2, "/b").TryLock))
	})
}

// TryLockFor waits for all of the locks together. It keeps none when the wait is over, and tells a
// lock that is held from a service that does not answer.
func TestMultiTryLockFor(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		m := must(lock.NewMulti(w.at(1, "/a"), w.at(1, "/b")))
		try := func(wait time.Duration) *call {
			return w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
				leases, err := m.TryLockFor(ctx, wait)
				if err != nil {
					return nil, err
				}
				return nil, leases.Unlock(background)
			})
		}
		first, second := w.acquire(w.at(2, "/a")), w.acquire(w.at(2, "/b"))
		w.wantError(try(0), lock.ErrNotAcquired)
		c := try(2 * time.Second)
		w.pass(1500 * time.Millisecond)
		w.unlock(first)
		w.wantWaiting(c)
		w.pass(600 * time.Millisecond) // since the call, not since /a
		w.wantError(c, lock.ErrNotAcquired)
		if !strings.HasPrefix(c.err.Error(), "/b: ") {
			t.Errorf("TryLockFor: %v, want the error of /b", c.err)
		}
		w.unlock(w.take(background, w.at(2, "/a").TryLock))

		c = try(2 * time.Second)
		w.pass(time.Second)
		w.unlock(second)
		w.wantGranted(c)

		first = w.acquire(w.at(2, "/a"))
		c = try(2 * time.Second)
		w.wantWaiting(c)
		go first.Unlock(background)
		w.answer(2)
		w.answer(1) // It holds /a now, for which it has waited.
		w.cluster.Isolate(w.client(1).Link)
		w.pass(2100 * time.Millisecond)
		w.wantError(c, context.DeadlineExceeded)
		if !errors.Is(c.err, lock.ErrUnavailable) {
			t.Errorf("TryLockFor: %v, although nobody holds /b", c.err)
		}
	})
}

// The same lock may be included twice, also for reading and writing, with any owner.
func TestMultiReenters(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		rw := must(lock.NewRWMutex(w.session(1), "/a"))
		m := must(lock.NewMulti(rw.RLocker(), w.at(1, "/b"), rw, w.at(1, "/b")))
		owner := lock.WithOwner(background)
		outer := w.take(owner, w.at(1, "/b").Lock)
		for range 2 {
			leases, err := w.takeAll(owner, m)
			if err != nil || len(leases.Leases()) != 4 {
				t.Fatal(leases, err)
			}
			if err := w.do(func() error { return leases.Unlock(background) }); err != nil {
				t.Fatal(err)
			}
			w.wantError(w.begin(background, w.at(2, "/b").TryLock), lock.ErrNotAcquired)
			w.unlock(w.take(background, w.at(2, "/a").TryLock))
		}
		w.unlock(outer)
		if _, err := w.takeAll(background, m); err != nil {
			t.Error(err)
		}
	})
}

// The first loss ends all leases, and Unlock names it.
func TestMultiLoses(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		m := must(lock.NewMulti(w.at(1, "/a"), w.at(1, "/b")))
		leases, err := w.takeAll(background, m)
		if err != nil {
			t.Fatal(err)
		}
		ctx := leases.Context(background)
		go w.client(2).Delete(leases.Leases()[1].Node(), -1)
		w.flow()
		<-leases.Done()
		<-ctx.Done()
		if err := leases.Err(); !errors.Is(err, lock.ErrLost) ||
			!errors.Is(context.Cause(ctx), lock.ErrLost) {
			t.Errorf("Err %v, context %v, want ErrLost", err, context.Cause(ctx))
		}
		err = w.do(func() error { return leases.Unlock(background) })
		if !errors.Is(err, lock.ErrLost) || !strings.HasPrefix(err.Error(), "/b: ") {
			t.Errorf("Unlock: %v, want ErrLost of /b", err)
		}
		w.unlock(w.take(background, w.at(2, "/a").TryLock))
	})
}

// An Unlock whose context has ended does not wait for another Unlock.
func TestMultiUnlockTwice(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		leases, err := w.takeAll(background, must(lock.NewMulti(w.at(1, "/a"), w.at(1, "/b"))))
		if err != nil {
			t.Fatal(err)
		}
		go leases.Unlock(background)
		w.send()
		var second error
		go func() { second = leases.Unlock(canceled) }()
		w.send()
		if !errors.Is(second, context.Canceled) {
			t.Errorf("Unlock: %v, want %v", second, context.Canceled)
		}
		if err := w.do(func() error { return leases.Unlock(background) }); err != nil {
			t.Error(err)
		}
	})
}

// Two multis with locks in common do not deadlock, in whatever order the locks were given.
func TestMultisDoNotDeadlock(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		first := must(lock.NewMulti(w.at(1, "/a"), w.at(1, "/b")))
		second := must(lock.NewMulti(w.at(2, "/b"), w.at(2, "/a")))
		var calls []*call
		for _, m := range []*lock.Multi{first, second} {
			calls = append(calls, w.begin(background, func(ctx context.Context) (*lock.Lease,
				error,
			) {
				leases, err := m.Lock(ctx)
				if err != nil {
					return nil, err
				}
				return nil, leases.Unlock(ctx)
			}))
		}
		w.flow()
		for _, c := range calls {
			w.wantGranted(c)
		}
	})
}

func TestNewMultiRefuses(t *testing.T) {
	if _, err := lock.NewMulti(); err == nil {
		t.Error("a multi without locks was made")
	}
	session := lock.NewSession(&identified{}, nil, time.Second)
	s := must(lock.NewSemaphore(session, "/s", 2))
	if _, err := lock.NewMulti(s, must(lock.NewMutex(session, "/m")), s); err == nil ||
		!strings.Contains(err.Error(), "/s") {
		t.Errorf("two places of a semaphore: %v", err)
	}
	if _, err := lock.NewMulti(s, must(lock.NewMutex(session, "/m"))); err != nil {
		t.Errorf("a semaphore and a mutex: %v", err)
	}
}
