package lock_test

import (
	"context"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
)

// A ring is a set of contenders that take a lock in turn and queue again once they have unlocked.
type ring struct {
	*world
	mutexes map[int]*lock.Mutex // by client
	queue   []queuedCall        // the holder, then the waiters
	last    *lock.Lease
	had     map[string]bool // nodes that were granted the lock
	mu      sync.Mutex
	waits   []lock.Event
}

// Observe implements lock.Observer.
func (r *ring) Observe(e lock.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind == lock.Waiting {
		r.waits = append(r.waits, e)
	}
}

// A queuedCall is a call of a client.
type queuedCall struct {
	*call
	client int
	cancel context.CancelFunc
}

// inRing runs a test in a world with the given number of clients; the first of them have gone
// round often enough for each to know its predecessor. The lock's directory has had the given
// number of nodes before.
func inRing(t *testing.T, clients, contenders int, past int32, test func(r *ring)) {
	inAgedWorld(t, clients, past, func(w *world) {
		r := &ring{world: w, mutexes: make(map[int]*lock.Mutex), had: make(map[string]bool)}
		for client := 1; client <= contenders; client++ {
			r.enter(client)
		}
		for range 4 * contenders {
			r.enter(r.leave())
		}
		test(r)
	})
}

// enter makes a client join the queue.
func (r *ring) enter(client int) {
	r.request(client)
	r.flow()
}

// request makes a client send its create.
func (r *ring) request(client int) {
	if r.mutexes[client] == nil {
		r.mutexes[client] = r.mutex(client, lock.WithObserver(r))
	}
	ctx, cancel := context.WithCancel(background)
	r.queue = append(r.queue, queuedCall{r.start(ctx, r.mutexes[client]), client, cancel})
}

// leave makes the first client unlock, which must hold the lock alone, and returns its number.
func (r *ring) leave() (client int) {
	r.t.Helper()
	first := r.queue[0]
	r.queue = r.queue[1:]
	r.wantGranted(first.call)
	for _, other := range r.queue {
		if other.returned() {
			r.t.Fatalf("c%d returned, error %v, while c%d holds the lock", other.client, other.err,
				first.client)
		}
	}
	if r.last != nil && first.lease.Token() <= r.last.Token() {
		r.t.Errorf("c%d has token %d after %d", first.client, first.lease.Token(), r.last.Token())
	}
	if r.had[first.lease.Node()] {
		r.t.Errorf("c%d has node %s, which was used before", first.client, first.lease.Node())
	}
	r.last, r.had[first.lease.Node()] = first.lease, true
	r.unlock(first.lease)
	return first.client
}

// drop removes the last but one from the queue, after its end.
func (r *ring) drop() queuedCall {
	i := len(r.queue) - 2
	dropped := r.queue[i]
	r.queue = append(r.queue[:i:i], r.queue[i+1:]...)
	return dropped
}

// wantListings verifies how often a client has listed the contenders while f ran.
func (r *ring) wantListings(client, want int, while func()) {
	r.t.Helper()
	before := r.requests(client, "children")
	while()
	if got := r.requests(client, "children") - before; got != want {
		r.t.Errorf("c%d listed the contenders %d times, want %d", client, got, want)
	}
}

// Contenders that return in the same order do not list, neither in a new directory nor in an old
// one.
func TestHint(t *testing.T) {
	for _, past := range []int32{0, 1000, math.MaxInt32 - 100} {
		inRing(t, 3, 3, past, func(r *ring) {
			r.waits = nil
			var before [4]int
			for client := 1; client <= 3; client++ {
				before[client] = r.requests(client, "")
			}
			for range 6 {
				r.enter(r.leave())
			}
			// Each has unlocked and queued twice.
			for client := 1; client <= 3; client++ {
				if got := r.requests(client, "") - before[client]; got != 2*3 {
					t.Errorf("past %d: c%d took %d requests for each turn, want 3", past, client,
						got/2)
				}
			}
			if len(r.waits) != 6 {
				t.Errorf("past %d: %d contenders are reported as waiting, want 6", past,
					len(r.waits))
			}
			for _, e := range r.waits {
				if e.Ahead != 0 {
					t.Errorf("past %d: %d are reported ahead, want unknown", past,
						e.Ahead)
				}
			}
		})
	}
}

