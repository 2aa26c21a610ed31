package lock_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// The counter of sequence numbers stops at 2^31-1: every later contender has that number.
func TestSequenceWraps(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		w.cluster.Tree().SetSequence("/lock", math.MaxInt32-1)
		holder := w.acquire(w.mutex(1))
		var waiters []*call
		for client := 2; client <= 4; client++ {
			waiters = append(waiters, w.start(background, w.mutex(client)))
			w.flow()
		}
		for i, waiter := range waiters {
			for j, other := range waiters[i:] {
				if other.returned() {
					t.Fatalf("waiter %d was granted before its turn", i+j)
				}
			}
			w.unlock(holder)
			if !waiter.returned() {
				t.Fatalf("waiter %d was not granted; nodes %v", i, w.nodes())
			}
			if waiter.lease.Token() <= holder.Token() {
				t.Errorf("token %d after %d", waiter.lease.Token(), holder.Token())
			}
			holder = waiter.lease
		}
	})
}

// converse delivers everything between the server and one client.
func (w *world) converse(client int) {
	for w.serve(client); ; w.serve(client) {
		if _, ok := w.client(client).Deliverable(); !ok {
			return
		}
		w.cluster.Deliver(w.client(client).Link)
	}
}

// Where all numbers are equal, a contender that loses its session returns under the same name,
// behind those that knew its old node. They must not wait for it, since they would wait for each
// other.
func TestSameNameBehind(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cluster.Tree().SetSequence("/lock", math.MaxInt32)
		holder := w.acquire(w.mutex(1))
		returns := w.start(background, w.mutex(2))
		w.flow()
		waits := w.start(background, w.mutex(3))
		for w.serve(3); w.requests(3, "exists") < 3; w.serve(3) {
			w.cluster.Deliver(w.client(3).Link)
			w.send()
		}
		w.cluster.Expire(w.client(2).SessionID())
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			w.send()
			w.cluster.Advance(time.Since(w.began))
			w.converse(1)
			w.converse(2)
		}
		w.wantNodes(3)
		w.wantWaiting(waits, returns)
		w.unlock(holder)
		w.wantGranted(waits)
		w.unlock(waits.lease)
		w.wantGranted(returns)
	})
}

// Likewise, a predecessor that has lost its session may have returned under its name while the
// connection was down. A watch that is restored over the reconnect reports the new node as a
// change, which is no release.
func TestSameNameAfterReconnect(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cluster.Tree().SetSequence("/lock", math.MaxInt32)
		holder := w.acquire(w.mutex(1))
		returns := w.start(background, w.mutex(2))
		w.flow()
		waits := w.start(background, w.mutex(3))
		w.pass(time.Second) // It watches its own node too.
		w.cluster.Cut(w.client(3).Link)
		w.cluster.Expire(w.client(2).SessionID())
		w.pass(2 * time.Second)
		w.wantNodes(3)
		w.cluster.Heal(w.client(3).Link)
		w.pass(1500 * time.Millisecond)
		w.wantWaiting(waits, returns)
		w.unlock(holder)
		w.wantGranted(waits)
		w.unlock(waits.lease)
		w.wantGranted(returns)
	})
}

// Likewise, a contender that returns under its name can find that name in a listing from before its
// new node: the listing that is sent along with the create, answered by a server that does not know
// yet of the end of the old session.
func TestSameNameInAnEarlyListing(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cluster.Tree().SetSequence("/lock", math.MaxInt32)
		holder := w.acquire(w.mutex(2))
		late := &staleListing{Conn: w.client(1)}
		returns := w.start(background, must(lock.NewMutex(w.sessionOf(1, late), "/lock")))
		w.flow()
		late.past, late.listings = w.nodes(), 2 // of the queue as it was, and along with the create
		w.cluster.Expire(w.client(1).SessionID())
		w.unlock(holder)
		rival := w.acquire(w.mutex(3))
		w.pass(2 * time.Second)
		w.wantNodes(2)
		w.wantWaiting(returns)
		w.unlock(rival)
		w.wantGranted(returns)
	})
}

