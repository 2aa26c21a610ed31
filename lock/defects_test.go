package lock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk"
)

// A defect is one that published locks have had, and the way in which it showed.
type defect struct {
	id      string // in docs/lock-defects.md, which says where it was
	what    string
	clients int
	test    func(w *world)
}

var allDefects = [][]defect{
	createDefects, cleanupDefects, watchDefects, orderDefects,
	sessionDefects, localDefects,
}

// Defects that other locks have had, or still have. Each test fails if the defect is put into this
// lock.
func TestDefects(t *testing.T) {
	for _, list := range allDefects {
		for _, d := range list {
			t.Run(d.id+" "+d.what, func(t *testing.T) { inWorld(t, d.clients, d.test) })
		}
	}
}

// The reply to a create is lost.
var createDefects = []defect{
	{"B01 D7", "no GUID, waits behind its own second node", 1, func(w *world) {
		c, node := w.loseCreate(w.client(1))
		w.wantGranted(c)
		w.wantNodes(1)
		if c.lease.Node() != node {
			w.t.Errorf("holds %s, and made %s", c.lease.Node(), node)
		}
	}},
	{"B02", "the search for the node stops at the first error", 1, func(w *world) {
		ctx, cancel := context.WithTimeout(background, 500*time.Millisecond)
		defer cancel()
		m := must(lock.NewMutex(newUnsearchable(w.client(1), 10), "/lock", sessionTimeout))
		c := w.begin(ctx, m.Lock)
		w.serve(1)
		w.cluster.LoseReply(w.client(1).Link)
		w.cluster.Heal(w.client(1).Link)
		w.pass(3 * time.Second)
		w.wantError(c, context.DeadlineExceeded)
		w.wantNodes(0)
	}},
	{"B03 B16", "the deadline passes while there is no connection", 2, func(w *world) {
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		c := w.begin(ctx, w.mutex(1).Lock)
		w.serve(1)
		w.cluster.LoseReply(w.client(1).Link)
		w.cluster.Cut(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantError(c, context.DeadlineExceeded)
		w.cluster.Heal(w.client(1).Link)
		w.pass(2 * time.Second)
		w.wantNodes(0)
		w.acquire(w.mutex(2))
	}},
	{"B04 D13", "cancelled while the create is in flight", 2, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		c := w.begin(ctx, w.mutex(1).Lock)
		w.send()
		cancel()
		w.wantError(c, context.Canceled)
		w.acquire(w.mutex(2))
		w.wantNodes(1)
	}},
	{"B04 D13", "cancelled during the search for a node", 1, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		c := w.begin(ctx, w.mutex(1).Lock)
		w.send()
		w.cluster.Cut(w.client(1).Link)
		w.reconnect(1)
		time.Sleep(200 * time.Millisecond) // It tries again after a pause.
		w.send()
		if n := w.requests(1, "multi"); n != 1 {
			w.t.Fatalf("%d searches are under way, want 1", n)
		}
		cancel()
		w.wantError(c, context.Canceled)
		if n := w.requests(1, "create"); n != 1 {
			w.t.Errorf("%d requests for a node, want none after the call was given up", n-1)
		}
		w.wantNodes(0)
	}},
	{"B06", "no protection", 3, func(w *world) {
		for client := 1; client <= 3; client++ {
			w.start(background, w.mutex(client))
		}
		w.flow()
		seen := make(map[string]bool)
		for _, name := range w.nodes() {
			seen[name[:len("_c_")+32]] = true
		}
		if len(seen) != 3 {
			w.t.Errorf("%d names for three contenders: %v", len(seen), w.nodes())
		}
	}},
	{"B07", "the name grows by a prefix with each node", 2, func(w *world) {
		w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		for range 2 {
			w.flow()
			w.cluster.Expire(w.client(2).SessionID())
			w.pass(2 * time.Second)
		}
		w.wantWaiting(c)
		w.wantNodes(2)
		for _, name := range w.nodes() {
			if strings.Count(name, "_c_") != 1 || strings.Count(name, "-lock-") != 1 {
				w.t.Errorf("the node is called %s", name)
			}
		}
	}},
	{"B08", "the clean-up adds the path prefix twice", 1, func(w *world) {
		w.create("/app", 0, 0)
		for _, strip := range []bool{true, false} {
			m := must(lock.NewMutex(prefixed{w.client(1), "/app", strip}, "/lock", sessionTimeout))
			lease := w.acquire(m)
			done := false
			go func() { lease.Unlock(background); done = true }()
			w.send()
			w.cluster.Cut(w.client(1).Link)
			w.cluster.Heal(w.client(1).Link)
			w.pass(2 * time.Second)
			if left := w.cluster.Tree().Children("/app/lock", nil).Children; !done ||
				len(left) > 0 {
				w.t.Errorf("done %v, left %v", done, left)
			}
		}
	}},
	{"B09", "a found node is not recognized by its path", 2, func(w *world) {
		c, node := w.loseCreate(w.client(1))
		w.wantGranted(c)
		if c.lease.Node() != node {
			w.t.Errorf("holds %s, and made %s", c.lease.Node(), node)
		}
		waiter := w.start(background, w.mutex(2))
		w.wantWaiting(waiter)
		w.unlock(c.lease)
		w.wantGranted(waiter)
	}},
	{"B10", "the search on a server that lags", 1, func(w *world) {
		c, node := w.loseCreate(&lagging{Conn: w.client(1)})
		w.wantGranted(c)
		if c.lease.Node() != node {
			w.t.Errorf("holds %s, and made %s", c.lease.Node(), node)
		}
	}},
}

