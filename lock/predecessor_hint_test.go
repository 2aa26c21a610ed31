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

// A ring is contenders that take a lock in turn, and come back when they have given it back.
type ring struct {
	*world
	mutexes map[int]*lock.Mutex // by client
	queue   []turn              // who holds the lock, and who waits
	last    *lock.Lease
	had     map[string]bool // the nodes that have been granted the lock
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

// A turn is that of a client.
type turn struct {
	*call
	client int
	cancel context.CancelFunc
}

// inRing runs a test in a world with so many clients, of which the first have gone round so often
// that each knows who comes before it. In the lock's directory as many nodes as past says have come
// and gone before.
func inRing(t *testing.T, clients, contenders int, past int32, test func(r *ring)) {
	inOldWorld(t, clients, past, func(w *world) {
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

// enter lets a client take its place in the queue.
func (r *ring) enter(client int) {
	r.come(client)
	r.flow()
}

// come lets a client ask for its place.
func (r *ring) come(client int) {
	if r.mutexes[client] == nil {
		r.mutexes[client] = r.mutex(client, lock.WithObserver(r))
	}
	ctx, cancel := context.WithCancel(background)
	r.queue = append(r.queue, turn{r.start(ctx, r.mutexes[client]), client, cancel})
}

// leave lets the first give the lock back, which it must have by now and nobody beside it, and
// returns which client that was.
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
		r.t.Errorf("c%d has node %s, as somebody had before", first.client, first.lease.Node())
	}
	r.last, r.had[first.lease.Node()] = first.lease, true
	r.unlock(first.lease)
	return first.client
}

// drop takes the last but one out of the queue, who has come to its end.
func (r *ring) drop() turn {
	i := len(r.queue) - 2
	dropped := r.queue[i]
	r.queue = append(r.queue[:i:i], r.queue[i+1:]...)
	return dropped
}

// wantListings wants a client to have listed the contenders so often while something happened.
func (r *ring) wantListings(client, want int, while func()) {
	r.t.Helper()
	before := r.requests(client, "children")
	while()
	if got := r.requests(client, "children") - before; got != want {
		r.t.Errorf("c%d listed the contenders %d times, want %d", client, got, want)
	}
}

// Contenders that come back in the same order do not list each other, neither in a new directory
// nor in an old one.
func TestGuess(t *testing.T) {
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
			// Each has given the lock back twice, and asked for it as often.
			for client := 1; client <= 3; client++ {
				if got := r.requests(client, "") - before[client]; got != 2*3 {
					t.Errorf("past %d: c%d took %d requests for each turn, want 3", past, client,
						got/2)
				}
			}
			if len(r.waits) != 6 {
				t.Errorf("past %d: %d contenders are said to wait, want 6", past, len(r.waits))
			}
			for _, e := range r.waits {
				if e.Ahead != 0 {
					t.Errorf("past %d: %d are said to be ahead, which nobody can know", past,
						e.Ahead)
				}
			}
		})
	}
}

