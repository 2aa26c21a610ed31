package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// A slowTrip is a client whose every request takes a round trip of a length that can change.
type slowTrip struct {
	*model.Conn
	trip *time.Duration
}

func (s slowTrip) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	defer func() { time.Sleep(*s.trip) }()
	return s.Conn.Create(path, data, flags, acl)
}

func (s slowTrip) Exists(path string) (bool, *zk.Stat, error) {
	defer func() { time.Sleep(*s.trip) }()
	return s.Conn.Exists(path)
}

func (s slowTrip) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	defer func() { time.Sleep(*s.trip) }()
	return s.Conn.GetW(path)
}

func (s slowTrip) Children(path string) ([]string, *zk.Stat, error) {
	defer func() { time.Sleep(*s.trip) }()
	return s.Conn.Children(path)
}

func (s slowTrip) Sync(path string) (string, error) {
	defer func() { time.Sleep(*s.trip) }()
	return s.Conn.Sync(path)
}

func (s slowTrip) Multi(operations ...any) ([]zk.MultiResponse, error) {
	defer func() { time.Sleep(*s.trip) }()
	return s.Conn.Multi(operations...)
}

func (s slowTrip) Delete(path string, version int32) error {
	defer func() { time.Sleep(*s.trip) }()
	return s.Conn.Delete(path, version)
}

// passFinely lets time pass in steps that are shorter than a round trip.
func (w *world) passFinely(duration time.Duration) {
	for until := time.Now().Add(duration); time.Now().Before(until); {
		w.flow()
		w.advance(2 * time.Millisecond)
	}
	w.flow()
}

// A Session stays connected while a round trip takes at most 1/24 of the session timeout.
func TestSlowSession(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		conn := slowTrip{w.client(1), new(sessionTimeout / 24)}
		l := w.listen(lock.NewSession(conn, conn.Events(), sessionTimeout))
		w.passFinely(5 * sessionTimeout)
		l.want(t, lock.SessionSuspended, lock.SessionConnected)
	})
}

// A lock is granted and held, whenever another contender releases it, while a round trip takes at
// most 1/50 of the session timeout.
func TestSlowLink(t *testing.T) {
	for _, onSession := range []bool{false, true} {
		for percent := range 10 {
			inWorld(t, 2, func(w *world) {
				conn := slowTrip{w.client(1), new(sessionTimeout / 50)}
				var client lock.Client = conn
				if onSession {
					client = lock.NewSession(conn, conn.Events(), sessionTimeout)
				}
				holder := w.acquire(w.mutex(2))
				c := w.start(background, must(lock.NewMutex(client, "/lock", sessionTimeout)))
				w.passFinely(sessionTimeout * time.Duration(2*percent) / 100)
				w.unlock(holder)
				w.passFinely(2 * sessionTimeout)
				w.wantGranted(c)
				if err := c.lease.Err(); err != nil {
					t.Errorf("released after %d %%, session %v: %v", 2*percent, onSession, err)
				}
			})
		}
	}
}

// If two round trips take longer than a lease lasts, a contender does not queue. An observer learns
// why, and ZooKeeper is not flooded.
func TestTooSlowLink(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		seen := new(witness)
		m := must(lock.NewMutex(slowTrip{w.client(1), new(sessionTimeout / 5)}, "/lock", sessionTimeout,
			lock.WithObserver(seen)))
		c := w.start(background, m)
		w.passFinely(5 * sessionTimeout)
		if c.returned() {
			t.Fatalf("the lock was granted, error %v", c.err)
		}
		if n := w.requests(1, "create"); n != 0 {
			t.Errorf("%d creates, want none", n)
		}
		retried := 0
		for _, e := range seen.events {
			if e.Kind != lock.Retried {
				continue
			}
			if retried++; !strings.Contains(e.Err.Error(), "takes too long to answer") {
				t.Error(e.Err)
			}
		}
		if retried == 0 {
			t.Error("the observer has not heard of a retry")
		}
		if sent := w.requests(1, ""); sent > 30 {
			t.Errorf("%d requests in five session timeouts", sent)
		}
	})
}