// loseCreate has the first client take the lock, and loses the reply to its create. It returns the
// path of the node.
func (w *world) loseCreate(client lock.Client) (*call, string) {
	w.t.Helper()
	c := w.start(background, must(lock.NewMutex(client, "/lock", sessionTimeout)))
	w.serve(1)
	w.wantNodes(1)
	node := "/lock/" + w.nodes()[0]
	w.cluster.LoseReply(w.client(1).Link)
	w.cluster.Heal(w.client(1).Link)
	w.pass(2 * time.Second)
	return c, node
}

// unsearchable is a client whose listings fail a number of times.
type unsearchable struct {
	*simzk.Conn
	failures atomic.Int32
}

func newUnsearchable(conn *simzk.Conn, failures int32) *unsearchable {
	u := &unsearchable{Conn: conn}
	u.failures.Store(failures)
	return u
}

func (u *unsearchable) Children(path string) ([]string, *zk.Stat, error) {
	if u.failures.Add(-1) >= 0 {
		return nil, nil, zk.ErrConnectionClosed
	}
	return u.Conn.Children(path)
}

// prefixed is a client that puts a prefix before every path, and takes it away from what Create
// returns, or not.
type prefixed struct {
	lock.Client
	prefix string
	strip  bool
}

func (p prefixed) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := p.Client.Create(p.prefix+path, data, flags, acl)
	if p.strip {
		created = strings.TrimPrefix(created, p.prefix)
	}
	return created, err
}

func (p prefixed) Delete(path string, version int32) error {
	return p.Client.Delete(p.prefix+path, version)
}

func (p prefixed) Exists(path string) (bool, *zk.Stat, error) {
	return p.Client.Exists(p.prefix + path)
}

func (p prefixed) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return p.Client.GetW(p.prefix + path)
}

func (p prefixed) Children(path string) ([]string, *zk.Stat, error) {
	return p.Client.Children(p.prefix + path)
}

func (p prefixed) Sync(path string) (string, error) { return p.Client.Sync(p.prefix + path) }

// lagging is a client on a server that knows of nothing until it has taken part in a transaction.
// It may answer a sync without that, as a leader does that has been deposed.
type lagging struct {
	*simzk.Conn
	agreed atomic.Bool
}

func (l *lagging) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := l.Conn.Create(path, data, flags, acl)
	l.agreed.Store(err == nil) // Whoever answers a create has carried it out.
	return created, err
}

func (l *lagging) Multi(operations ...any) ([]zk.MultiResponse, error) {
	l.agreed.Store(true)
	return l.Conn.Multi(operations...)
}

func (l *lagging) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, err := l.Conn.Children(path)
	if !l.agreed.Load() {
		return nil, stat, err
	}
	return names, stat, err
}