// Whatever comes of a guess, nobody overtakes, nobody is let in beside the holder, and tokens rise.
func TestGuessIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name       string
		contenders int
		past       int32
		test       func(r *ring)
	}{
		{"a stranger has come between", 3, 1000, func(r *ring) {
			client := r.leave()
			r.enter(4)
			r.wantListings(client, 1, func() { r.enter(client) })
		}},
		{"a stranger has come between and gone", 3, 1000, func(r *ring) {
			client := r.leave()
			r.enter(4)
			r.come(client)
			r.serve(client)
			r.drop().cancel()
			r.serve(4)
			r.wantListings(client, 1, r.flow)
		}},
		{"the one before has gone by then", 3, 1000, func(r *ring) {
			client := r.leave()
			r.come(client)
			r.serve(client)
			gone := r.drop()
			gone.cancel()
			r.serve(gone.client)
			r.wantListings(client, 1, r.flow)
		}},
		{"the one before gives up", 3, 1000, func(r *ring) {
			client := r.leave()
			r.wantListings(client, 0, func() { r.enter(client) })
			r.drop().cancel()
			r.wantListings(client, 1, r.flow)
		}},
		{"the one before loses its session", 3, 1000, func(r *ring) {
			client := r.leave()
			r.wantListings(client, 0, func() { r.enter(client) })
			lost := r.drop()
			r.cluster.Isolate(r.client(lost.client).Link)
			r.wantListings(client, 1, func() { r.pass(3 * sessionTimeout) })
			lost.cancel()
			r.flow()
		}},
		{"all have gone", 2, 1000, func(r *ring) {
			r.leave()
			client := r.leave()
			r.wantListings(client, 1, func() { r.enter(client) })
		}},
		{"the answer is lost", 3, 1000, func(r *ring) {
			client := r.leave()
			r.come(client)
			r.serve(client)
			r.cluster.Deliver(r.client(client).Link)
			r.serve(client)
			r.cluster.LoseReply(r.client(client).Link)
			r.cluster.Heal(r.client(client).Link)
			r.wantListings(client, 1, func() { r.pass(time.Second) })
		}},
		{"the directory was made again", 2, 1000, func(r *ring) {
			first, second := r.leave(), r.leave()
			if err := r.do(func() error { return r.client(3).Delete("/lock", -1) }); err != nil {
				r.t.Fatal(err)
			}
			r.enter(first)
			r.wantListings(second, 1, func() { r.enter(second) })
		}},
		{"numbers leap, as somebody has made many nodes at once", 3, 1000, func(r *ring) {
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
		{"the numbers come to their end", 2, math.MaxInt32 - 12, func(r *ring) {
			r.enter(r.leave())
			first := r.leave()
			r.enter(first)
			second := r.leave()
			r.enter(3)
			r.enter(second) // The number is the same, and one less is that of the first.
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

// nodesOf returns how many nodes stand whose names end so.
func (r *ring) nodesOf(suffix string) int {
	n := 0
	for _, name := range r.nodes() {
		if strings.HasSuffix(name, suffix) {
			n++
		}
	}
	return n
}

// Two that have changed places are known to each other and to the one behind them from the next
// time on.
func TestGuessAfterASwap(t *testing.T) {
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

// Where the order of contenders does not repeat, each guesses once and no more.
func TestGuessNoMore(t *testing.T) {
	inOldWorld(t, 5, 1000, func(w *world) {
		var mutexes []*lock.Mutex
		for client := range 5 {
			mutexes = append(mutexes, w.mutex(client+1))
		}
		const rounds = 8
		for round := range rounds {
			lease := w.acquire(mutexes[4])
			var waiters []*call
			// each behind another every time
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

// loseReply loses what is on the way to the first client, and gives it time to connect again.
func (w *world) loseReply() {
	w.cluster.LoseReply(w.client(1).Link)
	w.cluster.Heal(w.client(1).Link)
	w.pass(time.Second)
}

// listings counts the requests for children that a client sends.
type listings struct {
	net.Conn
	count *atomic.Int64
}

// Write writes a request: the client writes each at once.
func (l listings) Write(p []byte) (int, error) {
	if len(p) > 11 && p[11] == 12 { // length, number, operation; getChildren2
		l.count.Add(1)
	}
	return l.Conn.Write(p)
}

// Three that come back in the same order do not list each other after a while.
func TestGuessOverSockets(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			s := &stage{t, b.start(t)}
			var count atomic.Int64
			dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
				conn, err := net.DialTimeout(network, address, timeout)
				return listings{conn, &count}, err
			}
			var mutexes []*lock.Mutex
			waits := make(chan struct{}, 3)
			var waiting sync.Map // the nodes of which that was told
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
				if i == 30 { // By now all know who comes before them, and numbers are high enough.
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
