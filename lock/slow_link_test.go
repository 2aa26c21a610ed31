package lock_test

import (
	"context"
	"errors"
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

const percent = sessionTimeout / 100

// slowTrips are lengths of round trips at which a lock is held and a Session stays connected.
var slowTrips = []time.Duration{
	2 * percent, 4 * percent, 5 * percent, 7 * percent, 9 * percent, 10 * percent,
}

// A Session stays connected on a slow link.
func TestSlowSession(t *testing.T) {
	for _, trip := range slowTrips {
		inWorld(t, 1, func(w *world) {
			conn := slowTrip{w.client(1), &trip}
			l := w.listen(w.sessionOf(1, conn))
			w.passFinely(5 * sessionTimeout)
			l.want(t, lock.SessionSuspended, lock.SessionConnected)
		})
	}
}

// A contender on a slow link that locks again after each release never loses the lock. A release
// and the next grant take at most five round trips.
func TestEagerOnSlowLink(t *testing.T) {
	for _, trip := range slowTrips {
		inWorld(t, 1, func(w *world) {
			m := must(lock.NewMutex(w.sessionOf(1, slowTrip{w.client(1), &trip}), "/lock"))
			const holds = 10
			var ends []error
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range holds {
					l, err := m.Lock(background)
					if err == nil {
						time.Sleep(sessionTimeout)
						err = l.Err()
						l.Unlock(background)
					}
					ends = append(ends, err)
				}
			}()
			w.passFinely(holds * (sessionTimeout + 5*trip))
			select {
			case <-done:
			default:
				t.Errorf("trips of %v: only %d holds", trip, len(ends))
			}
			for _, err := range ends {
				if err != nil {
					t.Errorf("trips of %v: %v", trip, err)
				}
			}
		})
	}
}

// A hastyMulti is a slow client, except that one of its multis takes no time.
type hastyMulti struct {
	slowTrip
	left *int // multis until that one
}

func (h hastyMulti) Multi(operations ...any) ([]zk.MultiResponse, error) {
	if *h.left--; *h.left == 0 {
		return h.Conn.Multi(operations...)
	}
	return h.slowTrip.Multi(operations...)
}

// A holder on a slow link keeps the lock although a round trip is fast once.
func TestUnsteadyLink(t *testing.T) {
	for nth := range 6 {
		inWorld(t, 1, func(w *world) {
			conn := hastyMulti{slowTrip{w.client(1), new(9 * percent)}, new(nth)}
			m := must(lock.NewMutex(w.sessionOf(1, conn), "/lock"))
			w.passFinely(sessionTimeout) // The connection is no longer young.
			c := w.start(background, m)
			w.passFinely(4 * sessionTimeout)
			w.wantGranted(c)
			if err := c.lease.Err(); err != nil {
				t.Errorf("multi %d is fast: %v", nth, err)
			}
		})
	}
}

// A holder on a slow link learns by the next write of the chain that its node was deleted, also if
// the directory was deleted too.
func TestDeletedOnSlowLink(t *testing.T) {
	for _, trip := range slowTrips {
		for n, held := range []time.Duration{20 * percent, 25 * percent, 30 * percent, 50 * percent} {
			withDirectory := n%2 == 0
			inWorld(t, 2, func(w *world) {
				m := must(lock.NewMutex(w.sessionOf(1, slowTrip{w.client(1), &trip}), "/lock"))
				w.passFinely(sessionTimeout) // The connection is no longer young.
				c := w.start(background, m)
				w.passFinely(5 * trip)
				w.wantGranted(c)
				w.passFinely(held)
				go w.client(2).Delete("/lock/"+w.nodes()[0], -1)
				w.flow()
				if withDirectory {
					go w.client(2).Delete("/lock", -1)
					w.flow()
				}
				w.passFinely(2*trip + sessionTimeout/18)
				if err := c.lease.Err(); !errors.Is(err, lock.ErrLost) ||
					strings.Contains(err.Error(), "could not be reached") {
					t.Errorf("trips of %v, held for %v: %v", trip, held, err)
				}
			})
		}
	}
}