// An attempt fails, or is given up, and leaves its node behind.
var cleanupDefects = []defect{
	{"B12 D12", "a failed attempt leaves its node", 1, func(w *world) {
		m := must(lock.NewMutex(unlisted{w.client(1)}, "/lock", sessionTimeout))
		w.wantError(w.start(background, m), zk.ErrNoAuth)
		w.wantNodes(0)
	}},
	{"B13 D8", "the lock is re-entered after a failed release", 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		lease := w.take(owner, m.Lock)
		w.cluster.Isolate(w.client(1).Link)
		go lease.Unlock(background)
		rival := w.start(background, w.mutex(2))
		for waited := time.Duration(0); waited < 2*sessionTimeout &&
			!rival.returned(); waited += 100 * time.Millisecond {
			w.pass(100 * time.Millisecond)
		}
		w.wantGranted(rival)
		again := w.start(owner, m) // The first client does not know yet how its release has ended.
		w.pass(2 * sessionTimeout)
		w.wantWaiting(again)
		w.unlock(rival.lease)
		w.wantGranted(again)
	}},
	{"B15", "TryLock fails while the connection is down", 2, func(w *world) {
		holder := w.acquire(w.mutex(2))
		w.loseDelete(w.mutex(1).TryLock)
		w.unlock(holder)
		w.acquire(w.mutex(2))
		w.wantNodes(1)
	}},
	{"B17", "a failed TryLock blocks a semaphore", 3, func(w *world) {
		holder := w.take(background, w.semaphore(3, 1).Lock)
		w.loseDelete(w.semaphore(1, 1).TryLock)
		w.unlock(holder)
		w.take(background, w.semaphore(2, 1).TryLock)
	}},
	{"B19 D22", "a timeout leaves the node", 2, func(w *world) {
		w.acquire(w.mutex(1))
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		c := w.begin(ctx, w.mutex(2).Lock)
		w.pass(1100 * time.Millisecond)
		w.wantError(c, context.DeadlineExceeded)
		w.wantNodes(1)
	}},
	{"B20", "cancelled during the listing on a broken connection", 2, func(w *world) {
		w.acquire(w.mutex(1))
		ctx, cancel := context.WithCancel(background)
		c := w.begin(ctx, w.mutex(2).Lock)
		w.serve(2)
		w.cluster.Deliver(w.client(2).Link)
		w.send() // the listing
		w.cluster.Cut(w.client(2).Link)
		cancel()
		w.wantError(c, context.Canceled)
		w.pass(1500 * time.Millisecond) // The delete fails more than once.
		w.cluster.Heal(w.client(2).Link)
		w.pass(1500 * time.Millisecond)
		w.wantNodes(1)
	}},
	{"B21", "the error of the clean-up hides that of the attempt", 1, func(w *world) {
		m := must(lock.NewMutex(unlistedForGood{unlisted{w.client(1)}}, "/lock", sessionTimeout))
		w.wantError(w.start(background, m), zk.ErrNoAuth)
	}},
	{"B23", "a cancelled waiter is woken and queues again", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		ctx, cancel := context.WithCancel(background)
		c := w.begin(ctx, w.mutex(2).Lock)
		w.flow()
		cancel()
		w.wantError(c, context.Canceled)
		w.wantNodes(1)
		w.unlock(holder)
		w.pass(2 * sessionTimeout)
		w.wantNodes(0)
	}},
	{"B24", "TryLock leaves its node", 2, func(w *world) {
		w.acquire(w.mutex(1))
		for range 3 {
			w.wantError(w.begin(background, w.mutex(2).TryLock), lock.ErrNotAcquired)
			w.wantNodes(1)
		}
	}},
}

// loseDelete has the first client try to take a lock that is held, and loses its delete.
func (w *world) loseDelete(try func(context.Context) (*lock.Lease, error)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(background, time.Second)
	defer cancel()
	c := w.begin(ctx, try)
	for range 2 { // create, list
		w.serve(1)
		w.cluster.Deliver(w.client(1).Link)
	}
	w.send()
	w.cluster.Cut(w.client(1).Link)
	w.pass(1500 * time.Millisecond)
	w.wantError(c, context.DeadlineExceeded)
	w.cluster.Heal(w.client(1).Link)
	w.pass(1500 * time.Millisecond)
}

// unlisted is a client that may not list.
type unlisted struct{ *simzk.Conn }

