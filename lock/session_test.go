package lock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A listener records the events of a session.
type listener struct{ events []lock.SessionEvent }

func (w *world) listen(s *lock.Session) *listener {
	l := new(listener)
	ctx, cancel := context.WithCancel(background)
	w.cancels = append(w.cancels, cancel)
	go func() {
		for e := range s.Events(ctx) {
			l.events = append(l.events, e)
		}
	}()
	return l
}

// want verifies the recorded statuses and clears them.
func (l *listener) want(t *testing.T, want ...lock.SessionStatus) {
	t.Helper()
	synctest.Wait()
	var got []lock.SessionStatus
	for _, e := range l.events {
		got = append(got, e.Status)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	l.events = nil
}

// All listeners get the same events, whenever they start.
func TestSessionEvents(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		s := w.session(1)
		early := w.listen(s)
		early.want(t, lock.SessionSuspended) // Nobody has called Events yet.
		w.flow()
		early.want(t, lock.SessionConnected)
		late := w.listen(s)
		late.want(t, lock.SessionConnected)
		w.cluster.Cut(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(1500 * time.Millisecond)
		for _, l := range []*listener{early, late} {
			l.want(t, lock.SessionSuspended, lock.SessionConnected)
		}
	})
}

// An expired session is reported, and so is the next one, which the client opens silently.
func TestSessionExpires(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		s := w.session(1)
		l := w.listen(s)
		w.flow()
		old := w.client(1).SessionID()
		w.cluster.Expire(old)
		w.pass(3 * time.Second)
		events := l.events
		l.want(t, lock.SessionSuspended, lock.SessionConnected, lock.SessionSuspended,
			lock.SessionLost,
			lock.SessionConnected)
		if lost := events[3]; lost.ID != old || !errors.Is(lost.Err, lock.ErrSessionLost) {
			t.Errorf("lost: %+v, want session %#x and a reason", lost, old)
		}
		if again := events[4]; again.ID != w.client(1).SessionID() || again.ID == old {
			t.Errorf("connected: %+v", again)
		}
	})
}

// muffled is a client whose event channel is full of other events at the wrong moment.
func muffled(events <-chan zk.Event, dropped func(zk.Event) bool) <-chan zk.Event {
	out := make(chan zk.Event, 6)
	go func() {
		defer close(out)
		for e := range events {
			if dropped(e) {
				for len(out) < cap(out) {
					out <- other
				}
				continue
			}
			out <- e
		}
	}()
	return out
}

// A new session is detected even if the client's channel has dropped all events about it.
func TestSessionOpenedSilently(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		deaf := false
		s := lock.NewSession(connecting(w.client(1)), muffled(w.client(1).Events(),
			func(zk.Event) bool { return deaf }), sessionTimeout)
		l := w.listen(s)
		w.flow()
		deaf = true
		ctx := w.sessionContext(s)
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(3 * time.Second)
		if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrSessionLost) {
			t.Errorf("the context of the old session: %v", cause)
		}
		if last := l.events[len(l.events)-1]; last.Status != lock.SessionConnected ||
			last.ID != w.client(1).SessionID() {
			t.Errorf("at last %+v, want the new session", last)
		}
	})
}

// other is an event that says nothing about a session.
var other = zk.Event{Type: zk.EventNodeCreated, Path: "/other"}

// A channel of events that was full may have dropped any, so that the Session asks its client
// instead, and ends the leases of a session that is over.
func TestSessionAsksAfterAnOverflow(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		client, events := &renewed{Conn: w.client(1)}, make(chan zk.Event, 1)
		defer close(events)
		session := lock.NewSession(client, events, sessionTimeout)
		w.pass(sessionTimeout) // It does not know since when the client is connected.
		lease := w.acquire(must(lock.NewMutex(session, "/lock")))
		done := lease.Done()
		client.by.Store(1)
		events <- other
		w.wantLostSession(lease, done)
	})
}

// renewed is a client that gets another session unnoticed.
type renewed struct {
	*model.Conn
	by atomic.Int64
}

func (r *renewed) SessionID() int64 { return r.Conn.SessionID() + r.by.Load() }

// sessionContext returns the context of a connected session.
func (w *world) sessionContext(s *lock.Session) context.Context {
	w.t.Helper()
	ctx, cancel := context.WithCancel(background)
	w.cancels = append(w.cancels, cancel)
	var standing context.Context
	if err := w.do(func() (err error) { standing, err = s.Context(ctx); return err }); err != nil {
		w.t.Fatal(err)
	}
	return standing
}

// A partitioned client learns by its own clock that the session may be over, before an ephemeral
// node of the session can go, whenever in the life of the session that happens and however slow
// messages are.
func TestSessionIsLostBeforeItEnds(t *testing.T) {
	for cut := range 40 {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				s := w.session(1)
				ctx := w.sessionContext(s)
				w.create("/mine", zk.FlagEphemeral, w.client(1).SessionID())
				w.pass(time.Duration(cut) * 100 * time.Millisecond)
				w.cluster.Isolate(w.client(1).Link)
				for stands := true; stands; _, stands = w.cluster.Tree().Stat("/mine") {
					if w.pass(50 * time.Millisecond); time.Since(w.began) > time.Minute {
						t.Fatal("the node still exists")
					}
				}
				if !errors.Is(context.Cause(ctx), lock.ErrSessionLost) {
					t.Errorf("the node is gone, and the session's context: %v", context.Cause(ctx))
				}
			})
		})
	}
}

