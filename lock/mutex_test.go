package lock_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// The client of go-zookeeper/zk is what the lock is for.
var _ lock.Client = (*zk.Conn)(nil)

var background = context.Background()

func TestNewMutexRefuses(t *testing.T) {
	client := &identified{}
	for _, tc := range []struct {
		client  lock.Client
		path    string
		timeout time.Duration
		want    string
	}{
		{client, "lock", time.Second, `path "lock"`},
		{client, "", time.Second, `path ""`},
		{client, "/", time.Second, `path "/"`},
		{client, "/lock/", time.Second, `path "/lock/"`},
		{client, "/lock", 0, "session timeout 0s"},
		{client, "/lock", -time.Second, "session timeout -1s"},
		{lock.NewSession(client, nil, -2*time.Second), "/lock", time.Second, "session timeout -2s"},
		{nil, "/lock", time.Second, "client is nil"},
		{(*zk.Conn)(nil), "/lock", time.Second, "client is nil"},
		{(*lock.Session)(nil), "/lock", time.Second, "client is nil"},
	} {
		if _, err := lock.NewMutex(tc.client, tc.path, tc.timeout); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("NewMutex(%T, %q, %v): error %v, want one that contains %q", tc.client,
				tc.path,
				tc.timeout, err, tc.want)
		}
	}
}

func TestUncontendedCosts(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		if got := w.requests(1, ""); got != 2 {
			t.Errorf("Lock took %d requests, want 2", got)
		}
		w.unlock(lease)
		if got := w.requests(1, ""); got != 3 {
			t.Errorf("Lock and Unlock took %d requests, want 3", got)
		}
		w.wantNodes(0)
	})
}

// The second waits for the first and the third for the second, in the order in which they came,
// with rising tokens.
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
			t.Errorf("tokens %d, %d, %d do not rise", first.Token(), second.lease.Token(),
				third.lease.Token())
		}
		// Create, list, watch and delete, how many ever stood before it.
		w.unlock(third.lease)
		if second, third := w.requests(2, ""), w.requests(3, ""); second != 4 || third != 4 {
			t.Errorf("the second took %d requests and the third %d, want 4 each", second, third)
		}
	})
}

// However long the queue, each that waits lists it once, and each release wakes one.
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

// The defect of many locks: a waiter takes the end of the one before it for its own turn.
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

// One that has waited for long proves by a write that its session lives.
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
		// the second's release among them
		for client, want := range map[int]struct{ requests, multis int }{2: {5, 2}, 3: {4, 1}} {
			if got := w.requests(client, ""); got != want.requests {
				t.Errorf("c%d sent %d requests, want %d", client, got, want.requests)
			}
			if got := w.requests(client, "multi"); got != want.multis {
				t.Errorf("c%d sent %d multis, want %d", client, got, want.multis)
			}
		}
	})
}

// The one right before gives up between the listing and the watch: the next one before it is
// watched, and not just any that stands before, who would wake two.
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
		before func(w *world) // what happens between the call and its cancellation
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

func TestUnlockWhileDown(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.cluster.Cut(w.client(1).Link)
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		var err error
		go func() { err = lease.Unlock(ctx) }()
		w.pass(2 * time.Second)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Unlock: %v, want context.DeadlineExceeded", err)
		}
		w.wantNodes(1)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantNodes(0)
		if err := lease.Unlock(background); err != nil {
			t.Errorf("Unlock after the removal: %v", err)
		}
	})
}

// Calls that have run out of time while ZooKeeper could not be reached leave nothing to do, neither
// then nor once it is back.
func TestTimeoutsInAnOutage(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m := w.mutex(1)
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
			t.Errorf("%d requests for nobody", n)
		}
		w.unlock(w.acquire(m))
	})
}