func (unlisted) Children(string) ([]string, *zk.Stat, error) { return nil, nil, zk.ErrNoAuth }

// unlistedAtFirst is one that may from the second attempt on: two listings are asked for in the
// first.
type unlistedAtFirst struct {
	*simzk.Conn
	listings atomic.Int32
}

func (u *unlistedAtFirst) Children(path string) ([]string, *zk.Stat, error) {
	if u.listings.Add(1) <= 2 {
		return nil, nil, zk.ErrNoAuth
	}
	return u.Conn.Children(path)
}

// unlistedForGood is one that may not delete either, for another reason.
type unlistedForGood struct{ unlisted }

func (unlistedForGood) Delete(string, int32) error { return zk.ErrInvalidACL }

// Watches are lost, or wake the wrong ones.
var watchDefects = []defect{
	{"B25", "the watch is lost with the connection", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.flow()
		w.cluster.Cut(w.client(2).Link)
		w.unlock(holder)
		w.wantWaiting(c)
		w.cluster.Heal(w.client(2).Link)
		w.pass(2 * time.Second)
		w.wantGranted(c)
	}},
	{"B26 B27 D2", "the predecessor goes between the listing and the watch", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		for range 2 { // create, list
			w.serve(2)
			w.cluster.Deliver(w.client(2).Link)
		}
		w.unlock(holder)
		w.flow()
		w.wantGranted(c)
	}},
	{"B28 D10", "a waiter does not learn that its session is over", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.flow()
		w.cluster.Expire(w.client(2).SessionID())
		w.pass(2 * time.Second)
		w.wantNodes(2)
		w.unlock(holder)
		w.wantGranted(c)
	}},
	{"B29", "the first number is never waited for", 2, func(w *world) {
		w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.flow()
		before := w.requests(2, "")
		w.pass(2 * sessionTimeout)
		w.wantWaiting(c)
		if after := w.requests(2, ""); before != 3 || after != before {
			w.t.Errorf("%d requests until it waited, want 3, and %d since", before, after-before)
		}
	}},
	{
		"B33", "finds its predecessor gone, and queues again or takes the lock without a node", 3,
		func(w *world) {
			holder := w.acquire(w.mutex(1))
			c := w.start(background, w.mutex(2))
			for range 2 { // create, list
				w.serve(2)
				w.cluster.Deliver(w.client(2).Link)
			}
			late := w.start(background, w.mutex(3))
			w.serve(3)
			w.unlock(holder)
			w.wantGranted(c)
			w.wantWaiting(late)
			if got := w.requests(2, "create"); got != 1 {
				w.t.Errorf("it made %d nodes, want 1", got)
			}
			if _, stands := w.cluster.Tree().Stat(c.lease.Node()); !stands {
				w.t.Error("it holds the lock without a node")
			}
		},
	},
	{
		"B36", "the session expires during a retry, and the attempt deadlocks", 2,
		func(w *world) {
			holder := w.acquire(w.mutex(1))
			m := must(lock.NewMutex(newUnsearchable(w.client(2), 30), "/lock", sessionTimeout))
			c := w.start(background, m)
			w.pass(time.Second)
			w.cluster.Expire(w.client(2).SessionID())
			w.pass(5 * time.Second)
			w.unlock(holder)
			w.pass(time.Second)
			w.wantGranted(c)
			w.wantNodes(1)
		},
	},
	{
		"B37", "a control: spurious and early events", 2,
		func(w *world) {
			// A Mutex changes its node only to give the lock back.
			holder := w.take(background, w.rwmutex(1).Lock)
			c := w.begin(background, w.rwmutex(2).Lock)
			w.flow()
			for range 3 {
				for _, node := range []string{holder.Node(), "/lock"} {
					w.do(func() error {
						_, err := w.client(1).Set(node, []byte("?"),
							-1)
						return err
					})
					w.wantWaiting(c)
				}
			}
			w.unlock(holder)
			w.wantGranted(c)
		},
	},
	{"B31", "watches are left on deleted nodes", 2, func(w *world) {
		for range 5 {
			holder := w.acquire(w.mutex(1))
			c := w.start(background, w.mutex(2))
			for range 2 {
				w.serve(2)
				w.cluster.Deliver(w.client(2).Link)
			}
			w.unlock(holder)
			w.wantGranted(c)
			w.unlock(c.lease)
		}
		if watches, _ := w.cluster.Watches(); watches != 0 {
			w.t.Errorf("%d watches are left", watches)
		}
	}},
	{"B32", "every contender waits for the first", 4, func(w *world) {
		holder := w.acquire(w.guid(1, 9))
		var calls []*call
		for client := 2; client <= 4; client++ { // The names are in another order than the numbers.
			calls = append(calls, w.start(background, w.guid(client, 9-client)))
			w.flow()
		}
		before := w.requests(3, "") + w.requests(4, "")
		w.unlock(holder)
		w.wantGranted(calls[0])
		if woken := w.requests(3, "") + w.requests(4, "") - before; woken != 0 {
			w.t.Errorf("%d requests of those who were not to be woken", woken)
		}
	}},
}

