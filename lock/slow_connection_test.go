package lock_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// reconnectSlowly breaks the client's connection. The server hears at once that the client wants
// its session back, and the client has the answer after the delay.
func (w *world) reconnectSlowly(client int, delay time.Duration) {
	w.t.Helper()
	conn := w.client(client)
	w.cluster.ResetConnection(conn.Link)
	for conn.State() != zk.StateConnected {
		if time.Since(w.began) > time.Minute {
			w.t.Fatalf("c%d does not reconnect, it is in state %v", client, conn.State())
		}
		w.advance(50 * time.Millisecond)
		w.send()
	}
	w.cluster.Serve(conn.Link)
	w.advance(delay)
	w.cluster.Deliver(conn.Link)
	if conn.State() != zk.StateHasSession {
		w.t.Fatalf("c%d has no session, it is in state %v", client, conn.State())
	}
}

// lastsDisconnected returns how long a lease lasts if the client is disconnected at the grant.
func (w *world) lastsDisconnected(client int, m *lock.Mutex) time.Duration {
	w.t.Helper()
	lease := w.acquire(m)
	granted := time.Now()
	w.cluster.Cut(w.client(client).Link)
	for lease.Err() == nil {
		w.advance(time.Millisecond)
	}
	return time.Since(granted)
}

// The leader has heard of the client when the connection began, and may hear of it next after its
// first ping. A lease that a Session grants before goes by that.
func TestGrantAfterSlowConnection(t *testing.T) {
	const part = sessionTimeout / 12
	for _, test := range []struct{ delay, age, want time.Duration }{
		{0, 0, 4 * part},
		{0, 7 * part, 7 * part / 2},
		{1 * part, 7 * part, 5 * part / 2},
		{1 * part, 8*part - 50*time.Millisecond, 3*part - 25*time.Millisecond},
		{3 * part / 2, 0, 4 * part},
		{3 * part / 2, 5 * part, 4 * part},
		{3 * part / 2, 7 * part, 2 * part},
		{3 * part / 2, 8*part + 50*time.Millisecond, 4 * part},
	} {
		inWorld(t, 1, func(w *world) {
			m := must(lock.NewMutex(w.session(1), "/lock"))
			w.pass(sessionTimeout)
			w.reconnectSlowly(1, test.delay)
			w.pass(test.age)
			lasted := w.lastsDisconnected(1, m)
			if lasted < test.want || lasted > test.want+2*time.Millisecond {
				t.Errorf("connected in %v, locked after %v: the lease lasts %v, want %v",
					test.delay, test.age, lasted, test.want)
			}
		})
	}
}

// If the connection took so long to open that a lease would expire while it is young, the lock is
// granted after the first pings. Neither a contender nor an active Session floods ZooKeeper before.
func TestNoGrantAfterVerySlowConnection(t *testing.T) {
	for _, delay := range []time.Duration{sessionTimeout / 7, sessionTimeout * 23 / 24} {
		inWorld(t, 1, func(w *world) {
			session, seen := w.session(1), new(witness)
			m := must(lock.NewMutex(session, "/lock", lock.WithObserver(seen)))
			w.pass(sessionTimeout)
			w.reconnectSlowly(1, delay)
			opened := time.Now()
			var standing context.Context
			connected := w.call(background, func(ctx context.Context) (_ *lock.Lease, err error) {
				standing, err = session.Context(ctx)
				return nil, err
			})
			c := w.start(background, m)
			before := w.requests(1, "")
			for !c.returned() || !connected.returned() {
				if time.Since(opened) > sessionTimeout {
					t.Fatal("the lock is not granted, or the session not connected")
				}
				w.flow()
				w.advance(5 * time.Millisecond)
			}
			if after := time.Since(opened); after < sessionTimeout*2/3 {
				t.Errorf("granted %v after a connection that took %v", after, delay)
			}
			if sent := w.requests(1, "") - before; sent > 15 {
				t.Errorf("%d requests", sent)
			}
			if !slices.ContainsFunc(seen.events, func(e lock.Event) bool {
				return e.Kind == lock.Retried && strings.Contains(e.Err.Error(), "too long to open")
			}) {
				t.Error("the observer does not know why the lock was not granted")
			}
			w.pass(2 * sessionTimeout)
			if c.lease.Err() != nil || standing.Err() != nil {
				t.Errorf("lease: %v, session: %v", c.lease.Err(), context.Cause(standing))
			}
		})
	}
}