// staleListing is a client whose next listings show an earlier state.
type staleListing struct {
	*model.Conn
	past     []string
	listings int
}

func (l *staleListing) Children(path string) ([]string, *zk.Stat, error) {
	stale := l.listings > 0
	l.listings--
	names, stat, err := l.Conn.Children(path)
	if stale {
		names = l.past
	}
	return names, stat, err
}

// If the directory is removed and created again, as containers are, a contender that has lost its
// node can get one of the same name; here, two contenders have the same GUID for that. A watch that
// a cancelled contender has left on the old node then reports the new one as a change, over a
// reconnect, which is no release.
func TestSameNameInANewDirectory(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		mutex, other := w.mutex(1, lock.WithRandom(sevens{})), w.mutex(2)
		first := w.acquire(mutex)
		ctx, giveUp := context.WithCancel(background)
		w.wantWaiting(w.start(ctx, other))
		giveUp()
		w.flow()
		w.cluster.Cut(w.client(2).Link)
		w.unlock(first)
		w.cluster.Tree().Apply(&tree.Write{Op: wire.OpDelete, Path: "/lock", Version: -1})
		second := w.acquire(mutex)
		if first.Node() != second.Node() {
			t.Fatalf("%s and %s have different names", first.Node(), second.Node())
		}
		waits := w.start(background, other)
		w.send() // It waits for the connection, and is sent before the watches are restored.
		w.cluster.Heal(w.client(2).Link)
		w.pass(1500 * time.Millisecond)
		w.wantNodes(2)
		w.wantWaiting(waits)
		w.unlock(second)
		w.wantGranted(waits)
	})
}

// sevens is a source of random bytes that are all the same.
type sevens struct{}

func (sevens) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0x77
	}
	return len(p), nil
}

// A contender that loses its connection while it reads the order of the nodes does not take a lock
// that is held.
func TestSequenceWrapsWhileDisconnected(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.cluster.Tree().SetSequence("/lock", math.MaxInt32)
		holder := w.acquire(w.mutex(1))
		waiter := w.start(background, w.mutex(2))
		w.awaitRequest(2, "exists", 2)
		w.cluster.Cut(w.client(2).Link)
		w.cluster.Heal(w.client(2).Link)
		w.pass(2 * time.Second)
		w.wantWaiting(waiter)
		w.unlock(holder)
		w.wantGranted(waiter)
	})
}

// Where somebody has created many children in one transaction, a node's number says nothing about
// its zxid, which then is the token. It takes one more request, which may be repeated.
func TestTokenAfterManyChildrenAtOnce(t *testing.T) {
	for _, lost := range []bool{false, true} {
		inWorld(t, 1, func(w *world) {
			w.do(func() error {
				var children []any
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					children = append(children, &zk.CreateRequest{
						Path: "/lock/" + name, Acl: zk.WorldACL(zk.PermAll),
					})
				}
				_, err := w.client(1).Multi(children...)
				return err
			})
			c := w.start(background, w.mutex(1))
			if lost {
				w.awaitRequest(1, "exists", 1)
				w.cluster.Cut(w.client(1).Link)
				w.cluster.Heal(w.client(1).Link)
				w.pass(time.Second)
			}
			w.flow()
			w.wantGranted(c)
			stat, _ := w.cluster.Tree().Stat(c.lease.Node())
			if got := c.lease.Token(); got == 0 || got != stat.Czxid {
				t.Errorf("token %d of a node with the zxid %d", got, stat.Czxid)
			}
		})
	}
}

// A contender whose listing is late does not get the token of the next one.
func TestTokensOfNeighbours(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		first := w.start(background, w.mutex(1))
		w.serve(1)
		second := w.start(background, w.mutex(2))
		w.serve(2)
		w.flow()
		w.wantGranted(first)
		w.unlock(first.lease)
		w.wantGranted(second)
		if first.lease.Token() >= second.lease.Token() {
			t.Errorf("tokens %d and %d do not increase", first.lease.Token(), second.lease.Token())
		}
	})
}