// A holder that cannot reach ZooKeeper must know that its lease has ended before its session can.
func TestLostBeforeExpiry(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		told := lease.Done() // To call it later is to look at the clock.
		waiter := w.start(background, w.mutex(2))
		w.flow()
		w.cluster.Isolate(w.client(1).Link)
		for i := 0; !waiter.returned(); i++ {
			if i == 100 {
				t.Fatal("the waiter was never granted")
			}
			w.pass(100 * time.Millisecond)
		}
		if !closed(told) {
			t.Fatal("the waiter was granted before the holder was told")
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

// Somebody deletes the node of one that has only just got the lock: it is told when it begins to
// watch it.
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

// Somebody deletes the holder's node: the holder is told at once.
func TestNodeRemoved(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.watch()
		go w.client(2).Delete(lease.Node(), -1)
		w.flow()
		select {
		case <-lease.Done():
		default:
			t.Fatal("the holder was not told")
		}
		if !errors.Is(lease.Err(), lock.ErrLost) {
			t.Errorf("Err: %v, want ErrLost", lease.Err())
		}
	})
}

// Data set on the holder's node are no reason to think that the lock is lost.
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

// A waiter whose session expires queues again, behind those who came in the meantime.
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

func TestParentsAreMade(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m, err := lock.NewMutex(w.client(1), "/a/b/c", sessionTimeout)
		if err != nil {
			t.Fatal(err)
		}
		w.unlock(w.acquire(m))
		if _, ok := w.cluster.Tree().Stat("/a/b/c"); !ok {
			t.Error("/a/b/c does not stand")
		}
	})
}

// What else stands in the lock's directory takes no part, whatever it is called.
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

// The counter of sequence numbers ends at 2^31-1 and stays there: every later contender has the
// same number.
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

// converse lets everything through between the server and one client.
func (w *world) converse(client int) {
	for w.serve(client); ; w.serve(client) {
		if _, ok := w.client(client).Deliverable(); !ok {
			return
		}
		w.cluster.Deliver(w.client(client).Link)
	}
}

// Where all numbers are the same, a contender that loses its session comes back under the same
// name, behind those that knew it before them. They do not wait for it, or they would wait for each
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

// There the one before, which has lost its session, can have come back under its name while the
// connection was down. To a watch that is set again over the reconnect, that is the same as a node
// that was changed, and no release.
func TestSameNameAfterReconnect(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cluster.Tree().SetSequence("/lock", math.MaxInt32)
		holder := w.acquire(w.mutex(1))
		returns := w.start(background, w.mutex(2))
		w.flow()
		waits := w.start(background, w.mutex(3))
		w.flow()
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

// There a contender that comes back under its name can find that name in a listing from before its
// new node: the listing that is sent along with the request for the node, answered by a server that
// does not know yet of the end of the old session.
func TestSameNameInAnEarlyListing(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cluster.Tree().SetSequence("/lock", math.MaxInt32)
		holder := w.acquire(w.mutex(2))
		late := &listsThePast{Conn: w.client(1)}
		returns := w.start(background, must(lock.NewMutex(late, "/lock", sessionTimeout)))
		w.flow()
		late.past = w.nodes()
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

// listsThePast is a client whose next listing shows what has been.
type listsThePast struct {
	*simzk.Conn
	past []string
}

func (l *listsThePast) Children(path string) ([]string, *zk.Stat, error) {
	past := l.past
	l.past = nil
	names, stat, err := l.Conn.Children(path)
	if past != nil {
		names = past
	}
	return names, stat, err
}

// Where the directory is removed and made again, as containers are, a contender's next node can
// have the name of its last one. A watch that one who gave up has left on the last tells then of
// the next as of a change, over a reconnect, and of no release.
func TestSameNameInANewDirectory(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		mutex, other := w.mutex(1), w.mutex(2)
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
		w.send() // It waits for the connection, and goes before the watches that are set again.
		w.cluster.Heal(w.client(2).Link)
		w.pass(1500 * time.Millisecond)
		w.wantNodes(2)
		w.wantWaiting(waits)
		w.unlock(second)
		w.wantGranted(waits)
	})
}

