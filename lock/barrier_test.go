package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/wire"
)

const barrierPath = "/barriers/migration"

func (w *world) singleBarrier(client int) *lock.Barrier {
	return must(lock.NewBarrier(w.session(client), barrierPath))
}

// wait begins a call of Wait.
func (w *world) wait(ctx context.Context, client int) *call {
	b := w.singleBarrier(client)
	c := w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) { return nil, b.Wait(ctx) })
	w.flow()
	return c
}

func (w *world) set(client int) {
	w.t.Helper()
	b := w.singleBarrier(client)
	if err := w.do(func() error { return b.Set(background) }); err != nil {
		w.t.Fatalf("Set: %v", err)
	}
}

func (w *world) remove(client int) {
	w.t.Helper()
	b := w.singleBarrier(client)
	if err := w.do(func() error { return b.Remove(background) }); err != nil {
		w.t.Fatalf("Remove: %v", err)
	}
}

func (w *world) isSet() bool {
	return w.cluster.Tree().Exists(barrierPath, nil).Code == wire.OK
}

// All wait while the barrier is set, and none once it is removed, again and again.
func TestBarrier(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.wantGranted(w.wait(background, 2))
		if got := w.requests(2, ""); got != 2 {
			t.Errorf("Wait took %d requests, want 2", got)
		}
		w.remove(1) // It is not set.
		for range 3 {
			w.set(1)
			w.set(3) // It is set.
			first, second := w.wait(background, 2), w.wait(background, 3)
			w.wantWaiting(first, second)
			w.remove(3)
			w.wantGranted(first)
			w.wantGranted(second)
			w.wantGranted(w.wait(background, 2))
		}
	})
}

// The barrier stays set when the session of the process that has set it ends.
func TestBarrierOutlivesItsSetter(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.set(1)
		first := w.wait(background, 2)
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(3 * sessionTimeout)
		w.wantWaiting(first)
		w.remove(2)
		w.wantGranted(first)
	})
}

// Set and Remove succeed when the reply to the request that succeeded is lost.
func TestBarrierLostReply(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.set(1) // creates the parent
		w.remove(1)
		b := w.singleBarrier(1)
		change := func(method func(context.Context) error, wantSet bool) {
			c := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
				return nil, method(ctx)
			})
			w.send()
			w.cluster.LoseReply(w.client(1).Link)
			w.wantWaiting(c)
			if set := w.isSet(); set != wantSet {
				t.Errorf("the barrier is set: %v, want %v", set, wantSet)
			}
			w.cluster.Heal(w.client(1).Link)
			w.pass(sessionTimeout)
			w.wantGranted(c)
			if set := w.isSet(); set != wantSet {
				t.Errorf("after the repetition the barrier is set: %v, want %v", set, wantSet)
			}
		}
		change(b.Set, true)
		change(b.Remove, false)
	})
}

// Wait survives a lost connection and a lost session, and does not take either for the removal.
func TestBarrierDisconnected(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.set(1)
		first := w.wait(background, 2)
		for range 2 {
			w.cluster.Cut(w.client(2).Link)
			w.pass(sessionTimeout / 4)
			w.wantWaiting(first)
			w.cluster.Heal(w.client(2).Link)
			w.pass(sessionTimeout)
			w.wantWaiting(first)
			w.cluster.Expire(w.client(2).SessionID())
			w.pass(2 * sessionTimeout)
			w.wantWaiting(first)
		}
		w.remove(1)
		w.wantGranted(first)
	})
	inWorld(t, 2, func(w *world) { // The barrier is removed while the session ends.
		w.set(1)
		first := w.wait(background, 2)
		w.cluster.Cut(w.client(2).Link)
		w.remove(1)
		w.cluster.Expire(w.client(2).SessionID())
		w.pass(sessionTimeout / 4)
		w.wantWaiting(first)
		w.cluster.Heal(w.client(2).Link)
		w.pass(2 * sessionTimeout)
		w.wantGranted(first)
	})
}

// A server that lags does not let a process pass a barrier that it does not know.
func TestBarrierAtLaggingServer(t *testing.T) {
	inEnsemble(t, 3, 3, func(w *world) {
		w.set(3)
		w.remove(3)
		setter, waiter := w.singleBarrier(3), w.singleBarrier(1)
		set := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return nil, setter.Set(ctx)
		})
		behind := false
		for range 100 { // Server 1 applies nothing.
			w.send()
			w.cluster.Serve(w.client(3).Link)
			for server := range w.servers {
				if _, ok := w.cluster.Loggable(server); ok {
					w.cluster.Log(server)
				}
			}
			if _, ok := w.client(3).Deliverable(); ok {
				w.cluster.Deliver(w.client(3).Link)
			}
			w.send()
			if set.returned() {
				behind = w.cluster.Unapplied(0) > 0
				break
			}
		}
		if !set.returned() || set.err != nil || !behind {
			t.Fatalf("Set: returned %v, error %v, server 1 behind: %v", set.returned(), set.err,
				behind)
		}
		wait := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return nil, waiter.Wait(ctx)
		})
		w.wantWaiting(wait)
		w.remove(3)
		w.wantGranted(wait)
	})
}

// The calls end with their contexts, and with the client.
func TestBarrierGivenUp(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.set(1)
		b := w.singleBarrier(1)
		for _, method := range []func(context.Context) error{b.Wait, b.Set, b.Remove} {
			ctx, cancel := context.WithCancel(background)
			w.cluster.Cut(w.client(1).Link)
			c := w.begin(ctx, func(ctx context.Context) (*lock.Lease, error) {
				return nil, method(ctx)
			})
			w.pass(sessionTimeout / 4)
			w.wantWaiting(c)
			cancel()
			w.wantError(c, context.Canceled)
			w.cluster.Heal(w.client(1).Link)
			w.pass(sessionTimeout)
		}
		w.set(1)
		session := w.session(1)
		onSession := must(lock.NewBarrier(session, barrierPath))
		c := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return nil, onSession.Wait(ctx)
		})
		w.wantWaiting(c)
		_ = w.do(func() error { session.Close(); return nil })
		w.wantError(c, zk.ErrClosing)
	})
}

// What ZooKeeper refuses is not retried.
func TestBarrierRefused(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.set(1)
		w.create(barrierPath+"/child", 0, 0)
		b := w.singleBarrier(1)
		if err := w.do(func() error { return b.Remove(background) }); !errors.Is(err,
			zk.ErrNotEmpty) {
			t.Errorf("Remove of a node with a child: %v", err)
		}
		if _, err := lock.NewBarrier(w.session(1), "barrier"); err == nil {
			t.Error("a relative path is accepted")
		}
	})
}

// rooted is a client that adds a prefix to the paths of nodes that it creates.
type rooted struct {
	*model.Conn
	prefix string
}

func (r rooted) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return r.Conn.Create(r.prefix+path, data, flags, acl)
}

// A barrier just below the prefix of a client has no parents to create. It is set once somebody has
// created the node of the prefix.
func TestBarrierBelowMissingPrefix(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		b := must(lock.NewBarrier(w.sessionOf(1, rooted{w.client(1), "/app"}), "/barrier"))
		c := w.begin(background, func(ctx context.Context) (*lock.Lease, error) {
			return nil, b.Set(ctx)
		})
		w.wantWaiting(c)
		w.create("/app", 0, 0)
		w.pass(time.Second)
		w.wantError(c, nil)
	})
}