// The client need not be allowed to read the checked node.
func TestSessionWithoutPermission(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.cluster.Tree().Apply(&tree.Write{
			Op: wire.OpSetACL, Path: "/zookeeper", Version: -1,
			ACL: []wire.ACL{{Perms: wire.PermAll, Scheme: "ip", ID: "192.0.2.1"}},
		})
		if ctx := w.sessionContext(w.session(1)); ctx.Err() != nil {
			t.Error(ctx.Err())
		}
		if err := w.do(func() error {
			_, _,
				err := w.client(1).Get("/zookeeper")
			return err
		}); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("the node can be read: %v", err)
		}
	})
}

// A session that was lost only by the clock reconnects; its earlier contexts stay ended.
func TestSessionComesBack(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		s := w.session(1)
		l := w.listen(s)
		old := w.sessionContext(s)
		id := w.client(1).SessionID()
		l.events = nil
		w.cluster.Cut(w.client(1).Link)
		w.pass(2500 * time.Millisecond)
		l.want(t, lock.SessionSuspended, lock.SessionLost)
		w.cluster.Heal(w.client(1).Link)
		w.pass(1200 * time.Millisecond)
		l.want(t, lock.SessionConnected)
		if old.Err() == nil || w.client(1).SessionID() != id {
			t.Errorf("old context %v, session %#x of before, %#x now", old.Err(), id,
				w.client(1).SessionID())
		}
		if again := w.sessionContext(s); again.Err() != nil {
			t.Error(again.Err())
		}
	})
}

// Closing the client ends everything at once, including a waiting lock.
func TestSessionOfAClosedClient(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.acquire(w.mutex(2))
		s := w.session(1)
		l := w.listen(s)
		ctx := w.sessionContext(s)
		waiting := w.begin(background, must(lock.NewMutex(s, "/lock")).Lock)
		w.flow()
		l.events = nil
		go w.client(1).Close()
		w.flow()
		if last := l.events[len(l.events)-1]; last.Status != lock.SessionLost ||
			!errors.Is(last.Err, zk.ErrClosing) {
			t.Errorf("at last %+v", last)
		}
		if cause := context.Cause(ctx); !errors.Is(cause, zk.ErrClosing) {
			t.Errorf("the context ended with %v", cause)
		}
		if _, err := s.Context(background); !errors.Is(err, lock.ErrSessionLost) {
			t.Errorf("Context: %v", err)
		}
		w.pass(500 * time.Millisecond) // and not twice the session timeout
		w.wantError(waiting, zk.ErrClosing)
	})
}

// identified is a client that answers only SessionID.
type identified struct {
	lock.Client
	id int64
}

func (c *identified) SessionID() int64 { return c.id }

func (c *identified) State() zk.State { return zk.StateDisconnected }

// A request that was queued under one session and may have been carried out under the next is
// detected.
func TestSessionDo(t *testing.T) {
	failed := errors.New("failed")
	for _, tc := range []struct {
		before, after int64
		err           error
		lost          bool
	}{
		{7, 7, nil, false},
		{7, 7, failed, false},
		{7, 8, nil, true},
		{7, 8, failed, true},
		{7, 0, nil, true},
		{0, 8, nil, true},
		{0, 0, nil, true},
	} {
		client := &identified{id: tc.before}
		s := lock.NewSession(client, nil, sessionTimeout)
		err := s.InOneSession(func(id int64) error {
			if id != tc.before {
				t.Errorf("began in %d, want %d", id, tc.before)
			}
			client.id = tc.after
			return tc.err
		})
		if errors.Is(err, lock.ErrSessionLost) != tc.lost || tc.err != nil &&
			!errors.Is(err, tc.err) ||
			err != nil && !tc.lost && tc.err == nil {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// With a session, the contender right behind the holder sends no request when its turn comes.
func TestSessionSparesTheConfirmation(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		m := must(lock.NewMutex(w.session(2), "/lock"))
		c := w.begin(background, m.Lock)
		w.wantWaiting(c)
		if got := w.requests(2, ""); got != 4 {
			t.Errorf("%d requests until it waited, want 4", got)
		}
		w.watch()
		before := w.requests(2, "")
		if before != 5 {
			t.Errorf("%d requests when it had waited, want 5", before)
		}
		w.unlock(holder)
		w.wantGranted(c)
		if after := w.requests(2, ""); after != before {
			t.Errorf("%d requests after the holder's end", after-before)
		}
		if c.lease.Token() <= holder.Token() {
			t.Errorf("token %d after %d", c.lease.Token(), holder.Token())
		}
	})
}

// It does send one if its own node may be gone, or the event of that may come after that of the
// holder's end.
func TestSessionConfirms(t *testing.T) {
	for _, tc := range []struct {
		name   string
		happen func(w *world, own string)
		nodes  int // number of nodes that the waiter creates
	}{
		{"the connection was lost", func(w *world, own string) {
			w.cluster.Cut(w.client(2).Link)
			w.cluster.Heal(w.client(2).Link)
			w.pass(1500 * time.Millisecond)
		}, 1},
		{"its node was changed", func(w *world, own string) {
			w.do(func() error { _, err := w.client(1).Set(own, []byte("?"), -1); return err })
		}, 1},
		{"its node was deleted", func(w *world, own string) {
			w.do(func() error { return w.client(1).Delete(own, -1) })
		}, 2},
		{"its node was deleted while the connection was down", func(w *world, own string) {
			w.cluster.Cut(w.client(2).Link)
			w.do(func() error { return w.client(1).Delete(own, -1) })
			w.cluster.Heal(w.client(2).Link)
		}, 2},
		{"its session is over", func(w *world, own string) {
			w.cluster.Expire(w.client(2).SessionID())
			w.pass(2 * time.Second)
		}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				holder := w.acquire(w.mutex(1))
				m := must(lock.NewMutex(w.session(2), "/lock"))
				c := w.begin(background, m.Lock)
				w.watch()
				w.wantWaiting(c)
				own := "/lock/" + w.nodes()[0]
				if own == holder.Node() {
					own = "/lock/" + w.nodes()[1]
				}
				tc.happen(w, own)
				go holder.Unlock(background)
				w.pass(2 * time.Second)
				w.wantGranted(c)
				if stat, stands := w.cluster.Tree().Stat(c.lease.Node()); !stands ||
					stat.EphemeralOwner != w.client(2).SessionID() {
					t.Errorf("granted by %s, which exists: %v", c.lease.Node(), stands)
				}
				if made := w.requests(2, "create"); made != tc.nodes {
					t.Errorf("created %d nodes, want %d", made, tc.nodes)
				}
			})
		})
	}
}

