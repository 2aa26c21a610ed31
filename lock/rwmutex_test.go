package lock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

func (w *world) rwmutex(client int) *lock.RWMutex {
	return must(lock.NewRWMutex(w.session(client), "/lock"))
}

func TestReadersTogether(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		first, second := w.take(background, w.rwmutex(1).RLock),
			w.take(background, w.rwmutex(2).RLock)
		if got := w.requests(2, ""); got != 3 {
			t.Errorf("a reader behind a reader took %d requests, want 3", got)
		}
		writer := w.begin(background, w.rwmutex(3).Lock)
		w.wantWaiting(writer)
		late := w.begin(background, w.rwmutex(4).RLock) // It would starve the writer.
		w.wantWaiting(writer, late)
		w.wantError(w.begin(background, w.rwmutex(1).TryRLock), lock.ErrNotAcquired)
		w.wantError(w.begin(background, w.rwmutex(1).TryLock), lock.ErrNotAcquired)
		w.unlock(first)
		w.wantWaiting(writer, late)
		w.unlock(second)
		w.wantGranted(writer)
		w.wantWaiting(late)
		w.unlock(writer.lease)
		w.wantGranted(late)
		w.unlock(w.take(background, w.rwmutex(1).TryRLock))
		w.wantError(w.begin(background, w.rwmutex(1).TryLock), lock.ErrNotAcquired)
	})
}

// A mutex on the same path is one more writer.
func TestMutexBesideReaders(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		reader := w.take(background, w.rwmutex(1).RLock)
		m := w.start(background, w.mutex(2))
		w.wantWaiting(m)
		w.unlock(reader)
		w.wantGranted(m)
		reading := w.begin(background, w.rwmutex(1).RLock)
		w.wantWaiting(reading)
	})
}

// A downgrade costs one request: readers get in, no writer does, and node and token are kept.
func TestDowngrade(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		lease := w.take(background, w.rwmutex(1).Lock)
		node, token := lease.Node(), lease.Token()
		reader := w.begin(background, w.rwmutex(2).RLock)
		w.wantWaiting(reader)
		writer := w.begin(background, w.rwmutex(3).Lock)
		w.wantWaiting(reader, writer)
		for range 2 { // The second call has no effect.
			if err := w.do(func() error { return lease.Downgrade(background) }); err != nil {
				t.Fatalf("Downgrade: %v", err)
			}
		}
		if got := w.requests(1, "set"); got != 1 {
			t.Errorf("%d sets, want 1", got)
		}
		w.wantGranted(reader)
		w.wantWaiting(writer)
		// The writer waits before it.
		w.wantError(w.begin(background, w.rwmutex(4).TryRLock), lock.ErrNotAcquired)
		if lease.Node() != node || lease.Token() != token || lease.Err() != nil {
			t.Errorf("after the downgrade: node %s, token %d, error %v", lease.Node(),
				lease.Token(),
				lease.Err())
		}
		w.pass(2 * sessionTimeout)
		if lease.Err() != nil {
			t.Errorf("the downgraded lease was lost: %v", lease.Err())
		}
		w.unlock(reader.lease)
		w.wantWaiting(writer)
		w.unlock(lease)
		w.wantGranted(writer)
	})
}

// A writer whose node is watched has handled its own change when Downgrade returns: it sends no
// further request just then, whatever its caller does next.
func TestDowngradeIsOneRequest(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.take(background, w.rwmutex(1).Lock)
		w.watch()
		before := w.requests(1, "")
		if err := w.do(func() error { return lease.Downgrade(background) }); err != nil {
			t.Fatalf("Downgrade: %v", err)
		}
		if got := w.requests(1, "") - before; got != 1 {
			t.Errorf("%d requests, want 1", got)
		}
		w.pass(sessionTimeout) // The node is watched again, and confirmed.
		if err := lease.Err(); err != nil {
			t.Errorf("lost: %v", err)
		}
	})
}