// A lock is granted and held on a slow link, whenever another contender releases it.
func TestSlowLink(t *testing.T) {
	for n := range 10 * len(slowTrips) {
		waited, trip := time.Duration(n%10)*3*percent, slowTrips[n/10]
		inWorld(t, 2, func(w *world) {
			session := w.sessionOf(1, slowTrip{w.client(1), &trip})
			holder := w.acquire(w.mutex(2))
			c := w.start(background, must(lock.NewMutex(session, "/lock")))
			w.passFinely(waited)
			w.unlock(holder)
			w.passFinely(2 * sessionTimeout)
			w.wantGranted(c)
			if err := c.lease.Err(); err != nil {
				t.Errorf("trips of %v, released after %v: %v", trip, waited, err)
			}
		})
	}
}

// If a round trip takes more than a ninth of the timeout, a contender does not queue. An observer
// learns why, and ZooKeeper is not flooded.
func TestTooSlowLink(t *testing.T) {
	for _, test := range []struct {
		trip     time.Duration
		requests int // at most, in five session timeouts
	}{{12 * percent, 40}, {20 * percent, 30}} {
		inWorld(t, 1, func(w *world) {
			seen := new(witness)
			session := w.sessionOf(1, slowTrip{w.client(1), &test.trip})
			m := must(lock.NewMutex(session, "/lock", lock.WithObserver(seen)))
			c := w.start(background, m)
			w.passFinely(5 * sessionTimeout)
			if c.returned() {
				t.Fatalf("trips of %v: the lock was granted, error %v", test.trip, c.err)
			}
			if n := w.requests(1, "create"); n != 0 {
				t.Errorf("trips of %v: %d creates, want none", test.trip, n)
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
			if sent := w.requests(1, ""); sent > test.requests {
				t.Errorf("trips of %v: %d requests in five session timeouts", test.trip, sent)
			}
		})
	}
}

// A contender whose link is too slow waits outside the queue, in which others proceed, until the
// link is faster or its context ends.
func TestTooSlowToQueue(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		trip := sessionTimeout / 5
		m := must(lock.NewMutex(w.sessionOf(1, slowTrip{w.client(1), &trip}), "/lock"))
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
		m := must(lock.NewMutex(w.sessionOf(1, slowTrip{w.client(1), &trip}), "/lock"))
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

// TryLockFor says that the lock is not free only if another has it at the end of the wait.
func TestTryLockForOnYoungConnection(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		m := w.mutex(2)
		try := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return m.TryLockFor(ctx, sessionTimeout)
		})
		w.flow()
		w.cluster.Cut(w.client(2).Link)
		w.unlock(lease)
		w.cluster.Heal(w.client(2).Link)
		w.reconnectSlowly(2, sessionTimeout/4)
		w.flow()
		w.wantWaiting(try)
		w.pass(sessionTimeout / 2)
		w.wantError(try, lock.ErrUnavailable)
	})
}

// A try on a link that is slow for a young connection does not wait until the connection is older.
func TestTryOnYoungConnection(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		trip := 9 * percent
		m := must(lock.NewMutex(w.sessionOf(1, slowTrip{w.client(1), &trip}), "/lock"))
		w.pass(sessionTimeout)
		w.reconnectSlowly(1, sessionTimeout/10)
		try := w.begin(background, m.TryLock)
		for n := 0; !try.returned(); n++ {
			before := w.requests(1, "")
			w.passFinely(trip + 4*time.Millisecond)
			if !try.returned() && w.requests(1, "") == before {
				t.Fatalf("the try waits after %d requests", before)
			}
			if n > 20 {
				t.Fatal("the try goes on")
			}
		}
		w.wantError(try, lock.ErrUnavailable)
		w.wantNodes(0)
		trip = 0
		w.passFinely(sessionTimeout)
		w.unlock(w.take(background, m.TryLock))
	})
}