// guid returns a mutex whose first contender has a GUID of that one digit.
func (w *world) guid(client, digit int) *lock.Mutex {
	return w.mutex(client,
		lock.WithRandom(bytes.NewReader(bytes.Repeat([]byte{byte(digit * 17)}, 16))))
}

// Contenders are put into the wrong order, or readers and writers into each other's way.
var orderDefects = []defect{
	{"B38", "ordered by name instead of number", 2, func(w *world) {
		w.acquire(w.guid(1, 9))
		w.wantWaiting(w.start(background, w.guid(2, 1)))
	}},
	{"B39", "the minus sign of an overflowed number is lost", 1, func(w *world) {
		w.wrapped(1<<31-1, "2147483647", "-2147483648")
		w.wantBehind(w.start(background, w.mutex(1)), "2147483647", "-2147483648")
	}},
	{"B40 D19", "overflowed numbers come first", 1, func(w *world) {
		w.wrapped(-1<<31+9, "2147483646", "2147483647", "-2147483648", "-2147483647")
		c := w.start(background, w.mutex(1))
		w.wantBehind(c, "-2147483647", "-2147483648", "2147483647", "2147483646")
	}},
	{"B41", "two contenders with the same number", 1, func(w *world) {
		w.wrapped(1<<31-1, "2147483647", "2147483647")
		w.wantBehind(w.start(background, w.mutex(1)), "2147483647", "2147483647")
	}},
	{"B42", "a reader waits for a writer behind it", 3, func(w *world) {
		writer := w.take(background, w.rwmutex(1).Lock)
		ctx, leave := context.WithCancel(background)
		w.begin(ctx, w.rwmutex(1).Lock)
		w.flow()
		reader := w.begin(background, w.rwmutex(2).RLock)
		w.flow()
		late := w.begin(background, w.rwmutex(3).Lock)
		w.flow()
		leave() // The reader lists again.
		w.flow()
		w.unlock(writer)
		w.wantGranted(reader)
		w.unlock(reader.lease)
		w.wantGranted(late)
	}},
	{"B43", "a writer gets in before a downgraded holder unlocks", 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.rwmutex(1)
		writing := w.take(owner, m.Lock)
		writer := w.begin(background, w.rwmutex(2).Lock)
		w.flow()
		reading := w.take(owner, m.RLock)
		w.unlock(writing)
		w.wantWaiting(writer)
		w.unlock(reading)
		w.wantGranted(writer)
	}},
	{"B45 D20", "a foreign node is taken for a contender", 1, func(w *world) {
		for _, name := range []string{
			"0", "config", "-1", "n-0000000000", "_c_x-lock-0000000000",
			"_c_0123456789abcdef0123456789abcdeg-lock-0000000000",
		} {
			w.create("/lock/"+name, 0, 0)
		}
		w.acquire(w.mutex(1))
	}},
}

// wrapped makes nodes of other contenders with numbers around the end of the counter, one after the
// other, and sets the counter. Their names stand behind those of all others.
func (w *world) wrapped(next int32, numbers ...string) {
	for i, number := range numbers {
		w.create(fmt.Sprintf("/lock/_c_ffffffff%024x-lock-%s", 15-i, number), zk.FlagEphemeral, 77)
	}
	w.cluster.Tree().SetSequence("/lock", next)
}