// A contender whose link is too slow waits outside the queue, in which others proceed, until the
// link is faster or its context ends.
func TestTooSlowToQueue(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		trip := sessionTimeout / 5
		m := must(lock.NewMutex(slowTrip{w.client(1), &trip}, "/lock", sessionTimeout))
		ctx, cancel := context.WithTimeout(background, 2*sessionTimeout)
		defer cancel()
		short, long := w.start(ctx, m), w.start(background, m)
		var done error
		go func() {
			done = m.Do(ctx, func(context.Context) error {
				t.Error("the function was called")
				return nil
			})
		}()
		w.passFinely(sessionTimeout)
		w.wantNodes(0)
		w.unlock(w.acquire(w.mutex(2)))
		w.passFinely(sessionTimeout + time.Second)
		w.wantError(short, context.DeadlineExceeded)
		if done != context.DeadlineExceeded {
			t.Errorf("Do: %v, want the cause of its context alone", done)
		}
		w.wantWaiting(long)
		w.wantNodes(0)
		trip = 0
		w.passFinely(sessionTimeout)
		w.wantGranted(long)
	})
}

// A try on a link that is too slow ends at once, and sends no create.
func TestTryOnSlowLink(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		trip := sessionTimeout / 5
		m := must(lock.NewMutex(slowTrip{w.client(1), &trip}, "/lock", sessionTimeout))
		try := w.begin(background, m.TryLock)
		forAll := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return m.TryLockFor(ctx, 2*sessionTimeout)
		})
		w.passFinely(trip + 10*time.Millisecond)
		w.wantError(try, lock.ErrUnavailable)
		if errors.Is(try.err, context.DeadlineExceeded) {
			t.Errorf("TryLock: %v, without a deadline", try.err)
		}
		w.wantWaiting(forAll)
		w.passFinely(2 * sessionTimeout)
		w.wantError(forAll, lock.ErrUnavailable)
		if !errors.Is(forAll.err, context.DeadlineExceeded) {
			t.Errorf("TryLockFor: %v, want the deadline too", forAll.err)
		}
		if n := w.requests(1, "create"); n != 0 {
			t.Errorf("%d creates, want none", n)
		}
		trip = 0
		w.unlock(w.take(background, m.TryLock))
	})
}

// A contender whose link has become too slow to hold the lock forfeits its place at the head of the
// queue, so that those behind it proceed. It queues again when the link is fast enough.
func TestSlowHeadForfeits(t *testing.T) {
	for name, take := range map[string]func(w *world, client lock.Client, o lock.Observer) (
		lock.Locker, error,
	){
		"mutex": func(w *world, client lock.Client, o lock.Observer) (lock.Locker, error) {
			return lock.NewMutex(client, "/lock", sessionTimeout, lock.WithObserver(o))
		},
		"session": func(w *world, client lock.Client, o lock.Observer) (lock.Locker, error) {
			return lock.NewSession(client, w.client(1).Events(), sessionTimeout).
				NewMutex("/lock", lock.WithObserver(o))
		},
		"reader": func(w *world, client lock.Client, o lock.Observer) (lock.Locker, error) {
			rw, err := lock.NewRWMutex(client, "/lock", sessionTimeout, lock.WithObserver(o))
			return rw.RLocker(), err
		},
		"place": func(w *world, client lock.Client, o lock.Observer) (lock.Locker, error) {
			return lock.NewSemaphore(client, "/lock", 1, sessionTimeout, lock.WithObserver(o))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				trip, seen := new(time.Duration(0)), new(witness)
				locker, err := take(w, slowTrip{w.client(1), trip}, seen)
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

// A Multi whose contender forfeits its place takes all of its locks anew: what it held before is lost
// by then.
func TestSlowMultiBeginsAnew(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.create("/other", 0, 0)
		trip := new(time.Duration(0))
		on := func(client lock.Client, path string) *lock.Mutex {
			return must(lock.NewMutex(client, path, sessionTimeout))
		}
		slow := slowTrip{w.client(1), trip}
		both := must(lock.NewMulti(on(slow, "/lock"), on(slow, "/other")))
		holder := w.acquire(on(w.client(2), "/other"))
		var taken *lock.MultiLease
		over := make(chan struct{})
		go func() { taken, _ = both.Lock(background); close(over) }()
		w.passFinely(time.Second)
		first := w.start(background, w.mutex(3))
		second := w.start(background, on(w.client(3), "/other"))
		w.passFinely(time.Second)
		*trip = sessionTimeout / 5
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
