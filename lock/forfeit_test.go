package lock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// A contender whose link has become too slow to hold the lock forfeits its place at the head of the
// queue, so that those behind it proceed. It queues again when the link is fast enough.
func TestSlowHeadForfeits(t *testing.T) {
	for name, take := range map[string]func(*lock.Session, lock.Observer) (lock.Locker, error){
		"mutex": func(s *lock.Session, o lock.Observer) (lock.Locker, error) {
			return lock.NewMutex(s, "/lock", lock.WithObserver(o))
		},
		"reader": func(s *lock.Session, o lock.Observer) (lock.Locker, error) {
			rw, err := lock.NewRWMutex(s, "/lock", lock.WithObserver(o))
			return rw.RLocker(), err
		},
		"place": func(s *lock.Session, o lock.Observer) (lock.Locker, error) {
			return lock.NewSemaphore(s, "/lock", 1, lock.WithObserver(o))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				trip, seen := new(time.Duration(0)), new(witness)
				locker, err := take(w.sessionOf(1, slowTrip{w.client(1), trip}), seen)
				if err != nil {
					t.Fatal(err)
				}
				holder := w.acquire(w.mutex(2))
				slow := w.begin(background, locker.Lock)
				w.passFinely(time.Second)
				behind := w.start(background, w.mutex(3))
				w.passFinely(time.Second)
				w.wantNodes(3)
				*trip = sessionTimeout / 5
				w.unlock(holder)
				w.passFinely(sessionTimeout / 2)
				w.wantWaiting(behind)
				w.passFinely(2 * sessionTimeout)
				w.wantGranted(behind)
				w.wantWaiting(slow)
				w.wantNodes(1)
				if kinds := seen.kinds(); !slices.Contains(kinds, lock.Forfeited) ||
					slices.Contains(kinds, lock.Removed) {
					t.Errorf("the observer has seen %v", kinds)
				}
				w.unlock(behind.lease)
				*trip = 0
				w.passFinely(sessionTimeout)
				w.wantGranted(slow)
				if err := slow.lease.Err(); err != nil {
					t.Error(err)
				}
				w.unlock(slow.lease)
				w.wantNodes(0)
			})
		})
	}
}

// A Multi whose contender forfeits its place takes all of its locks anew: what it held before is
// lost by then.
func TestSlowMultiBeginsAnew(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.create("/other", 0, 0)
		trip := new(time.Duration(0))
		slow := w.sessionOf(1, slowTrip{w.client(1), trip})
		both := must(lock.NewMulti(must(lock.NewMutex(slow, "/lock")),
			must(lock.NewMutex(slow, "/other"))))
		holder := w.acquire(must(lock.NewMutex(w.session(2), "/other")))
		var taken *lock.MultiLease
		over := make(chan struct{})
		go func() { taken, _ = both.Lock(background); close(over) }()
		w.passFinely(time.Second)
		first := w.start(background, w.mutex(3))
		second := w.start(background, must(lock.NewMutex(w.session(3), "/other")))
		w.passFinely(time.Second)
		*trip = sessionTimeout / 5
		w.passFinely(sessionTimeout / 3)
		w.unlock(holder)
		w.passFinely(3 * sessionTimeout)
		w.wantGranted(first)
		w.wantGranted(second)
		w.unlock(first.lease)
		w.unlock(second.lease)
		*trip = 0
		w.passFinely(2 * sessionTimeout)
		<-over
		if err := taken.Err(); err != nil {
			t.Error(err)
		}
	})
}

// A party that is too slow for a round that has begun has lost its part in it.
func TestSlowPartyMissesRound(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		trip := new(time.Duration(0))
		b := must(lock.NewDoubleBarrier(w.sessionOf(1, slowTrip{w.client(1), trip}), "/lock", 2))
		slow := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			_, err := b.Enter(ctx)
			return nil, err
		})
		w.passFinely(time.Second)
		*trip = sessionTimeout / 5
		fast := w.enter(background, 2, 2)
		w.passFinely(4 * sessionTimeout)
		w.wantGranted(fast.call)
		w.wantError(slow, lock.ErrLost)
	})
}

// A try learns nothing of others at the head of the queue.
func TestTryForOnSlowHead(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		trip := new(time.Duration(0))
		m := must(lock.NewMutex(w.sessionOf(1, slowTrip{w.client(1), trip}), "/lock"))
		holder := w.acquire(w.mutex(2))
		try := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return m.TryLockFor(ctx, 5*sessionTimeout)
		})
		w.passFinely(time.Second)
		*trip = sessionTimeout / 5
		w.unlock(holder)
		w.passFinely(5 * sessionTimeout)
		w.wantError(try, lock.ErrUnavailable)
		w.passFinely(sessionTimeout)
		w.wantNodes(0)
	})
}

// A list of causes cannot be compared by the operator ==.
type causes []error

func (causes) Error() string { return "several" }

// A try that is cancelled returns the cause, of whatever type that is.
func TestTryForCause(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		trip := new(sessionTimeout / 5)
		m := must(lock.NewMutex(w.sessionOf(1, slowTrip{w.client(1), trip}), "/lock"))
		ctx, cancel := context.WithCancelCause(background)
		try := w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) {
			return m.TryLockFor(ctx, sessionTimeout)
		})
		w.passFinely(100 * time.Millisecond)
		cancel(causes{context.Canceled})
		w.passFinely(100 * time.Millisecond)
		if _, ok := try.err.(causes); !ok {
			t.Errorf("TryLockFor: %v", try.err)
		}
	})
}

// A client that is closed while its contender forfeits its place ends the attempt.
func TestClosedWhileForfeiting(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		trip, seen := new(time.Duration(0)), new(witness)
		session := w.sessionOf(1, slowTrip{w.client(1), trip})
		m := must(lock.NewMutex(session, "/lock", lock.WithObserver(seen)))
		holder := w.acquire(w.mutex(2))
		slow := w.start(background, m)
		w.passFinely(time.Second)
		*trip = sessionTimeout / 5
		w.unlock(holder)
		for range 1000 {
			if w.requests(1, "delete") > 0 {
				break
			}
			w.passFinely(20 * time.Millisecond)
		}
		session.Close()
		w.passFinely(sessionTimeout)
		w.wantError(slow, zk.ErrClosing)
		abandoned := slices.DeleteFunc(seen.kinds(), func(k lock.EventKind) bool {
			return k != lock.Abandoned
		})
		if len(abandoned) > 1 {
			t.Errorf("the observer has seen %v", seen.kinds())
		}
	})
}