// A second node of the same contender, made by a request that was taken for lost, is removed.
func TestDuplicateIsRemoved(t *testing.T) {
	guid := bytes.Repeat([]byte{0xab}, 16)
	inWorld(t, 1, func(w *world) {
		w.create("/lock/_c_"+strings.Repeat("ab", 16)+"-lock-", zk.FlagEphemeralSequential,
			w.client(1).SessionID())
		lease := w.acquire(w.mutex(1, lock.WithRandom(bytes.NewReader(guid))))
		w.wantNodes(1)
		w.unlock(lease)
		w.wantNodes(0)
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
		m, err := lock.NewMutex(w.client(1), "/e", sessionTimeout)
		if err != nil {
			t.Fatal(err)
		}
		c := w.start(background, m)
		w.flow()
		if !errors.Is(c.err, zk.ErrNoChildrenForEphemerals) {
			t.Errorf("error %v, want ErrNoChildrenForEphemerals", c.err)
		}
	})
}

// A client that is closed while a contender waits ends the wait.
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

// A holder whose client is closed has lost the lock, and hears so at once if its node is watched,
// or the client is a session.
func TestClientClosedByHolder(t *testing.T) {
	for _, tc := range []struct {
		name    string
		session bool
		held    time.Duration
		told    time.Duration // how long after the client was closed, at most
	}{
		{"watched", false, sessionTimeout / 2, 0},
		{"not yet watched", false, 0, sessionTimeout / 3},
		{"session, watched", true, sessionTimeout / 2, 0},
		{"session, not yet watched", true, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				var client lock.Client = w.client(1)
				if tc.session {
					client = w.session(1)
				}
				lease := w.take(background,
					must(lock.NewMutex(client, "/lock", sessionTimeout)).Lock)
				w.pass(tc.held)
				go w.client(1).Close()
				w.flow()
				w.wantNodes(0)
				w.pass(tc.told)
				if err := lease.Err(); !errors.Is(err, lock.ErrLost) || tc.told == 0 &&
					!errors.Is(err, zk.ErrClosing) {
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

func TestUnlockTwice(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.unlock(lease)
		w.unlock(lease)
		if got := w.requests(1, "delete"); got != 1 {
			t.Errorf("%d deletes, want 1", got)
		}
	})
}

// Two short cuts that are far apart are no reason to think that the client was closed.
func TestCutsFarApart(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		waiter := w.start(background, w.mutex(2))
		w.send()
		for range 4 {
			w.cluster.Cut(w.client(2).Link)
			w.cluster.Heal(w.client(2).Link)
			w.pass(3 * sessionTimeout)
			// a request in flight, whose failure is seen while the state is disconnected
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
		// The same while the node is removed: each delete but the last is lost.
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

// A holder whose node was gone before it unlocked had lost the lock, even if the news is still on
// its way.
func TestUnlockOfLost(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		go w.client(2).Delete(lease.Node(), -1)
		w.serve(2)
		var err error
		go func() { err = lease.Unlock(background) }()
		w.flow()
		if !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock: %v, want ErrLost", err)
		}
	})
}

// refusing is a client that may not delete.
type refusing struct{ *simzk.Conn }

func (refusing) Delete(string, int32) error { return zk.ErrNoAuth }

func TestRemovalRefused(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m, err := lock.NewMutex(refusing{w.client(1)}, "/lock", sessionTimeout)
		if err != nil {
			t.Fatal(err)
		}
		lease := w.acquire(m)
		for range 2 {
			var err error
			go func() { err = lease.Unlock(background) }()
			w.flow()
			if !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("Unlock: %v, want ErrNoAuth", err)
			}
		}
		w.wantNodes(1)
	})
}