// A holder keeps its lease over a reconnect, while confirmations do not prolong it fully.
func TestLeaseOverConnections(t *testing.T) {
	for _, delay := range []time.Duration{0, sessionTimeout / 12, sessionTimeout / 6} {
		inEnsemble(t, 3, 1, func(w *world) {
			lease := w.acquire(must(lock.NewMutex(w.session(1), "/lock")))
			w.pass(sessionTimeout)
			w.reconnectSlowly(1, delay)
			for range 300 {
				w.flow()
				w.advance(10 * time.Millisecond)
			}
			if err := lease.Err(); err != nil {
				t.Errorf("connected in %v: %v", delay, err)
			}
		})
	}
}

// A lock that is granted after a connection that took long to open is held, both on a link on which
// pairs keep a lease and on a link that needs a chain.
func TestSlowLinkAfterSlowConnection(t *testing.T) {
	const part = sessionTimeout / 24
	for _, trip := range []time.Duration{
		sessionTimeout / 51, sessionTimeout / 20, sessionTimeout * 9 / 100, sessionTimeout / 11,
	} {
		for _, delay := range []time.Duration{0, part, 2 * part, 3 * part, 4*part + part/2} {
			for age := time.Duration(0); age < sessionTimeout*3/4; age += sessionTimeout / 40 {
				inWorld(t, 1, func(w *world) {
					m := must(lock.NewMutex(w.sessionOf(1, slowTrip{w.client(1), &trip}), "/lock"))
					w.pass(sessionTimeout)
					w.reconnectSlowly(1, delay)
					w.pass(age)
					c := w.start(background, m)
					w.passFinely(2 * sessionTimeout)
					w.wantGranted(c)
					if err := c.lease.Err(); err != nil {
						t.Errorf("trips of %v, connected in %v, locked after %v: %v", trip, delay,
							age, err)
					}
				})
			}
		}
	}
}

// A session that cannot know how long its client's connection took to open grants no lease for two
// thirds of the timeout, as the leader may have heard of the client when the connection began.
func TestNoGrantOnUnknownConnection(t *testing.T) {
	const never = "no HasSession arrives"
	for name, open := range map[string]func(w *world) *lock.Session{
		"NewSession is called late": func(w *world) *lock.Session {
			w.reconnectSlowly(1, sessionTimeout/4)
			return lock.NewSession(w.client(1), w.client(1).Events(), sessionTimeout)
		},
		"its events were read": func(w *world) *lock.Session {
			events := w.client(1).Events()
			w.reconnectSlowly(1, sessionTimeout/4)
			for len(events) > 0 {
				<-events
			}
			return lock.NewSession(w.client(1), events, sessionTimeout)
		},
		"a full channel drops HasSession": func(w *world) *lock.Session {
			events := muffled(w.client(1).Events(),
				func(e zk.Event) bool { return e.State == zk.StateHasSession })
			session := lock.NewSession(connecting(w.client(1)), events, sessionTimeout)
			w.pass(sessionTimeout)
			w.reconnectSlowly(1, sessionTimeout/4)
			return session
		},
		never: func(w *world) *lock.Session {
			events := make(chan zk.Event, 6)
			go func() {
				defer close(events)
				for e := range w.client(1).Events() {
					if e.State != zk.StateHasSession {
						events <- e
					}
				}
			}()
			session := lock.NewSession(connecting(w.client(1)), events, sessionTimeout)
			w.pass(sessionTimeout)
			return session
		},
		"the channel is full": func(w *world) *lock.Session {
			events := make(chan zk.Event, 1)
			w.cancels = append(w.cancels, func() { close(events) })
			session := lock.NewSession(connecting(w.client(1)), events, sessionTimeout)
			w.pass(sessionTimeout)
			w.reconnectSlowly(1, sessionTimeout/4)
			events <- zk.Event{Type: zk.EventNodeCreated, Path: "/other"}
			return session
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				session := open(w)
				opened := time.Now()
				c := w.start(background, must(lock.NewMutex(session, "/lock")))
				for !c.returned() && time.Since(opened) < 2*sessionTimeout {
					w.flow()
					w.advance(20 * time.Millisecond)
				}
				after := time.Since(opened)
				if after < sessionTimeout*2/3 || c.returned() != (name != never) {
					t.Errorf("returned %v after %v", c.returned(), after)
				}
			})
		})
	}
}
