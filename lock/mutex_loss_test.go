package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// A holder that cannot reach ZooKeeper learns that its lease has ended before its session can
// expire.
func TestLostBeforeExpiry(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		told := lease.Done() // A later call would check the clock.
		waiter := w.start(background, w.mutex(2))
		w.flow()
		w.cluster.Isolate(w.client(1).Link)
		for i := 0; !waiter.returned(); i++ {
			if i == 100 {
				t.Fatal("the waiter was never granted the lock")
			}
			w.pass(100 * time.Millisecond)
		}
		if !closed(told) {
			t.Fatal("the waiter was granted the lock before the holder knew")
		}
		if err := lease.Err(); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Err: %v, want ErrLost", err)
		}
		var err error
		go func() { err = lease.Unlock(background) }()
		w.pass(3 * time.Second)
		if !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock: %v, want ErrLost", err)
		}
		w.wantNodes(1)
	})
}

// The node of a new holder is deleted: the holder learns of it when it begins to watch the node.
func TestNodeRemovedEarly(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		go w.client(2).Delete(lease.Node(), -1)
		w.flow()
		w.watch()
		if !errors.Is(lease.Err(), lock.ErrLost) {
			t.Errorf("Err: %v, want ErrLost", lease.Err())
		}
	})
}

// The holder's node is deleted: the holder learns of it at once.
func TestNodeRemoved(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.watch()
		go w.client(2).Delete(lease.Node(), -1)
		w.flow()
		select {
		case <-lease.Done():
		default:
			t.Fatal("the holder was not notified")
		}
		if !errors.Is(lease.Err(), lock.ErrLost) {
			t.Errorf("Err: %v, want ErrLost", lease.Err())
		}
	})
}

// A change of the data of the holder's node is not a loss.
func TestNodeTouched(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		go w.client(2).Set(lease.Node(), []byte("x"), -1)
		w.pass(2 * sessionTimeout)
		if lease.Err() != nil {
			t.Fatalf("Err: %v", lease.Err())
		}
		w.unlock(lease)
		if err := lease.Err(); err != nil {
			t.Errorf("Err after Unlock: %v", err)
		}
	})
}

// A waiter whose session expires queues again, behind those that came in the meantime.
func TestWaiterExpires(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		first := w.acquire(w.mutex(1))
		second := w.start(background, w.mutex(2))
		w.flow()
		w.cluster.Isolate(w.client(2).Link)
		third := w.start(background, w.mutex(3))
		w.flow()
		w.pass(10 * time.Second)
		w.unlock(first)
		if !third.returned() || second.returned() {
			t.Fatalf("granted: second %v, third %v, want the third only", second.returned(),
				third.returned())
		}
		w.unlock(third.lease)
		if !second.returned() || second.err != nil {
			t.Fatalf("the second returned %v with %v", second.returned(), second.err)
		}
	})
}

// Closing the client ends the wait of its contenders.
func TestClientClosed(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.flow()
		go w.client(2).Close()
		w.wantError(c, zk.ErrClosing)
		w.wantNodes(1)
		late := w.start(background, w.mutex(2))
		w.pass(3 * sessionTimeout)
		w.wantError(late, zk.ErrClosing)
	})
}

// A holder whose client is closed has lost the lock, and learns of it at once.
func TestClientClosedByHolder(t *testing.T) {
	for _, tc := range []struct {
		name string
		held time.Duration
	}{
		{"watched", sessionTimeout / 2},
		{"not yet watched", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				lease := w.acquire(w.mutex(1))
				w.pass(tc.held)
				go w.client(1).Close()
				w.flow()
				w.wantNodes(0)
				if err := lease.Err(); !errors.Is(err, lock.ErrLost) || !errors.Is(err, zk.ErrClosing) {
					t.Fatalf("the lease says %v", err)
				}
				w.pass(3 * sessionTimeout)
				if err := w.do(func() error { return lease.Unlock(background) }); !errors.Is(err,
					lock.ErrLost) {
					t.Errorf("Unlock: %v", err)
				}
			})
		})
	}
}