// An owner that writes and reads keeps reading after it has unlocked the writer, and nobody writes
// in between.
func TestUnlockTheWriter(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.rwmutex(1)
		outer, inner := w.take(owner, m.Lock), w.take(owner, m.Lock)
		reading := w.take(owner, m.RLock)
		reader, writer := w.begin(background, w.rwmutex(2).RLock), (*call)(nil)
		w.wantWaiting(reader)
		writer = w.begin(background, w.rwmutex(3).Lock)
		w.unlock(outer)
		w.wantWaiting(reader, writer)
		w.unlock(inner)
		w.wantGranted(reader)
		w.wantWaiting(writer)
		w.wantError(w.begin(owner, m.Lock), lock.ErrUpgrade)
		w.unlock(reader.lease)
		w.wantWaiting(writer)
		w.unlock(reading)
		w.wantGranted(writer)
	})
}

// A reader that requests the lock for writing would wait for itself; it gets an error at once.
func TestUpgrade(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.rwmutex(1)
		lease := w.take(owner, m.RLock)
		w.wantError(w.begin(owner, m.Lock), lock.ErrUpgrade)
		w.wantError(w.begin(owner, m.TryLock), lock.ErrUpgrade)
		waiting := w.begin(background, w.rwmutex(2).Lock)
		w.wantWaiting(waiting)
		again := w.take(owner, m.RLock) // past the writer, which waits for this owner anyway
		w.unlock(lease)
		w.wantWaiting(waiting)
		w.unlock(again)
		w.wantGranted(waiting)
	})
}

// A downgrade whose reply is lost has taken effect, and one whose request is lost is retried.
func TestDowngradeOverALostConnection(t *testing.T) {
	for name, lose := range map[string]func(*simzk.Cluster,
		*simzk.Link){"reply": (*simzk.Cluster).LoseReply, "request": (*simzk.Cluster).Cut} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				lease := w.take(background, w.rwmutex(1).Lock)
				reader := w.begin(background, w.rwmutex(2).RLock)
				w.flow()
				err, done := error(nil), false
				go func() { err = lease.Downgrade(background); done = true }()
				w.send()
				lose(w.cluster, w.client(1).Link)
				w.cluster.Heal(w.client(1).Link)
				w.pass(sessionTimeout / 2)
				if !done || err != nil || lease.Err() != nil {
					t.Fatalf("Downgrade returned %v with %v, lease %v", done, err, lease.Err())
				}
				w.wantGranted(reader)
			})
		})
	}
}

func TestDowngradeEnds(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.take(background, w.rwmutex(1).Lock)
		ended, cancel := context.WithCancel(background)
		cancel()
		if err := lease.Downgrade(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Downgrade with a context that has ended: %v", err)
		}
		w.flow() // It continues in the background.
		reader := w.take(background, w.rwmutex(2).RLock)
		w.unlock(lease)
		if err := lease.Downgrade(background); !errors.Is(err, lock.ErrNotHeld) ||
			errors.Is(err, lock.ErrLost) {
			t.Errorf("Downgrade after Unlock: %v, want ErrNotHeld and not ErrLost", err)
		}
		w.unlock(reader)
		lost := w.take(background, w.rwmutex(1).Lock)
		go w.client(2).Delete(lost.Node(), -1)
		w.serve(2)
		if err := w.do(func() error { return lost.Downgrade(background) }); !errors.Is(err,
			lock.ErrLost) {
			t.Errorf("Downgrade of what is lost: %v, want ErrLost", err)
		}
	})
}

// setRefused is a client that may not change data.
type setRefused struct{ *model.Conn }

func (setRefused) Set(string, []byte, int32) (*zk.Stat, error) { return nil, zk.ErrNoAuth }

// If ZooKeeper refuses a downgrade the holder gets an error and keeps the lock, and nobody else
// gets in.
func TestDowngradeRefused(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		m := must(lock.NewRWMutex(w.sessionOf(1, setRefused{w.client(1)}), "/lock"))
		lease := w.take(background, m.Lock)
		reader := w.begin(background, w.rwmutex(2).RLock)
		w.flow()
		if err := w.do(func() error { return lease.Downgrade(background) }); !errors.Is(err,
			zk.ErrNoAuth) {
			t.Errorf("Downgrade: %v, want ErrNoAuth", err)
		}
		w.pass(2 * sessionTimeout)
		w.wantWaiting(reader)
		if lease.Err() != nil {
			t.Errorf("the lease: %v", lease.Err())
		}
		w.unlock(lease)
		w.wantGranted(reader)
	})
}

