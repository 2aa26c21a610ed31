package lock_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// sessionTimeout is the timeout that the simulated ensemble grants.
const sessionTimeout = 4 * time.Second

// A world is a simulated ensemble in a bubble of virtual time, with clients that contend for its
// lock.
type world struct {
	t       *testing.T
	cluster *simzk.Cluster
	servers int
	clients []*model.Conn
	// those of the clients, by their numbers
	sessions map[int]*lock.Session
	log      *history.Log
	cancels  []context.CancelFunc // of calls
	began    time.Time
}

// inWorld runs a test in a world of one server with the given number of clients. The directory
// /lock exists.
func inWorld(t *testing.T, clients int, test func(w *world)) {
	inEnsemble(t, 1, 0, func(w *world) {
		w.create("/lock", 0, 0)
		for range clients {
			w.clients = append(w.clients, model.Connect(w.cluster))
		}
		test(w)
	})
}

// inEnsemble runs a test in a world with the given number of servers (the last one leads) and
// of clients, which are connected to the servers in turn.
func inEnsemble(t *testing.T, servers, clients int, test func(w *world)) {
	inConfigured(t, simzk.Config{Servers: servers}, clients, test)
}

// inConfigured is inEnsemble with a configuration of the ensemble, which it completes.
func inConfigured(t *testing.T, config simzk.Config, clients int, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		config.SessionTimeout = cmp.Or(config.SessionTimeout, sessionTimeout)
		config.Settle = synctest.Wait
		config.Lag = config.Servers > 1
		log := new(history.Log)
		w := &world{
			t: t, log: log, began: time.Now(), servers: config.Servers,
			cluster: simzk.New(config, log), sessions: make(map[int]*lock.Session),
		}
		for range clients {
			w.clients = append(w.clients, model.Connect(w.cluster))
		}
		defer func() {
			for _, cancel := range w.cancels {
				cancel()
			}
			for _, conn := range w.clients {
				conn.TearDown()
			}
			time.Sleep(time.Minute)
		}()
		test(w)
	})
}

func (w *world) client(number int) *model.Conn { return w.clients[number-1] }

// create creates a node that belongs to a session, or to none.
func (w *world) create(path string, flags int32, owner int64) {
	w.cluster.Tree().Apply(&tree.Write{
		Op: wire.OpCreate, Path: path, ACL: tree.Open, Flags: flags,
		Session: owner,
	})
}

func (w *world) mutex(client int, options ...lock.Option) *lock.Mutex {
	w.t.Helper()
	m, err := lock.NewMutex(w.session(client), "/lock", options...)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// flow delivers every message, oldest client first, until none is left. No time passes.
func (w *world) flow() {
	for moved := true; moved; {
		synctest.Wait()
		w.cluster.Collect()
		moved = false
		for _, link := range w.cluster.Links() {
			if _, ok := link.Servable(); ok {
				w.cluster.Serve(link)
				moved = true
			}
			if _, ok := link.Deliverable(); ok {
				w.cluster.Deliver(link)
				moved = true
			}
			synctest.Wait()
		}
		for server := range w.servers {
			if _, ok := w.cluster.Loggable(server); ok {
				w.cluster.Log(server)
				moved = true
			}
			if _, ok := w.cluster.Applicable(server); ok {
				w.cluster.Apply(server)
				moved = true
			}
		}
	}
}

// send puts the clients' pending requests on the network, and no further.
func (w *world) send() {
	synctest.Wait()
	w.cluster.Collect()
}

// serve makes the server handle what the client has sent, and delivers no reply.
func (w *world) serve(client int) {
	w.send()
	for {
		if _, ok := w.client(client).Servable(); !ok {
			return
		}
		w.cluster.Serve(w.client(client).Link)
	}
}

// pass lets time pass, and delivers every message on the way.
func (w *world) pass(duration time.Duration) { w.passUntil(time.Since(w.began) + duration) }

// passUntil lets time pass up to a time since the beginning, and delivers every message on the way.
func (w *world) passUntil(at time.Duration) {
	for w.flow(); time.Since(w.began) < at; w.flow() {
		w.advance(min(100*time.Millisecond, at-time.Since(w.began)))
	}
}

// advance lets time pass for the clients and the servers, and delivers nothing.
func (w *world) advance(pause time.Duration) {
	time.Sleep(pause) // Virtual time: the world is in a bubble of synctest.
	synctest.Wait()
	w.cluster.Advance(time.Since(w.began))
}

// awaitRequest lets time pass, and delivers messages between the servers and one client, until the
// client has sent a number of requests of that kind. The last one is not served.
func (w *world) awaitRequest(client int, verb string, count int) {
	w.t.Helper()
	link := w.client(client).Link
	for range 100 {
		for progress := true; progress; {
			progress = false
			if w.send(); w.requests(client, verb) >= count {
				return
			}
			if _, ok := link.Servable(); ok {
				w.cluster.Serve(link)
				progress = true
			}
			if _, ok := link.Deliverable(); ok {
				w.cluster.Deliver(link)
				progress = true
			}
		}
		w.advance(50 * time.Millisecond)
	}
	w.t.Fatalf("c%d has sent %d requests of kind %s, want %d", client, w.requests(client, verb),
		verb, count)
}

// answer serves what the client has sent and delivers the replies, and no more.
func (w *world) answer(client int) {
	w.serve(client)
	for {
		if _, ok := w.client(client).Deliverable(); !ok {
			break
		}
		w.cluster.Deliver(w.client(client).Link)
	}
	w.send()
}

// reconnect heals the client's link and waits until it has its session again. Its requests are not
// served after that.
func (w *world) reconnect(client int) {
	w.t.Helper()
	conn := w.client(client)
	w.cluster.Heal(conn.Link)
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		w.send()
		w.cluster.Advance(time.Since(w.began))
		if conn.State() == zk.StateConnected {
			w.send()
			w.cluster.Serve(conn.Link)
			w.cluster.Deliver(conn.Link)
			return
		}
	}
	w.t.Fatalf("c%d does not reconnect, it is in state %v", client, conn.State())
}

