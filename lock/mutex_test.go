package lock_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// Sessions are made for the client of go-zookeeper/zk.
var _ lock.Client = (*zk.Conn)(nil)

var background = context.Background()

func TestNewMutexRefuses(t *testing.T) {
	for _, tc := range []struct {
		path    string
		timeout time.Duration
		want    string
	}{
		{"lock", time.Second, `path "lock"`},
		{"", time.Second, `path ""`},
		{"/", time.Second, `path "/"`},
		{"/lock/", time.Second, `path "/lock/"`},
		{"/lock", 0, "session timeout 0s"},
		{"/lock", -time.Second, "session timeout -1s"},
	} {
		session := lock.NewSession(&identified{}, nil, tc.timeout)
		if _, err := lock.NewMutex(session, tc.path); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("NewMutex(%q) with %v: error %v, want one that contains %q", tc.path, tc.timeout,
				err, tc.want)
		}
	}
}

// The first lock of a client costs a sync more than one that soon follows another.
func TestUncontendedCosts(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m := w.mutex(1)
		for _, want := range []struct {
			after   time.Duration // since the last one
			locking int
		}{{0, 3}, {0, 2}, {sessionTimeout / 25, 2}, {sessionTimeout / 20, 3}} {
			w.pass(want.after)
			before := w.requests(1, "")
			lease := w.acquire(m)
			if got := w.requests(1, "") - before; got != want.locking {
				t.Errorf("after %v Lock took %d requests, want %d", want.after, got, want.locking)
			}
			w.unlock(lease)
			if got := w.requests(1, "") - before; got != want.locking+1 {
				t.Errorf("after %v Lock and Unlock took %d requests, want %d", want.after, got,
					want.locking+1)
			}
		}
		w.wantNodes(0)
	})
}

// The second waits for the first and the third for the second, in the order of their arrival, with
// increasing tokens.
func TestQueue(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		first := w.acquire(w.mutex(1))
		second := w.start(background, w.mutex(2))
		w.flow()
		third := w.start(background, w.mutex(3))
		w.flow()
		if second.returned() || third.returned() {
			t.Fatal("a contender did not wait")
		}
		w.unlock(first)
		if !second.returned() || third.returned() {
			t.Fatalf("after the first: second %v, third %v", second.returned(), third.returned())
		}
		w.unlock(second.lease)
		if !third.returned() {
			t.Fatal("the third was not granted")
		}
		if first.Token() >= second.lease.Token() || second.lease.Token() >= third.lease.Token() {
			t.Errorf("tokens %d, %d, %d do not increase", first.Token(), second.lease.Token(),
				third.lease.Token())
		}
		// Sync, create, list, watch and delete, regardless of the number of contenders before it.
		w.unlock(third.lease)
		if second, third := w.requests(2, ""), w.requests(3, ""); second != 5 || third != 5 {
			t.Errorf("the second took %d requests and the third %d, want 5 each", second, third)
		}
	})
}

// Each waiter lists the queue once, regardless of its length, and each release wakes one.
func TestLongQueue(t *testing.T) {
	const contenders = 20
	inWorld(t, contenders, func(w *world) {
		lease := w.acquire(w.mutex(1))
		var waiters []*call
		for client := 2; client <= contenders; client++ {
			waiters = append(waiters, w.start(background, w.mutex(client)))
			w.flow()
		}
		for i, next := range waiters {
			w.unlock(lease)
			w.wantGranted(next)
			w.wantWaiting(waiters[i+1:]...)
			lease = next.lease
		}
		for client := 1; client <= contenders; client++ {
			if got := w.requests(client, "children"); got != 1 {
				t.Errorf("c%d listed %d times, want once", client, got)
			}
		}
	})
}