// A waiter whose node is gone when it begins to watch it queues again at once.
func TestSessionWaiterRemovedEarly(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.begin(background, must(lock.NewMutex(w.session(2), "/lock")).Lock)
		w.wantWaiting(c)
		for _, name := range w.nodes() {
			if path := "/lock/" + name; path != holder.Node() {
				w.do(func() error { return w.client(1).Delete(path, -1) })
			}
		}
		w.wantNodes(1)
		w.watch()
		w.wantWaiting(c)
		w.wantNodes(2)
		w.unlock(holder)
		w.wantGranted(c)
	})
}

// A grant that arrives while the Session is being closed is a lease that has ended.
func TestSessionClosedDuringTheGrant(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		client := closesLate{w.client(1), make(chan struct{})}
		defer close(client.proceed)
		session := w.sessionOf(1, client)
		c := w.begin(background, must(lock.NewMutex(session, "/lock")).Lock)
		w.serve(1)
		go session.Close()
		w.flow()
		w.wantGranted(c)
		if err := c.lease.Err(); !errors.Is(err, zk.ErrClosing) {
			t.Errorf("the lease says %v", err)
		}
	})
}

// closesLate is a client whose Close takes a while to begin.
type closesLate struct {
	*model.Conn
	proceed chan struct{}
}

func (c closesLate) Close() {
	<-c.proceed
	c.Conn.Close()
}

// A wait for a session ends with its context.
func TestSessionContextGivenUp(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.cluster.Isolate(w.client(1).Link)
		session := w.session(1)
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		c := w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) {
			_, err := session.Context(ctx)
			return nil, err
		})
		w.wantWaiting(c)
		w.pass(1100 * time.Millisecond)
		w.wantError(c, context.DeadlineExceeded)
	})
}

// After a reconnect the event of the holder's end may come before that of the contender's own. The
// session timeout is so long here that the session needs no proof.
func TestSessionNewsOutOfOrder(t *testing.T) {
	const timeout = 10 * sessionTimeout
	for _, digits := range [][2]int{{1, 9}, {9, 1}} {
		inWorld(t, 2, func(w *world) {
			holder := w.acquire(w.guid(1, digits[0]))
			session := lock.NewSession(connecting(w.client(2)), w.client(2).Events(), timeout)
			random := lock.WithRandom(bytes.NewReader(bytes.Repeat([]byte{byte(digits[1] * 17)},
				16)))
			c := w.begin(background, must(lock.NewMutex(session, "/lock", random)).Lock)
			// It watches its node, and has not read it recently.
			w.pass(timeout/10 + 100*time.Millisecond)
			w.wantWaiting(c)
			w.wantNodes(2)
			w.cluster.Cut(w.client(2).Link)
			for _, name := range w.nodes() {
				if path := "/lock/" + name; path != holder.Node() {
					w.do(func() error { return w.client(1).Delete(path, -1) })
				}
			}
			w.unlock(holder)
			w.cluster.Heal(w.client(2).Link)
			w.pass(2 * time.Second)
			w.wantGranted(c)
			if _, stands := w.cluster.Tree().Stat(c.lease.Node()); !stands {
				t.Errorf("granted by %s, which is gone", c.lease.Node())
			}
		})
	}
}