// Whatever the outcome of a hint, nobody overtakes, nobody is granted the lock beside the holder,
// and tokens increase.
func TestWrongHint(t *testing.T) {
	for _, tc := range []struct {
		name       string
		contenders int
		past       int32
		test       func(r *ring)
	}{
		{"a new contender came between", 3, 1000, func(r *ring) {
			client := r.leave()
			r.enter(4)
			r.wantListings(client, 1, func() { r.enter(client) })
		}},
		{"a new contender came between and left", 3, 1000, func(r *ring) {
			client := r.leave()
			r.enter(4)
			r.request(client)
			r.serve(client)
			r.drop().cancel()
			r.serve(4)
			r.wantListings(client, 1, r.flow)
		}},
		{"the predecessor is gone by then", 3, 1000, func(r *ring) {
			client := r.leave()
			r.request(client)
			r.serve(client)
			gone := r.drop()
			gone.cancel()
			r.serve(gone.client)
			r.wantListings(client, 1, r.flow)
		}},
		{"the predecessor gives up", 3, 1000, func(r *ring) {
			client := r.leave()
			r.wantListings(client, 0, func() { r.enter(client) })
			r.drop().cancel()
			r.wantListings(client, 1, r.flow)
		}},
		{"the predecessor loses its session", 3, 1000, func(r *ring) {
			client := r.leave()
			r.wantListings(client, 0, func() { r.enter(client) })
			lost := r.drop()
			r.cluster.Isolate(r.client(lost.client).Link)
			r.wantListings(client, 1, func() { r.pass(3 * sessionTimeout) })
			lost.cancel()
			r.flow()
		}},
		{"all have left", 2, 1000, func(r *ring) {
			r.leave()
			client := r.leave()
			r.wantListings(client, 1, func() { r.enter(client) })
		}},
		{"the answer is lost", 3, 1000, func(r *ring) {
			client := r.leave()
			r.request(client)
			r.serve(client)
			r.cluster.Deliver(r.client(client).Link)
			r.serve(client)
			r.cluster.LoseReply(r.client(client).Link)
			r.cluster.Heal(r.client(client).Link)
			r.wantListings(client, 1, func() { r.pass(time.Second) })
		}},
		{"the directory was created again", 2, 1000, func(r *ring) {
			first, second := r.leave(), r.leave()
			if err := r.do(func() error { return r.client(3).Delete("/lock", -1) }); err != nil {
				r.t.Fatal(err)
			}
			r.enter(first)
			r.wantListings(second, 1, func() { r.enter(second) })
		}},
		{"one transaction created many nodes", 3, 1000, func(r *ring) {
			var leap []any
			for range 100 {
				leap = append(leap, &zk.CreateRequest{
					Path: "/lock/other",
					Acl:  zk.WorldACL(zk.PermAll),
				},
					&zk.DeleteRequest{Path: "/lock/other", Version: -1})
			}
			client := r.leave()
			if err := r.do(func() error {
				_,
					err := r.client(client).Multi(leap...)
				return err
			}); err != nil {
				r.t.Fatal(err)
			}
			r.enter(client)
			for range 3 {
				r.enter(r.leave())
			}
			r.enter(4)
		}},
		{"the numbers overflow", 2, math.MaxInt32 - 12, func(r *ring) {
			r.enter(r.leave())
			first := r.leave()
			r.enter(first)
			second := r.leave()
			r.enter(3)
			r.enter(second) // The number is the same, and the first one's is one less.
			if node := r.nodesOf("-2147483647"); node != 2 {
				r.t.Fatalf("%d nodes have the last number, want 2", node)
			}
			for range 8 {
				r.enter(r.leave())
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inRing(t, 4, tc.contenders, tc.past, func(r *ring) {
				tc.test(r)
				for range 2 * tc.contenders {
					r.enter(r.leave())
				}
				for len(r.queue) > 0 {
					r.leave()
				}
				r.wantNodes(0)
			})
		})
	}
}

// nodesOf returns the number of nodes whose names have the suffix.
func (r *ring) nodesOf(suffix string) int {
	n := 0
	for _, name := range r.nodes() {
		if strings.HasSuffix(name, suffix) {
			n++
		}
	}
	return n
}

// Two contenders that have swapped places are known to each other, and to the one behind them, from
// the next round on.
func TestHintAfterASwap(t *testing.T) {
	inRing(t, 3, 3, 1000, func(r *ring) {
		for range 12 {
			r.enter(r.leave())
		}
		first, second := r.leave(), r.leave()
		r.wantListings(second, 1, func() { r.enter(second) })
		r.wantListings(first, 1, func() { r.enter(first) })
		third := r.leave()
		r.wantListings(third, 1, func() { r.enter(third) })
		for range 6 {
			client := r.leave()
			r.wantListings(client, 0, func() { r.enter(client) })
		}
	})
}

// If the order of contenders does not repeat, each uses its hint once.
func TestHintAfterMisses(t *testing.T) {
	inAgedWorld(t, 5, 1000, func(w *world) {
		var mutexes []*lock.Mutex
		for client := range 5 {
			mutexes = append(mutexes, w.mutex(client+1))
		}
		const rounds = 8
		for round := range rounds {
			lease := w.acquire(mutexes[4])
			var waiters []*call
			// each behind another one every time
			for _, i := range [][]int{
				{0, 1, 2, 3},
				{1, 3, 0, 2},
				{2, 0, 3, 1},
				{3, 2, 1, 0},
			}[round%4] {
				waiters = append(waiters, w.start(background, mutexes[i]))
				w.flow()
			}
			for i, next := range waiters {
				w.wantWaiting(waiters[i:]...)
				w.unlock(lease)
				w.wantGranted(next)
				lease = next.lease
			}
			w.unlock(lease)
		}
		for client := 1; client <= 4; client++ {
			if lists, watches := w.requests(client, "children"),
				w.requests(client, "get+watch"); lists != rounds || watches != rounds+1 {
				t.Errorf("c%d sent %d requests to list and %d to watch, want %d and %d", client,
					lists, watches,
					rounds, rounds+1)
			}
		}
	})
}

type observerFunc func(lock.Event)

func (f observerFunc) Observe(e lock.Event) { f(e) }

// loseReply loses what is in flight to the first client, and gives it time to reconnect.
func (w *world) loseReply() {
	w.cluster.LoseReply(w.client(1).Link)
	w.cluster.Heal(w.client(1).Link)
	w.pass(time.Second)
}

// listings counts the listings that a client sends.
type listings struct {
	net.Conn
	count *atomic.Int64
}

// Write writes one request: the client sends each at once.
func (l listings) Write(p []byte) (int, error) {
	if len(p) > 11 && p[11] == 12 { // length, number, operation; getChildren2
		l.count.Add(1)
	}
	return l.Conn.Write(p)
}

// Three contenders that return in the same order soon stop listing.
func TestHintOverSockets(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			s := &fixture{t, b.start(t)}
			var count atomic.Int64
			dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
				conn, err := net.DialTimeout(network, address, timeout)
				return listings{conn, &count}, err
			}
			var mutexes []*lock.Mutex
			waits := make(chan struct{}, 3)
			var waiting sync.Map // nodes with a Waiting event
			for range 3 {
				mutexes = append(mutexes, s.mutex(openSession(t, s.address, behaviourTimeout, dial),
					"/steady",
					lock.WithObserver(observerFunc(func(e lock.Event) {
						if e.Kind != lock.Waiting {
							return
						}
						if _, told := waiting.LoadOrStore(e.Node, true); !told {
							waits <- struct{}{}
						}
					}))))
			}
			results := make(chan *call, 3)
			enter := func(mutex *lock.Mutex) {
				go func() {
					lease, err := mutex.Lock(s.context())
					results <- &call{lease: lease, err: err}
				}()
				s.await("the wait", waits)
			}
			holder := s.take(mutexes[0])
			enter(mutexes[1])
			enter(mutexes[2])
			for i := range 45 {
				if i == 30 { // By now all know their predecessors, and numbers are high enough.
					count.Store(0)
				}
				s.unlock(holder)
				next := <-results
				s.wantError(next.err, nil)
				if next.lease.Token() <= holder.Token() {
					s.Errorf("token %d after %d", next.lease.Token(), holder.Token())
				}
				holder = next.lease
				enter(mutexes[i%3])
			}
			if n := count.Load(); n != 0 {
				s.Errorf("the contenders were listed %d times in five rounds, want never", n)
			}
		})
	}
}
