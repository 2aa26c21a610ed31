package lock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
)

// closeSession closes the client's session as another connection does, and stops in the step in
// which the client is told that it is over. The server to which the client then turns is slow to
// answer, if so said.
func (w *world) closeSession(client int, slow time.Duration) {
	w.t.Helper()
	w.flow()
	w.cluster.CloseSession(w.client(client).Link)
	for w.client(client).State() == zk.StateHasSession && w.move() {
	}
	for end := time.Now().Add(slow); time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
		w.send()
		w.cluster.Advance(time.Since(w.began))
	}
	for range 100 {
		w.send()
		for w.move() {
			if w.toldOfExpiry(client) {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
		w.send()
		w.cluster.Advance(time.Since(w.began))
	}
	w.t.Fatalf("c%d was not told, it is in state %v", client, w.client(client).State())
}

// move takes one step that the ensemble can take, and reports whether there was one.
func (w *world) move() bool {
	defer w.send()
	for _, link := range w.cluster.Links() {
		if _, ok := link.Servable(); ok {
			w.cluster.Serve(link)
			return true
		}
		if _, ok := link.Deliverable(); ok {
			w.cluster.Deliver(link)
			return true
		}
	}
	for server := range w.servers {
		if _, ok := w.cluster.Loggable(server); ok {
			w.cluster.Log(server)
			return true
		}
		if _, ok := w.cluster.Applicable(server); ok {
			w.cluster.Apply(server)
			return true
		}
	}
	return false
}

func (w *world) toldOfExpiry(client int) bool {
	return slices.ContainsFunc(w.log.Events(), func(e history.Event) bool {
		return e.Kind == history.SessionState && e.Process == int32(client) && e.Name == "expired"
	})
}

// wantLostSession wants the channel that a lease has given before to be closed, and the lease to
// say why.
func (w *world) wantLostSession(lease *lock.Lease, done <-chan struct{}) {
	w.t.Helper()
	synctest.Wait()
	select {
	case <-done:
	default:
		w.t.Error("the lease stands, and the client knows that its session is over")
	}
	if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, lock.ErrSessionLost) {
		w.t.Errorf("the lease has ended with %v, want a lost session", err)
	}
}

// A lease ends in the step in which the client says that its session is over, whatever its holder
// is doing then. With one server the client pauses before it connects again, and then fails what
// has waited; with three it does neither.
func TestSessionClosedByOthers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		servers int
		session bool
		watched bool // the holder has watched its node
		slow    time.Duration
	}{
		{"a request fails", 1, false, true, 0},
		{"a request waits", 3, false, true, 700 * time.Millisecond},
		{"no request waits", 3, false, true, 0},
		{"session, a request waits", 3, true, true, 700 * time.Millisecond},
		{"session, not watched", 3, true, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inEnsemble(t, tc.servers, 2, func(w *world) {
				var client lock.Client = w.client(1)
				if tc.session {
					client = w.session(1)
				}
				lease := w.acquire(must(lock.NewMutex(client, "/lock", sessionTimeout)))
				done := lease.Done()
				standing := background
				if tc.session {
					standing = w.sessionContext(client.(*lock.Session))
				}
				if tc.watched {
					w.watch()
				}
				w.closeSession(1, tc.slow)
				w.wantLostSession(lease, done)
				if tc.session && !errors.Is(context.Cause(standing), lock.ErrSessionLost) {
					t.Errorf("the session's context: %v", context.Cause(standing))
				}
				// Others have the lock by then, and keep it.
				other := w.acquire(w.mutex(2))
				w.pass(3 * time.Second)
				if err := w.do(func() error { return lease.Unlock(background) }); !errors.Is(err,
					lock.ErrLost) {
					t.Errorf("Unlock: %v", err)
				}
				if other.Err() != nil {
					t.Errorf("the lock of the other: %v", other.Err())
				}
			})
		})
	}
}

// Who has had the lock for less than a twentieth of the session timeout does not watch its node. A
// client that is no Session tells it nothing then, but whoever looks is told.
func TestSessionClosedByOthersUnwatched(t *testing.T) {
	for _, look := range []struct {
		name string
		over func(*lock.Lease) bool
	}{
		{"Err", func(l *lock.Lease) bool { return errors.Is(l.Err(), lock.ErrSessionLost) }},
		{"Done", func(l *lock.Lease) bool {
			select {
			case <-l.Done():
				return true
			default:
				return false
			}
		}},
	} {
		t.Run(look.name, func(t *testing.T) {
			inEnsemble(t, 3, 1, func(w *world) {
				lease := w.acquire(w.mutex(1))
				w.closeSession(1, 0)
				if !look.over(lease) {
					t.Error("the lease stands")
				}
			})
		})
	}
	t.Run("at the first request", func(t *testing.T) {
		inEnsemble(t, 3, 1, func(w *world) {
			lease := w.acquire(w.mutex(1))
			done := lease.Done()
			w.closeSession(1, 0)
			w.pass(sessionTimeout / 20)
			w.wantLostSession(lease, done)
		})
	})
}

// A Session ends the lease of each session that the client has one after the other, and no lease of
// another client.
func TestSessionClosedTwice(t *testing.T) {
	inEnsemble(t, 3, 2, func(w *world) {
		session := w.session(1)
		lease := w.acquire(must(lock.NewMutex(session, "/lock", sessionTimeout)))
		other := w.acquire(must(lock.NewMutex(w.session(2), "/other", sessionTimeout)))
		done := lease.Done()
		for range 2 {
			w.closeSession(1, 0)
			w.wantLostSession(lease, done)
			w.flow()
			w.log.Reset()
			lease = w.acquire(must(lock.NewMutex(session, "/lock", sessionTimeout)))
			done = lease.Done()
		}
		if other.Err() != nil {
			t.Errorf("the lease of another session: %v", other.Err())
		}
	})
}