// dataEventsLost is a client that never gets events of changed data, as can happen with
// go-zookeeper/zk after a reconnect.
type dataEventsLost struct{ *model.Conn }

func (d dataEventsLost) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, events, err := d.Conn.GetW(path)
	if err != nil {
		return data, stat, events, err
	}
	heard := make(chan zk.Event, 1)
	go func() {
		if event := <-events; event.Type != zk.EventNodeDataChanged {
			heard <- event
		}
	}()
	return data, stat, heard, nil
}

// A reader that is not woken by a downgrade detects it by itself.
func TestDowngradeUnheard(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.take(background, w.rwmutex(1).Lock)
		m := must(lock.NewRWMutex(w.sessionOf(2, dataEventsLost{w.client(2)}), "/lock"))
		reader := w.begin(background, m.RLock)
		w.wantWaiting(reader)
		if err := w.do(func() error { return lease.Downgrade(background) }); err != nil {
			t.Fatal(err)
		}
		w.wantWaiting(reader)
		w.pass(sessionTimeout + sessionTimeout/4)
		w.wantGranted(reader)
	})
}

// watchCounter counts the reads with a watch. It loses the events of those watches if told to.
type watchCounter struct {
	*model.Conn
	watches int
	loses   bool
}

func (c *watchCounter) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	c.watches++
	data, stat, events, err := c.Conn.GetW(path)
	if c.loses {
		events = make(chan zk.Event)
	}
	return data, stat, events, err
}

// The client keeps each watch until the writer's node changes. So a reader that does not wait must
// not leave one.
func TestTryRLockLeavesNoWatch(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.take(background, w.rwmutex(1).Lock)
		client := &watchCounter{Conn: w.client(2)}
		m := must(lock.NewRWMutex(w.sessionOf(2, client), "/lock"))
		for range 50 {
			w.wantError(w.begin(background, m.TryRLock), lock.ErrNotAcquired)
		}
		if client.watches > 0 {
			t.Errorf("50 calls of TryRLock have left %d watches", client.watches)
		}
	})
}

// Neither must readers leave one each that give up. The last reader waits with the watch of an
// earlier one.
func TestReadersLeaveFewWatches(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		writer := w.take(background, w.rwmutex(1).Lock)
		client := &watchCounter{Conn: w.client(2)}
		m := must(lock.NewRWMutex(w.sessionOf(2, client), "/lock"))
		for range 50 {
			ctx, cancel := context.WithCancel(background)
			c := w.begin(ctx, m.RLock)
			w.wantWaiting(c)
			cancel()
			w.wantError(c, context.Canceled)
		}
		last := w.begin(background, m.RLock)
		w.wantWaiting(last)
		if client.watches > 1 {
			t.Errorf("50 calls of RLock have left %d watches", client.watches)
		}
		if err := w.do(func() error { return writer.Downgrade(background) }); err != nil {
			t.Fatal(err)
		}
		w.wantGranted(last)
	})
}

// A watch that has missed a change is no longer relied on.
func TestReaderReplacesLostWatch(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		writer := w.take(background, w.rwmutex(1).Lock)
		client := &watchCounter{Conn: w.client(2), loses: true}
		m := must(lock.NewRWMutex(w.sessionOf(2, client), "/lock"))
		ctx, cancel := context.WithCancel(background)
		c := w.begin(ctx, m.RLock)
		w.wantWaiting(c)
		cancel()
		w.wantError(c, context.Canceled)
		if err := w.do(func() error {
			_, err := w.client(1).Set(writer.Node(), nil, -1)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		client.loses = false
		last := w.begin(background, m.RLock)
		w.wantWaiting(last)
		w.unlock(writer)
		w.wantGranted(last)
	})
}
