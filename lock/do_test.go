package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/lock"
)

var errWork = errors.New("work failed")

// Do holds the lock while the function runs, passes its lease, and releases it.
func TestDo(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m := w.mutex(1)
		for _, want := range []error{nil, errWork} {
			var token int64
			err := w.do(func() error {
				return m.Do(background, func(ctx context.Context) error {
					w.wantNodes(1)
					token = lock.LeaseFrom(ctx).Token()
					return want
				})
			})
			if err != want && !errors.Is(err, want) || token == 0 {
				t.Errorf("error %v, want %v; token %d", err, want, token)
			}
			w.wantNodes(0)
		}
		if lock.LeaseFrom(background) != nil {
			t.Error("a context without a lease has one")
		}
	})
}

// Every kind of lock runs the function while it is held.
func TestDoOfEveryLock(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		s := w.session(1)
		rw, err := lock.NewRWMutex(s, "/lock")
		semaphore, err2 := lock.NewSemaphore(s, "/lock", 2)
		mutex, err3 := lock.NewMutex(s, "/lock")
		multi, err4 := lock.NewMulti(mutex)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		for name, do := range map[string]func(context.Context, func(context.Context) error) error{
			"writer": rw.Do, "reader": rw.RLocker().Do, "semaphore": semaphore.Do,
			"mutex": mutex.Do, "multi": multi.Do,
		} {
			held := 0
			err := w.do(func() error {
				return do(background, func(context.Context) error {
					held = len(w.nodes())
					return errWork
				})
			})
			if held != 1 || !errors.Is(err, errWork) {
				t.Errorf("%s: %d nodes while it is held, error %v", name, held, err)
			}
			w.wantNodes(0)
		}
	})
}

// If the lock is lost first, the function's context ends, and the loss is the first error.
func TestDoReportsLossFirst(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		var cause error
		c := make(chan error, 1)
		go func() {
			c <- w.mutex(1).Do(background, func(ctx context.Context) error {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return errWork
			})
		}()
		w.flow()
		w.watch()
		go w.client(2).Delete("/lock/"+w.nodes()[0], -1)
		w.pass(time.Second)
		select {
		case err := <-c:
			if !errors.Is(err, lock.ErrLost) || !errors.Is(err, errWork) ||
				!strings.HasPrefix(err.Error(), lock.ErrLost.Error()) {
				t.Errorf("Do: %q, want ErrLost first and then the work's error", err)
			}
		default:
			t.Fatal("Do has not returned")
		}
		if !errors.Is(cause, lock.ErrLost) {
			t.Errorf("the function's context ended with %v, want ErrLost", cause)
		}
	})
}

// If the lock is lost after the function has failed, that failure is the first error.
func TestDoReportsWorkFirst(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		c, expired := make(chan error, 1), make(chan struct{})
		go func() {
			c <- w.mutex(1).Do(background, func(context.Context) error {
				<-expired
				return errWork
			})
		}()
		w.flow()
		w.cluster.Expire(w.client(1).SessionID())
		close(expired)
		w.pass(2 * sessionTimeout)
		select {
		case err := <-c:
			if !errors.Is(err, lock.ErrLost) || !strings.HasPrefix(err.Error(), errWork.Error()) {
				t.Errorf("Do: %q, want the work's error first and then ErrLost", err)
			}
		default:
			t.Fatal("Do has not returned")
		}
	})
}

// After the end of the context Do does not wait for ZooKeeper.
func TestDoWithoutConnection(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		c, isolated := make(chan error, 1), make(chan struct{})
		go func() {
			c <- w.mutex(1).Do(ctx, func(context.Context) error {
				<-isolated
				cancel()
				return errWork
			})
		}()
		w.flow()
		w.cluster.Isolate(w.client(1).Link)
		close(isolated)
		w.flow()
		select {
		case err := <-c:
			if err != errWork {
				t.Errorf("Do: %v, want the work's error alone", err)
			}
		default:
			t.Fatal("Do has not returned")
		}
	})
}

// A function that panics does not keep the lock.
func TestDoPanics(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		var recovered any
		go func() {
			defer func() { recovered = recover() }()
			w.mutex(1).Do(background, func(context.Context) error { panic("work") })
		}()
		w.flow()
		if recovered != "work" {
			t.Errorf("recovered %v", recovered)
		}
		w.wantNodes(0)
	})
}