// A call is a call of Lock in progress.
type call struct {
	lease *lock.Lease
	err   error
	done  chan struct{}
}

func (w *world) start(ctx context.Context, m *lock.Mutex) *call { return w.begin(ctx, m.Lock) }

// begin calls any of the ways to take a lock, and lets the sync that may precede the create pass.
// The context ends with the world, if not before.
func (w *world) begin(ctx context.Context, take func(context.Context) (*lock.Lease, error)) *call {
	w.send()
	passSync := w.nextSync()
	c := w.call(ctx, take)
	w.send()
	passSync()
	return c
}

// call is begin, but lets nothing pass.
func (w *world) call(ctx context.Context, take func(context.Context) (*lock.Lease, error)) *call {
	ctx, cancel := context.WithCancel(ctx)
	w.cancels = append(w.cancels, cancel)
	c := &call{done: make(chan struct{})}
	go func() {
		c.lease, c.err = take(ctx)
		close(c.done)
	}()
	return c
}

// nextSync returns a function that serves the next request of a client that has nothing in flight
// now, if it is a sync, and delivers the reply.
func (w *world) nextSync() func() {
	idle := make([]bool, len(w.clients))
	syncs := make([]int, len(w.clients))
	for i, conn := range w.clients {
		_, servable := conn.Servable()
		_, deliverable := conn.Deliverable()
		idle[i], syncs[i] = !servable && !deliverable, w.requests(i+1, "sync")
	}
	return func() {
		for i, conn := range w.clients {
			if _, ok := conn.Servable(); !ok || !idle[i] || w.requests(i+1, "sync") == syncs[i] {
				continue
			}
			w.cluster.Serve(conn.Link)
			if _, ok := conn.Deliverable(); ok {
				w.cluster.Deliver(conn.Link)
			}
			w.send()
		}
	}
}

func (c *call) returned() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// acquire takes the lock, which must be free.
func (w *world) acquire(m *lock.Mutex) *lock.Lease {
	w.t.Helper()
	return w.take(context.Background(), m.Lock)
}

// take takes a lock that is free.
func (w *world) take(ctx context.Context, take func(context.Context) (*lock.Lease,
	error),
) *lock.Lease {
	w.t.Helper()
	c := w.begin(ctx, take)
	w.flow()
	w.wantGranted(c)
	return c.lease
}

func (w *world) wantGranted(c *call) {
	w.t.Helper()
	if !c.returned() || c.err != nil {
		w.t.Fatalf("the lock was not granted: returned %v, error %v", c.returned(), c.err)
	}
}

// watch lets enough time pass for a holder to watch its node.
func (w *world) watch() { w.pass(sessionTimeout / 10) }

// wantError waits until nothing moves, and verifies that a call has failed.
func (w *world) wantError(c *call, want error) {
	w.t.Helper()
	w.flow()
	if !c.returned() || !errors.Is(c.err, want) {
		w.t.Fatalf("returned %v with error %v, want %v", c.returned(), c.err, want)
	}
}

func (w *world) wantWaiting(calls ...*call) {
	w.t.Helper()
	w.flow()
	for i, c := range calls {
		if c.returned() {
			w.t.Fatalf("call %d returned with error %v, want it to wait", i, c.err)
		}
	}
}

// do runs a function that sends requests, and returns its error.
func (w *world) do(request func() error) error {
	w.t.Helper()
	var err error
	done := false
	go func() { err = request(); done = true }()
	w.flow()
	if !done {
		w.t.Fatal("the request has not returned")
	}
	return err
}

// unlock releases a lock that is held.
func (w *world) unlock(l *lock.Lease) {
	w.t.Helper()
	if err := w.do(func() error { return l.Unlock(context.Background()) }); err != nil {
		w.t.Fatalf("Unlock: %v", err)
	}
}

// nodes returns the names of the nodes in the lock's directory.
func (w *world) nodes() []string { return w.cluster.Tree().Children("/lock", nil).Children }

func (w *world) wantNodes(n int) {
	w.t.Helper()
	if nodes := w.nodes(); len(nodes) != n {
		w.t.Fatalf("%d nodes: %s, want %d", len(nodes), strings.Join(nodes, " "), n)
	}
}

// requests returns the number of requests of that kind, or of any, that the client has sent.
func (w *world) requests(client int, verb string) int {
	n := 0
	for _, e := range w.log.Events() {
		if e.Kind == history.Send && e.Process == int32(client) && (verb == "" || e.Op == verb) {
			n++
		}
	}
	return n
}