// A waiter must not take any end of its predecessor for a grant, as many locks do.
func TestPredecessorGivesUp(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		first := w.acquire(w.mutex(1))
		ctx, cancel := context.WithCancel(background)
		second := w.start(ctx, w.mutex(2))
		w.flow()
		third := w.start(background, w.mutex(3))
		w.flow()
		cancel()
		w.flow()
		if !second.returned() || !errors.Is(second.err, context.Canceled) {
			t.Fatalf("the second returned %v with %v, want context.Canceled", second.returned(),
				second.err)
		}
		if third.returned() {
			t.Fatal("the third was granted while the first holds")
		}
		w.wantNodes(2)
		w.unlock(first)
		if !third.returned() {
			t.Fatal("the third was not granted after the first")
		}
	})
}

// A contender that has waited for long proves anew that its session is alive: a sync and a write.
func TestCostsAfterALongWait(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		holder := w.acquire(w.mutex(1))
		second := w.start(background, w.mutex(2))
		w.flow()
		third := w.start(background, w.mutex(3))
		w.pass(sessionTimeout)
		w.unlock(holder)
		w.wantGranted(second)
		w.unlock(second.lease)
		w.wantGranted(third)
		// including the second's release
		for client, want := range map[int]struct{ requests, multis int }{2: {8, 2}, 3: {7, 1}} {
			if got := w.requests(client, ""); got != want.requests {
				t.Errorf("c%d sent %d requests, want %d", client, got, want.requests)
			}
			if got := w.requests(client, "multi"); got != want.multis {
				t.Errorf("c%d sent %d multis, want %d", client, got, want.multis)
			}
		}
	})
}

// The predecessor gives up between the listing and the watch: the contender watches the next one
// before it, and no other, which would wake two contenders.
func TestPredecessorGivesUpBeforeTheWatch(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		first := w.acquire(w.guid(1, 9))
		second := w.start(background, w.guid(2, 1))
		w.flow()
		ctx, cancel := context.WithCancel(background)
		w.start(ctx, w.guid(3, 2))
		w.flow()
		fourth := w.start(background, w.guid(4, 3))
		w.serve(4)
		cancel()
		w.serve(3)
		w.flow()
		requests := w.requests(4, "")
		w.unlock(first)
		w.wantGranted(second)
		if woken := w.requests(4, "") - requests; woken != 0 {
			t.Errorf("the release of the first made the last send %d requests, want none", woken)
		}
		w.unlock(second.lease)
		w.wantGranted(fourth)
	})
}

func TestCancel(t *testing.T) {
	cause := errors.New("no time")
	for _, tc := range []struct {
		name   string
		before func(w *world) // the steps between the call and its cancellation
	}{
		{"before the create is served", func(w *world) { w.send() }},
		{"after the create, before its reply", func(w *world) { w.serve(1) }},
		{
			"while the connection is down",
			func(w *world) { w.serve(1); w.cluster.Cut(w.client(1).Link) },
		},
		{
			"after a create that was lost",
			func(w *world) { w.send(); w.cluster.Cut(w.client(1).Link) },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				ctx, cancel := context.WithCancelCause(background)
				c := w.start(ctx, w.mutex(1))
				tc.before(w)
				cancel(cause)
				w.flow()
				if !c.returned() || c.err != cause {
					t.Fatalf("Lock returned %v with %v, want the cause at once", c.returned(),
						c.err)
				}
				if w.client(1).Down() {
					w.cluster.Heal(w.client(1).Link)
				}
				w.pass(3 * time.Second)
				w.wantNodes(0)
			})
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		cancel()
		c := w.start(ctx, w.mutex(1))
		w.flow()
		if c.err != context.Canceled || w.requests(1, "") != 0 {
			t.Errorf("error %v after %d requests, want context.Canceled after none", c.err,
				w.requests(1, ""))
		}
	})
}