// If the lock cannot be taken, the function is not called.
func TestDoWithoutLock(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		ctx, cancel := context.WithCancelCause(background)
		cancel(errWork)
		err := w.mutex(1).Do(ctx, func(context.Context) error {
			t.Error("the function was called")
			return nil
		})
		if err != errWork {
			t.Errorf("Do: %v, want the cause of the context", err)
		}
	})
}

// TryLockFor waits for as long as it is told to.
func TestTryLockFor(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		m := w.mutex(2)
		try := func(wait time.Duration) *call {
			return w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
				return m.TryLockFor(ctx, wait)
			})
		}
		at0 := try(0)
		w.wantError(at0, lock.ErrNotAcquired)
		short, long := try(time.Second), try(3*time.Second)
		w.pass(900 * time.Millisecond)
		w.wantWaiting(short, long)
		w.pass(200 * time.Millisecond)
		w.wantError(short, lock.ErrNotAcquired)
		w.unlock(lease)
		w.flow()
		w.wantGranted(long)
		w.pass(5 * time.Second)
		if err := long.lease.Err(); err != nil {
			t.Errorf("the lease ended with the wait: %v", err)
		}
	})
}

// While ZooKeeper cannot be reached, nobody is known to hold the lock.
func TestTryLockForWithoutConnection(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.flow()
		w.cluster.Isolate(w.client(1).Link)
		c := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return w.mutex(1).TryLockFor(ctx, time.Second)
		})
		ctx, cancel := context.WithTimeoutCause(background, time.Second, errWork)
		defer cancel()
		outer := w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) {
			return w.mutex(1).TryLockFor(ctx, time.Hour)
		})
		w.pass(1100 * time.Millisecond)
		w.wantError(c, context.DeadlineExceeded)
		w.wantError(outer, errWork)
		for _, call := range []*call{c, outer} {
			if !errors.Is(call.err, lock.ErrUnavailable) || errors.Is(call.err, lock.ErrNotAcquired) {
				t.Errorf("TryLockFor: %v, although nobody holds the lock", call.err)
			}
		}
	})
}

// A sync.Locker excludes, and panics where it has no error to return.
func TestSyncLocker(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		first := lock.SyncLocker(background, w.mutex(1))
		second := lock.SyncLocker(background, w.mutex(2))
		w.do(func() error { first.Lock(); return nil })
		granted := false
		go func() { second.Lock(); granted = true }()
		w.flow()
		if granted {
			t.Fatal("both hold the lock")
		}
		w.do(func() error { first.Unlock(); return nil })
		w.flow()
		if !granted {
			t.Fatal("the second waits for ever")
		}
		if err := panicOf(first.Unlock); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("Unlock of a free lock panics with %v", err)
		}
		w.watch()
		go w.client(1).Delete("/lock/"+w.nodes()[0], -1)
		w.pass(time.Second)
		var err error
		go func() { err = panicOf(second.Unlock) }()
		w.pass(time.Second)
		if !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock of a lost lock panics with %v", err)
		}
	})
}

// Several readers share one sync.Locker.
func TestSyncLockerOfReaders(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		rw, err := lock.NewRWMutex(w.session(1), "/lock")
		if err != nil {
			t.Fatal(err)
		}
		readers := lock.SyncLocker(background, rw.RLocker())
		var inside sync.WaitGroup
		for range 2 {
			inside.Go(readers.Lock)
		}
		w.flow()
		w.wantNodes(2)
		for range 2 {
			w.do(func() error { readers.Unlock(); return nil })
		}
		synctest.Wait()
		w.wantNodes(0)
	})
}

// A reader that unlocks takes no live lease from another while a lease is lost.
func TestSyncLockerOfReadersLosesOne(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		rw, err := lock.NewRWMutex(w.session(1), "/lock")
		if err != nil {
			t.Fatal(err)
		}
		readers := lock.SyncLocker(background, rw.RLocker())
		for range 2 {
			w.do(func() error { readers.Lock(); return nil })
		}
		w.watch()
		nodes := w.nodes()
		slices.Sort(nodes)
		go w.client(2).Delete("/lock/"+nodes[0], -1)
		w.pass(time.Second)
		var first, second error
		go func() { first = panicOf(readers.Unlock) }()
		w.pass(time.Second)
		w.wantNodes(1)
		w.do(func() error { second = panicOf(readers.Unlock); return nil })
		if !errors.Is(first, lock.ErrLost) || second != nil {
			t.Errorf("the first Unlock panics with %v, the second with %v", first, second)
		}
		w.wantNodes(0)
	})
}

// panicOf returns the error that a function panics with, or nil.
func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}