// Who may delete but not write gives the lock back all the same; the one behind it has to ask then.
func TestUnlockWithoutWriting(t *testing.T) {
	readOnly := lock.WithACL(zk.WorldACL(zk.PermRead | zk.PermCreate | zk.PermDelete))
	inWorld(t, 3, func(w *world) {
		first := w.acquire(w.mutex(1, readOnly))
		second := w.start(background, w.mutex(2, readOnly))
		w.flow()
		third := w.start(background, w.mutex(3, readOnly))
		w.flow()
		w.unlock(first)
		w.wantGranted(second)
		w.wantWaiting(third)
		w.unlock(second.lease)
		w.wantGranted(third)
		w.unlock(third.lease)
		w.wantNodes(0)
	})
}

// Once the node is gone, the result of Unlock does not depend on the context.
func TestUnlockAgainAfterTheEnd(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.unlock(lease)
		ended, cancel := context.WithCancel(background)
		cancel()
		for range 100 {
			if err := lease.Unlock(ended); err != nil {
				t.Fatalf("Unlock: %v", err)
			}
		}
	})
}

func TestACL(t *testing.T) {
	acl := zk.WorldACL(zk.PermAll &^ zk.PermAdmin)
	inWorld(t, 1, func(w *world) {
		seen := &aclWitness{Conn: w.client(1)}
		m, err := lock.NewMutex(seen, "/new/lock", sessionTimeout, lock.WithACL(acl))
		if err != nil {
			t.Fatal(err)
		}
		w.unlock(w.acquire(m))
		if len(seen.acls) != 5 { // node, its parents from the inside out, and the node again
			t.Errorf("%d creates, want 5", len(seen.acls))
		}
		for _, got := range seen.acls {
			if len(got) != 1 || got[0] != acl[0] {
				t.Errorf("created with %v, want %v", got, acl)
			}
		}
	})
}

// aclWitness notes the access control lists that nodes are created with.
type aclWitness struct {
	*simzk.Conn
	acls [][]zk.ACL
}

func (a *aclWitness) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	a.acls = append(a.acls, acl)
	return a.Conn.Create(path, data, flags, acl)
}

// A confirmation that is never answered must not keep a lease alive.
func TestLostOnSilence(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		began := time.Now()
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			for {
				time.Sleep(100 * time.Millisecond)
				w.send() // and never serve
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

// A create that was taken for lost is carried out when the contender has its node already: both
// nodes must go.
func TestLateDuplicate(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m, err := lock.NewMutex(&lateCreate{Conn: w.client(1)}, "/lock", sessionTimeout)
		if err != nil {
			t.Fatal(err)
		}
		c := w.start(background, m)
		w.pass(time.Second)
		if !c.returned() || c.err != nil {
			t.Fatalf("returned %v with %v", c.returned(), c.err)
		}
		w.wantNodes(1)
		w.unlock(c.lease)
		w.wantNodes(0)
	})
}

// Whoever waits behind that second node does not take its end for a release: it stood at the end of
// the queue.
func TestLateDuplicateIsNoRelease(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		late := &lateCreate{Conn: w.client(1), proceed: make(chan struct{})}
		first := w.acquire(w.mutex(2))
		second := w.start(background, must(lock.NewMutex(late, "/lock", sessionTimeout)))
		w.pass(500 * time.Millisecond)
		third := w.start(background, w.mutex(3))
		w.flow()
		w.unlock(first)
		w.wantGranted(second)
		go second.lease.Unlock(background)
		w.flow()
		w.wantGranted(third)
		w.wantNodes(2)
		fourth := w.start(background, w.mutex(4))
		w.wantWaiting(fourth)
		close(late.proceed)
		w.wantWaiting(fourth)
		w.wantNodes(2)
		w.unlock(third.lease)
		w.wantGranted(fourth)
	})
}

// lateCreate loses the first create, and carries it out right before the first node is removed. The
// next removal has to wait, if there is something to wait for.
type lateCreate struct {
	*simzk.Conn
	lost    string
	late    bool
	proceed chan struct{}
}

func (l *lateCreate) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if l.lost == "" {
		l.lost = path
		return "", zk.ErrConnectionClosed
	}
	return l.Conn.Create(path, data, flags, acl)
}