// wantBehind wants a call to wait until all nodes are gone, those with these numbers in this order.
func (w *world) wantBehind(c *call, numbers ...string) {
	w.t.Helper()
	for _, number := range numbers {
		w.wantWaiting(c)
		for _, name := range w.nodes() {
			if strings.HasSuffix(name, "-lock-"+number) && strings.HasPrefix(name, "_c_ffffffff") {
				if err := w.do(func() error {
					return w.client(1).Delete("/lock/"+name,
						-1)
				}); err != nil {
					w.t.Fatal(err)
				}
				break
			}
		}
	}
	w.flow()
	w.wantGranted(c)
}

// A session is lost, and somebody does not know it.
var sessionDefects = []defect{
	{"B46", "the holder does not learn of the loss", 2, func(w *world) {
		lease := w.acquire(w.mutex(1))
		w.cluster.Isolate(w.client(1).Link)
		rival := w.start(background, w.mutex(2))
		for range 200 {
			w.pass(50 * time.Millisecond)
			if rival.returned() && lease.Err() == nil {
				w.t.Fatal("the lock was granted to another, and the holder does not know")
			}
		}
		w.wantGranted(rival)
	}},
	{"B47", "a node of an expired session counts as its own", 1, func(w *world) {
		foreign := &foreignOwner{Conn: w.client(1)}
		lease := w.acquire(must(lock.NewMutex(foreign, "/lock", sessionTimeout)))
		if lease.Node() == foreign.first {
			w.t.Error("the lock was granted by a node of another session")
		}
	}},
	{"B50", "a lost lock cannot be used again", 2, func(w *world) {
		m := w.mutex(1)
		lost := w.acquire(m)
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(2 * time.Second)
		if err := w.do(func() error { return lost.Unlock(background) }); !errors.Is(err,
			lock.ErrLost) {
			w.t.Errorf("Unlock: %v", err)
		}
		w.unlock(w.acquire(m))
		w.acquire(w.mutex(2))
	}},
	{"B51 D11", "granted without a node", 3, func(w *world) {
		holder := w.acquire(w.mutex(1))
		c := w.start(background, w.mutex(2))
		w.flow()
		// The waiter's node goes, and it hears only of the holder's end.
		for _, name := range w.nodes() {
			if path := "/lock/" + name; path != holder.Node() {
				if err := w.do(func() error { return w.client(3).Delete(path, -1) }); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		rival := w.start(background, w.mutex(3))
		w.watch() // A node that was seen a moment ago is not looked at again.
		w.wantWaiting(c, rival)
		w.unlock(holder)
		w.wantGranted(rival)
		w.wantWaiting(c)
	}},
	{
		"B51 D11", "granted without a node, just after the session's end", 3,
		func(w *world) {
			holder := w.acquire(w.mutex(1))
			c := w.start(background, w.mutex(2))
			w.flow()
			// It does not hear of the end, and then only of the holder's.
			w.cluster.Cut(w.client(2).Link)
			w.cluster.Expire(w.client(2).SessionID())
			rival := w.start(background, w.mutex(3))
			w.wantWaiting(c, rival)
			w.cluster.Heal(w.client(2).Link)
			w.unlock(holder)
			w.wantGranted(rival)
			w.pass(2 * time.Second)
			w.wantWaiting(c)
		},
	},
	{"B53", "a late release removes the next holder", 2, func(w *world) {
		lost := w.acquire(w.mutex(1))
		w.cluster.Expire(w.client(1).SessionID())
		rival := w.acquire(w.mutex(2))
		go lost.Unlock(background)
		w.pass(2 * time.Second)
		if rival.Err() != nil {
			w.t.Error(rival.Err())
		}
		w.wantNodes(1)
	}},
	{"B54", "the holder learns late, because a request is never answered", 1, func(w *world) {
		lease := w.acquire(w.mutex(1))
		told := lease.Done() // To call it later is to look at the clock.
		for began := time.Now(); time.Since(began) < sessionTimeout; {
			time.Sleep(100 * time.Millisecond)
			w.send() // and nothing is served
		}
		if !closed(told) || !errors.Is(lease.Err(), lock.ErrLost) {
			w.t.Errorf("after %v of silence: %v", sessionTimeout, lease.Err())
		}
	}},
}

// A process counts wrongly, or waits for itself.
var localDefects = []defect{
	{"B55", "a released lock is kept alive", 2, func(w *world) {
		w.unlock(w.acquire(w.mutex(1)))
		before := w.requests(1, "")
		w.pass(3 * sessionTimeout)
		if after := w.requests(1, ""); after != before {
			w.t.Errorf("%d requests after the lock was given back", after-before)
		}
	}},
	{"B64 D3", "a failed attempt counts as successful", 2, func(w *world) {
		rival := w.acquire(w.mutex(2))
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		ctx, cancel := context.WithCancel(owner)
		failed := w.start(ctx, m)
		w.flow()
		cancel()
		w.wantError(failed, context.Canceled)
		again := w.start(owner, m)
		w.wantWaiting(again)
		w.wantError(w.begin(owner, m.TryLock), lock.ErrNotAcquired)
		w.unlock(rival)
		w.wantGranted(again)
	}},
	{"D6 D14", "one attempt ends while another on the same handle begins", 3, func(w *world) {
		m := w.mutex(1)
		first := w.acquire(m)
		second, third := w.start(background, m), w.start(background, m)
		w.wantWaiting(second, third)
		done := false
		go func() { first.Unlock(background); done = true }()
		fourth := w.start(background, m)
		w.flow()
		held := 0
		for _, c := range []*call{second, third, fourth} {
			if c.returned() {
				held++
				if _, stands := w.cluster.Tree().Stat(c.lease.Node()); !stands {
					w.t.Error("held without a node")
				}
			}
		}
		if !done || held != 1 {
			w.t.Errorf("unlocked %v, and %d hold the lock", done, held)
		}
		w.wantNodes(3)
	}},
	{"D9", "a lock that was lost is re-entered", 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		w.take(owner, m.Lock)
		w.cluster.Expire(w.client(1).SessionID())
		rival := w.acquire(w.mutex(2))
		w.pass(2 * time.Second)
		again := w.start(owner, m)
		w.wantWaiting(again)
		w.unlock(rival)
		w.wantGranted(again)
	}},
	{"D15", "each cancelled attempt leaves a watch", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		m := w.mutex(2)
		for range 5 {
			ctx, cancel := context.WithCancel(background)
			c := w.start(ctx, m)
			w.wantWaiting(c)
			cancel()
			w.wantError(c, context.Canceled)
		}
		last := w.start(background, m)
		w.wantWaiting(last)
		if got := w.requests(2, "get+watch"); got != 1 {
			w.t.Errorf("%d watches were set, want one", got)
		}
		w.unlock(holder)
		w.wantGranted(last)
	}},
	{"D16", "a lock belongs to a goroutine", 1, func(w *world) {
		m := w.mutex(1)
		lease := w.acquire(m)
		other := w.start(background, m)
		w.wantWaiting(other) // The same goroutine or not is no matter.
		w.unlock(lease)      // in another goroutine than that which has locked
		w.wantGranted(other)
	}},
	{
		"D23", "re-entered after a failed attempt, one release is not enough", 1,
		func(w *world) {
			owner := lock.WithOwner(background)
			failing := &unlistedAtFirst{Conn: w.client(1)}
			m := must(lock.NewMutex(failing, "/lock", sessionTimeout))
			w.wantError(w.start(owner, m), zk.ErrNoAuth)
			w.unlock(w.take(owner, m.Lock))
			w.wantNodes(0)
		},
	},
	{"D24", "not all locks on a session learn of its end", 2, func(w *world) {
		var leases []*lock.Lease
		for _, path := range []string{"/lock/a", "/lock/b", "/lock/c"} {
			leases = append(leases, w.acquire(w.at(1, path)))
		}
		var told []<-chan struct{}
		for _, lease := range leases {
			told = append(told, lease.Done())
		}
		w.cluster.Expire(w.client(1).SessionID())
		w.pass(2 * time.Second)
		for i, lease := range leases {
			if !closed(told[i]) || !errors.Is(lease.Err(), lock.ErrLost) {
				w.t.Errorf("%s: %v", lease.Node(), lease.Err())
			}
		}
	}},
	{"B56", "two handles of one owner deadlock", 1, func(w *world) {
		owner := lock.WithOwner(background)
		w.take(owner, w.mutex(1).Lock)
		w.take(owner, w.mutex(1).Lock)
	}},
	{"B57 D4", "one release undoes two acquisitions", 2, func(w *world) {
		owner := lock.WithOwner(background)
		m := w.mutex(1)
		outer, inner := w.take(owner, m.Lock), w.take(owner, m.Lock)
		c := w.start(background, w.mutex(2))
		w.flow()
		w.unlock(inner)
		w.unlock(inner) // and once more than that
		w.wantWaiting(c)
		w.unlock(outer)
		w.wantGranted(c)
	}},
	{"B59", "TryLock spins while the lock is held", 1, func(w *world) {
		m := w.mutex(1)
		w.acquire(m)
		before := w.requests(1, "")
		w.wantError(w.begin(background, m.TryLock), lock.ErrNotAcquired)
		if got := w.requests(1, "") - before; got != 3 {
			w.t.Errorf("%d requests, want 3", got)
		}
	}},
	{"B60", "a cancelled call makes the next fail", 2, func(w *world) {
		holder := w.acquire(w.mutex(1))
		m := w.mutex(2)
		ctx, cancel := context.WithCancel(background)
		c := w.start(ctx, m)
		w.flow()
		cancel()
		w.wantError(c, context.Canceled)
		w.unlock(holder)
		w.unlock(w.acquire(m))
	}},
	{"B61 D18", "the timeout restarts with each wake-up", 3, func(w *world) {
		w.acquire(w.mutex(1))
		leaving, leave := context.WithCancel(background)
		w.start(leaving, w.mutex(2))
		w.flow()
		ctx, cancel := context.WithTimeout(background, 2*time.Second)
		defer cancel()
		c := w.start(ctx, w.mutex(3))
		w.pass(1500 * time.Millisecond)
		leave()
		w.pass(700 * time.Millisecond)
		w.wantError(c, context.DeadlineExceeded)
	}},
	{"B63 D21", "the directory is removed while others are about to use it", 1, func(w *world) {
		m := must(lock.NewMutex(w.client(1), "/jobs/nightly", sessionTimeout))
		for range 2 {
			w.unlock(w.acquire(m))
			if err := w.do(func() error {
				return w.client(1).Delete("/jobs/nightly",
					-1)
			}); err != nil {
				w.t.Fatal(err)
			}
		}
		w.unlock(w.acquire(m))
	}},
	{"D1", "a wake-up counts as a grant", 3, func(w *world) {
		w.acquire(w.mutex(1))
		ctx, cancel := context.WithCancel(background)
		w.start(ctx, w.mutex(2))
		w.flow()
		c := w.start(background, w.mutex(3))
		w.flow()
		cancel()
		w.wantWaiting(c)
	}},
	{"D5", "alone in the directory counts as first", 2, func(w *world) {
		rival := w.acquire(w.mutex(2))
		gone := &vanishing{Conn: w.client(1), gone: make(chan struct{})}
		c := w.start(background, must(lock.NewMutex(gone, "/lock", sessionTimeout)))
		w.wantWaiting(c)
		w.unlock(rival)
		w.wantGranted(c)
	}},
}

// vanishing is a client whose first node is gone before it lists.
type vanishing struct {
	*simzk.Conn
	once bool
	gone chan struct{}
}

func (v *vanishing) Children(path string) ([]string, *zk.Stat, error) {
	<-v.gone
	return v.Conn.Children(path)
}

func (v *vanishing) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := v.Conn.Create(path, data, flags, acl)
	if err == nil && !v.once {
		v.once = true
		err = v.Conn.Delete(created, -1)
		close(v.gone)
	}
	return created, err
}

// Every defect that is tested for is described, and the other way round.
func TestDefectsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../docs/lock-defects.md")
	if err != nil {
		t.Fatal(err)
	}
	tested := make(map[string]bool)
	for _, list := range allDefects {
		for _, d := range list {
			tested[d.id] = true
		}
	}
	for line := range strings.Lines(string(page)) {
		id, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !row || !strings.HasPrefix(line, "| ") || id == "test" {
			continue
		}
		if !tested[id] {
			t.Errorf("%s is described, and there is no test, or a second description", id)
		}
		delete(tested, id)
	}
	for id := range tested {
		t.Errorf("%s is not described", id)
	}
}