// Two short disconnections that are far apart do not mean that the client was closed.
func TestCutsFarApart(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		waiter := w.start(background, w.mutex(2))
		w.send()
		for range 4 {
			w.cluster.Cut(w.client(2).Link)
			w.cluster.Heal(w.client(2).Link)
			w.pass(3 * sessionTimeout)
			// a request in flight, which fails while the state is disconnected
			go w.client(2).Get("/")
			w.send()
		}
		if waiter.returned() {
			t.Fatalf("the waiter returned with %v", waiter.err)
		}
		w.unlock(holder)
		w.pass(time.Second)
		if !waiter.returned() || waiter.err != nil {
			t.Fatalf("the waiter returned %v with %v", waiter.returned(), waiter.err)
		}
		// The same during the removal of the node: each delete but the last is lost.
		done := false
		go func() { waiter.lease.Unlock(background); done = true }()
		for range 3 {
			w.send()
			w.cluster.Cut(w.client(2).Link)
			w.pass(3 * sessionTimeout / 4)
			w.reconnect(2)
		}
		w.pass(3 * time.Second)
		if !done {
			t.Fatal("Unlock has not returned")
		}
		w.wantNodes(0)
	})
}

// A confirmation that is never answered does not extend a lease.
func TestLostOnSilence(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		began := time.Now()
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			for {
				time.Sleep(100 * time.Millisecond)
				w.send() // and serve nothing
				if time.Since(began) > 2*sessionTimeout {
					return
				}
			}
		}()
		<-lease.Done()
		if after := time.Since(began); after >= sessionTimeout ||
			!errors.Is(lease.Err(), lock.ErrLost) {
			t.Errorf("the lease ended after %v with %v, want ErrLost before %v", after, lease.Err(),
				sessionTimeout)
		}
		<-finished
	})
}

// The lock is not granted by a node of another session, such as one that is over.
func TestForeignOwner(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		foreign := &foreignOwner{Conn: w.client(1)}
		m, err := lock.NewMutex(w.sessionOf(1, foreign), "/lock")
		if err != nil {
			t.Fatal(err)
		}
		lease := w.acquire(m)
		if foreign.first == "" || lease.Node() == foreign.first {
			t.Errorf("the lock was granted by %s, which belongs to another session", lease.Node())
		}
		w.wantNodes(1)
	})
}

// foreignOwner is a client that gets a new session right after it has created its first node, on a
// server that does not know yet that the old session is over.
type foreignOwner struct {
	*model.Conn
	first string
}

func (f *foreignOwner) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := f.Conn.Create(path, data, flags, acl)
	if f.first == "" {
		f.first = created
	}
	return created, err
}

func (f *foreignOwner) SessionID() int64 {
	if f.first == "" {
		return f.Conn.SessionID() + 1
	}
	return f.Conn.SessionID()
}

func (f *foreignOwner) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, events, err := f.Conn.GetW(path)
	if path == f.first && err == nil {
		stat.EphemeralOwner++
	}
	return data, stat, events, err
}

// A late answer does not grant a lease that would have expired already.
func TestGrantIsNotStale(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		c := w.start(background, w.mutex(1))
		w.serve(1)
		w.cluster.Deliver(w.client(1).Link)
		w.serve(1) // The listing is answered, and its reply is slow.
		time.Sleep(sessionTimeout - 100*time.Millisecond)
		w.cluster.Deliver(w.client(1).Link)
		w.send()
		if c.returned() {
			t.Fatalf("granted by the reply to a request of %v ago", sessionTimeout)
		}
		w.flow()
		w.wantGranted(c)
		if err := c.lease.Err(); err != nil {
			t.Errorf("lost at once: %v", err)
		}
	})
}