// A create whose reply is lost must neither be repeated nor left behind.
func TestLostCreateReply(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		c := w.start(background, w.mutex(1))
		w.serve(1)
		w.wantNodes(1)
		node := w.nodes()[0]
		w.cluster.LoseReply(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(3 * time.Second)
		if !c.returned() || c.err != nil {
			t.Fatalf("returned %v with %v", c.returned(), c.err)
		}
		if c.lease.Node() != "/lock/"+node {
			t.Errorf("holds %s, want the node of the first request, %s", c.lease.Node(), node)
		}
		w.wantNodes(1)
		w.unlock(c.lease)
		w.wantNodes(0)
	})
}

// Calls that time out while ZooKeeper is unreachable send no request later, neither before nor
// after it returns.
func TestTimeoutsInAnOutage(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		// Without an answer to its sync a call would not come to its create.
		m := must(lock.NewMutex(w.sessionOf(1, unsynced{w.client(1)}), "/lock"))
		w.cluster.Cut(w.client(1).Link)
		for range 20 {
			ctx, cancel := context.WithTimeout(background, 500*time.Millisecond)
			c := w.start(ctx, m)
			w.pass(600 * time.Millisecond)
			w.wantError(c, context.DeadlineExceeded)
			cancel()
		}
		w.pass(2 * time.Second)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * sessionTimeout)
		if n := w.requests(1, "") - w.requests(1, "connect"); n > 0 {
			t.Errorf("%d requests of cancelled calls", n)
		}
		w.unlock(w.acquire(m))
	})
}

func TestParentsAreMade(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m, err := lock.NewMutex(w.session(1), "/a/b/c")
		if err != nil {
			t.Fatal(err)
		}
		w.unlock(w.acquire(m))
		if _, ok := w.cluster.Tree().Stat("/a/b/c"); !ok {
			t.Error("/a/b/c does not exist")
		}
	})
}

// Foreign nodes in the lock's directory are ignored, whatever their names.
func TestForeignNodes(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		for _, name := range []string{
			"config", "-1", "_c_", "_c_00000000000000000000000000000000-n-0000000000",
			"_c_0123456789abcdef0123456789abcdeg-lock-0000000000",
			"_c_0123456789abcdef0123456789abcdef-lock-x",
		} {
			w.create("/lock/"+name, 0, 0)
		}
		w.unlock(w.acquire(w.mutex(1)))
	})
}

func TestNoRandomness(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		c := w.start(background, w.mutex(1, lock.WithRandom(new(bytes.Reader))))
		w.flow()
		if c.err == nil || w.requests(1, "") != 0 {
			t.Errorf("error %v after %d requests", c.err, w.requests(1, ""))
		}
	})
}

// A refusal ends the attempt with the client's error.
func TestRefused(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create("/e", zk.FlagEphemeral, w.client(1).SessionID())
		for _, path := range []string{"/e", "/e/parent", "/e/parent/lock"} {
			m := must(lock.NewMutex(w.session(1), path))
			w.wantError(w.start(background, m), zk.ErrNoChildrenForEphemerals)
		}
	})
}

func TestACL(t *testing.T) {
	acl := zk.WorldACL(zk.PermAll &^ zk.PermAdmin)
	inWorld(t, 1, func(w *world) {
		seen := &aclWitness{Conn: w.client(1)}
		m, err := lock.NewMutex(w.sessionOf(1, seen), "/new/lock", lock.WithACL(acl))
		if err != nil {
			t.Fatal(err)
		}
		w.unlock(w.acquire(m))
		if len(seen.acls) != 5 { // the node, its parents from the inside out, the node again
			t.Errorf("%d creates, want 5", len(seen.acls))
		}
		for _, got := range seen.acls {
			if len(got) != 1 || got[0] != acl[0] {
				t.Errorf("created with %v, want %v", got, acl)
			}
		}
	})
}

// aclWitness records the access control lists of created nodes.
type aclWitness struct {
	*model.Conn
	acls [][]zk.ACL
}

func (a *aclWitness) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	a.acls = append(a.acls, acl)
	return a.Conn.Create(path, data, flags, acl)
}
