package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// A node that was created under another session than the client knew when it sent the create grants
// the lock only once the leader has confirmed it: a server that lags may read a node that is gone.
func TestNoReadGrantsALock(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.cluster.Cut(w.client(1).Link)
		c := w.start(background, must(lock.NewMutex(w.sessionOf(1, unsynced{w.client(1)}), "/lock")))
		w.send()
		w.cluster.Expire(w.client(1).SessionID())
		w.cluster.Heal(w.client(1).Link)
		w.awaitRequest(1, "get+watch", 1)
		w.wantNodes(1)
		w.answer(1)
		if c.returned() {
			t.Fatalf("granted by a read, error %v", c.err)
		}
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(2 * time.Second)
		w.wantGranted(c)
		if _, stands := w.cluster.Tree().Stat(c.lease.Node()); !stands {
			t.Errorf("granted by %s, which is gone", c.lease.Node())
		}
	})
}

// unsynced is a client that answers syncs itself.
type unsynced struct{ *model.Conn }

func (unsynced) Sync(path string) (string, error) { return path, nil }

// Nor does a read extend a lease, whichever node it reads.
func TestNoReadExtendsALease(t *testing.T) {
	for _, tc := range []struct {
		name string
		read func(w *world) // until the last read of a confirmation is sent
	}{
		{"its node", func(w *world) { w.awaitRequest(1, "get+watch", 1) }},
		{"the directory", func(w *world) { w.awaitRequest(1, "get+watch", 2) }},
		{"the directory, again", func(w *world) {
			w.awaitRequest(1, "multi", 1)
			go w.client(2).Set("/lock", []byte("changed"), -1)
			w.serve(2)
			w.awaitRequest(1, "get+watch", 3)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				lease := w.acquire(w.mutex(1))
				granted := time.Now()
				tc.read(w)
				w.answer(1)
				if lease.Err() != nil {
					t.Fatalf("lost already: %v", lease.Err())
				}
				<-lease.Done() // Nothing more is answered.
				if after := time.Since(granted); after > sessionTimeout/3 {
					t.Errorf("lost after %v, want a third of %v", after, sessionTimeout)
				}
			})
		})
	}
}

// A lease counts from the first of two requests, however long both take.
func TestLeaseCountsFromTheFirstRequest(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		c := w.call(background, w.mutex(1).Lock)
		asked := time.Now()
		for _, verb := range []string{"sync", "create"} {
			w.send()
			if n := w.requests(1, verb); n != 1 || c.returned() {
				t.Fatalf("%d requests of kind %s, want 1; returned %v", n, verb, c.returned())
			}
			w.advance(sessionTimeout / 15)
			w.answer(1)
		}
		w.wantGranted(c)
		<-c.lease.Done() // Nothing more is answered.
		if after := time.Since(asked); after != sessionTimeout/3 {
			t.Errorf("lost %v after the sync was sent, want a third of %v", after, sessionTimeout)
		}
	})
}

// If the sync fails, or the session ends meanwhile, there is no create before another sync.
func TestSyncBeforeCreate(t *testing.T) {
	for _, test := range []struct {
		name      string
		interfere func(w *world)
	}{
		{"the connection is lost", func(w *world) {
			w.cluster.Cut(w.client(1).Link)
			w.cluster.Heal(w.client(1).Link)
		}},
		{"the reply is lost", func(w *world) {
			w.serve(1)
			w.cluster.LoseReply(w.client(1).Link)
			w.cluster.Heal(w.client(1).Link)
		}},
		{"the session ends", func(w *world) { w.cluster.Expire(w.client(1).SessionID()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				seen := new(witness)
				c := w.call(background, w.mutex(1, lock.WithObserver(seen)).Lock)
				w.send()
				test.interfere(w)
				w.awaitRequest(1, "create", 1)
				if n := w.requests(1, "sync"); n != 2 {
					t.Errorf("%d syncs, want 2", n)
				}
				w.wantNodes(0)
				w.flow()
				w.wantGranted(c)
				w.wantNodes(1)
				if len(seen.events) == 0 || seen.events[0].Kind != lock.Retried {
					t.Errorf("the observer has seen %+v", seen.events)
				}
			})
		})
	}
}

// A call that is cancelled before the reply to its sync creates no node.
func TestCancelledBeforeCreate(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		c := w.call(ctx, w.mutex(1).Lock)
		w.send()
		cancel()
		w.wantError(c, context.Canceled)
		w.pass(time.Second)
		if n := w.requests(1, "create"); n != 0 {
			t.Errorf("%d creates, want none", n)
		}
	})
}

// Two syncs are no pair, because a deposed leader answers both.
func TestNoGrantBySyncs(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		m := must(lock.NewMutex(w.session(2), "/lock"))
		c := w.begin(background, m.Lock)
		w.pass(sessionTimeout)
		for range 2 {
			if err := w.do(func() error {
				_, err := m.Participants(background)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		w.unlock(holder)
		w.wantGranted(c)
		if syncs, multis := w.requests(2, "sync"), w.requests(2, "multi"); syncs != 3 ||
			multis != 1 {
			t.Errorf("%d syncs and %d multis, want 3 and 1", syncs, multis)
		}
	})
}

// The locks of a Session share what its writes have proved, until there is another session.
func TestLocksOfASessionShareAProof(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		// The timeout makes a write count for longer than the client takes to open a session.
		session := lock.NewSession(connecting(w.client(1)), w.client(1).Events(),
			time.Minute)
		for _, path := range []string{"/a", "/b"} {
			w.create(path, 0, 0)
		}
		take := func(path string, want int) {
			t.Helper()
			before := w.requests(1, "")
			w.take(background, must(lock.NewMutex(session, path)).Lock)
			if got := w.requests(1, "") - before; got != want {
				t.Errorf("%s took %d requests, want %d", path, got, want)
			}
		}
		take("/a", 3)
		take("/b", 2)
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(3 * time.Second)
		take("/b", 3)
		take("/a", 2)
	})
}

// A lock whose node ZooKeeper refuses to confirm is lost at once, with the reason.
func TestConfirmationRefused(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		client := &unreadable{Conn: w.client(1)}
		lease := w.acquire(must(lock.NewMutex(w.sessionOf(1, client), "/lock")))
		w.watch()
		if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("the lease says %v, want ErrLost and ErrNoAuth", err)
		}
	})
}

// unreadable is a client without permission to read.
type unreadable struct{ *model.Conn }

func (unreadable) GetW(string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return nil, nil, nil, zk.ErrNoAuth
}