func (l *lateCreate) Delete(path string, version int32) error {
	if err := l.createLate(); err != nil {
		return err
	}
	return l.Conn.Delete(path, version)
}

func (l *lateCreate) Multi(operations ...any) ([]zk.MultiResponse, error) {
	if _, removes := operations[len(operations)-1].(*zk.DeleteRequest); removes {
		if err := l.createLate(); err != nil {
			return nil, err
		}
	}
	return l.Conn.Multi(operations...)
}

func (l *lateCreate) createLate() error {
	if l.late {
		if l.proceed != nil {
			<-l.proceed
		}
		return nil
	}
	l.late = true
	_, err := l.Conn.Create(l.lost, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

// A delete whose reply is lost has given the lock back all the same.
func TestLostDeleteReply(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		err, done := error(nil), false
		go func() { err = lease.Unlock(background); done = true }()
		w.send()
		w.cluster.LoseReply(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(3 * time.Second)
		if !done || err != nil {
			t.Errorf("Unlock returned %v with %v, want nil", done, err)
		}
		w.wantNodes(0)
	})
}

// The session ends with the answer to the deletion still out: nobody knows which of the two has
// removed the node, and Unlock does not say that the lease had lasted.
func TestExpiredWhileUnlocking(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		err, done := error(nil), false
		go func() { err = lease.Unlock(background); done = true }()
		w.send()
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(5 * time.Second)
		if !done || !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock returned %v with %v, want ErrLost", done, err)
		}
		w.wantNodes(0)
	})
}

// A node that belongs to another session, such as one that is over, is no reason to grant the lock.
func TestForeignOwner(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		foreign := &foreignOwner{Conn: w.client(1)}
		m, err := lock.NewMutex(foreign, "/lock", sessionTimeout)
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

// foreignOwner is a client that gets a new session right after it has made its first node, on a
// server that does not know yet that the old one is over.
type foreignOwner struct {
	*simzk.Conn
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

// A closed client is found out also where every call takes a while to fail.
func TestClosedSlowly(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m, err := lock.NewMutex(slowlyClosed{w.client(1)}, "/lock", sessionTimeout,
			lock.WithRandom(bytes.NewReader(bytes.Repeat([]byte{0xff}, 16))))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := m.Lock(background); !errors.Is(err, zk.ErrClosing) ||
			time.Since(began) > 3*sessionTimeout {
			t.Errorf("Lock returned %v after %v, want ErrClosing", err, time.Since(began))
		}
	})
}

// slowlyClosed is a client that was closed, on a busy machine.
type slowlyClosed struct{ *simzk.Conn }

func (slowlyClosed) State() zk.State { return zk.StateDisconnected }

func (slowlyClosed) Create(string, []byte, int32, []zk.ACL) (string, error) {
	time.Sleep(100 * time.Millisecond)
	return "", zk.ErrConnectionClosed
}

func (slowlyClosed) Multi(...any) ([]zk.MultiResponse, error) {
	time.Sleep(100 * time.Millisecond)
	return nil, zk.ErrConnectionClosed
}

// One that is slow to list must not get a token that the next has too.
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
			t.Errorf("tokens %d and %d do not rise", first.lease.Token(), second.lease.Token())
		}
	})
}

// An answer that took longer than it is worth does not grant a lock that would be lost at once.
func TestGrantIsNotStale(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		c := w.start(background, w.mutex(1))
		w.serve(1)
		w.cluster.Deliver(w.client(1).Link)
		w.serve(1) // The listing has been answered, and the answer is under way for long.
		time.Sleep(sessionTimeout - 100*time.Millisecond)
		w.cluster.Deliver(w.client(1).Link)
		w.send()
		if c.returned() {
			t.Fatalf("granted by an answer to what was asked %v ago", sessionTimeout)
		}
		w.flow()
		w.wantGranted(c)
		if err := c.lease.Err(); err != nil {
			t.Errorf("lost at once: %v", err)
		}
	})
}
