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
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// closeSession closes the client's session as another connection would, and returns in the step in
// which the client learns of it. The server that the client then connects to answers after
// the delay slow.
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
	w.t.Fatalf("c%d was not notified, it is in state %v", client, w.client(client).State())
}

// move takes one enabled step of the ensemble and reports whether there was one.
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

// wantLostSession verifies that the channel obtained from a lease earlier is closed and that the
// lease gives the reason.
func (w *world) wantLostSession(lease *lock.Lease, done <-chan struct{}) {
	w.t.Helper()
	synctest.Wait()
	select {
	case <-done:
	default:
		w.t.Error("the lease is valid, but the client knows that its session is over")
	}
	if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, lock.ErrSessionLost) {
		w.t.Errorf("the lease has ended with %v, want a lost session", err)
	}
}

// A lease ends in the step in which the client reports that its session is over, whatever its
// holder is doing. With one server the client pauses before it reconnects, and then fails the
// pending requests; with three it does neither.
func TestSessionClosedByOthers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		servers int
		watched bool // the holder watches its node
		slow    time.Duration
	}{
		{"a request fails", 1, true, 0},
		{"a request waits", 3, true, 700 * time.Millisecond},
		{"no request waits", 3, true, 0},
		{"not watched", 3, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inEnsemble(t, tc.servers, 2, func(w *world) {
				lease := w.acquire(w.mutex(1))
				done := lease.Done()
				standing := w.sessionContext(w.session(1))
				if tc.watched {
					w.watch()
				}
				w.closeSession(1, tc.slow)
				w.wantLostSession(lease, done)
				if !errors.Is(context.Cause(standing), lock.ErrSessionLost) {
					t.Errorf("the session's context: %v", context.Cause(standing))
				}
				// Others hold the lock by then, and keep it.
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

// A Session ends the leases of each of the client's successive sessions, and none of another
// client.
func TestSessionClosedTwice(t *testing.T) {
	inEnsemble(t, 3, 2, func(w *world) {
		session := w.session(1)
		lease := w.acquire(must(lock.NewMutex(session, "/lock")))
		other := w.acquire(must(lock.NewMutex(w.session(2), "/other")))
		done := lease.Done()
		for range 2 {
			w.closeSession(1, 0)
			w.wantLostSession(lease, done)
			w.flow()
			w.log.Reset()
			lease = w.acquire(must(lock.NewMutex(session, "/lock")))
			done = lease.Done()
		}
		if other.Err() != nil {
			t.Errorf("the lease of another session: %v", other.Err())
		}
	})
}

// The end of one lease of a Session does not make the session forget its others.
func TestSessionClosedAfterAnUnlock(t *testing.T) {
	inEnsemble(t, 3, 1, func(w *world) {
		session := w.session(1)
		first := w.acquire(must(lock.NewMutex(session, "/first")))
		second := w.acquire(must(lock.NewMutex(session, "/second")))
		done := second.Done()
		w.unlock(first)
		w.closeSession(1, 0)
		w.wantLostSession(second, done)
	})
}

// closesSilently is a client whose watches tell nothing of its end: go-zookeeper/zk 1.0.4 can block
// when it is closed.
type closesSilently struct{ *model.Conn }

func (closesSilently) Close() {}

// Close of a Session ends all that wait, even if the client does not.
func TestSessionClosedSilently(t *testing.T) {
	type take = func(context.Context) (*lock.Lease, error)
	for name, of := range map[string]func(*lock.Session) take{
		"mutex":  func(s *lock.Session) take { return must(lock.NewMutex(s, "/lock")).Lock },
		"reader": func(s *lock.Session) take { return must(lock.NewRWMutex(s, "/lock")).RLock },
		"semaphore": func(s *lock.Session) take {
			return must(lock.NewSemaphore(s, "/lock", 2)).Lock
		},
		"double barrier": func(s *lock.Session) take {
			return func(ctx context.Context) (*lock.Lease, error) {
				_, err := must(lock.NewDoubleBarrier(s, "/barrier", 2)).Enter(ctx)
				return nil, err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.acquire(w.mutex(1))
				w.wantWaiting(w.start(background, w.mutex(1)))
				conn := w.client(2)
				session := w.sessionOf(2, closesSilently{conn})
				c := w.begin(background, of(session))
				w.wantWaiting(c)
				session.Close()
				w.wantError(c, zk.ErrClosing)
			})
		})
	}
}
