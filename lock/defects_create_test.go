package lock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// The reply to a create is lost.
var createDefects = []defect{
	{"B01 D7", "no GUID, waits behind its own second node", 1, func(w *world) {
		c, node := w.loseCreate(w.session(1))
		w.wantGranted(c)
		w.wantNodes(1)
		if c.lease.Node() != node {
			w.t.Errorf("holds %s, created %s", c.lease.Node(), node)
		}
	}},
	{"B02", "the search for the node stops at the first error", 1, func(w *world) {
		ctx, cancel := context.WithTimeout(background, 500*time.Millisecond)
		defer cancel()
		m := must(lock.NewMutex(w.sessionOf(1, newUnsearchable(w.client(1), 10)), "/lock"))
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
		time.Sleep(200 * time.Millisecond) // It retries after a delay.
		w.send()
		if n := w.requests(1, "multi"); n != 1 {
			w.t.Fatalf("%d searches in flight, want 1", n)
		}
		cancel()
		w.wantError(c, context.Canceled)
		if n := w.requests(1, "create"); n != 1 {
			w.t.Errorf("%d creates, want none after the call was cancelled", n-1)
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
				w.t.Errorf("the node is named %s", name)
			}
		}
	}},
	{"B08", "the clean-up adds the path prefix twice", 2, func(w *world) {
		w.create("/app", 0, 0)
		for number, strip := range map[int]bool{1: true, 2: false} {
			conn := w.client(number)
			m := must(lock.NewMutex(w.sessionOf(number, prefixed{conn, "/app", strip}), "/lock"))
			lease := w.acquire(m)
			done := false
			go func() { lease.Unlock(background); done = true }()
			w.send()
			w.cluster.Cut(conn.Link)
			w.cluster.Heal(conn.Link)
			w.pass(2 * time.Second)
			if left := w.cluster.Tree().Children("/app/lock", nil).Children; !done ||
				len(left) > 0 {
				w.t.Errorf("done %v, left %v", done, left)
			}
		}
	}},
	{"B09", "a found node is not recognized by its path", 2, func(w *world) {
		c, node := w.loseCreate(w.session(1))
		w.wantGranted(c)
		if c.lease.Node() != node {
			w.t.Errorf("holds %s, created %s", c.lease.Node(), node)
		}
		waiter := w.start(background, w.mutex(2))
		w.wantWaiting(waiter)
		w.unlock(c.lease)
		w.wantGranted(waiter)
	}},
	{"B10", "the search on a server that lags", 1, func(w *world) {
		c, node := w.loseCreate(w.sessionOf(1, &lagging{Conn: w.client(1)}))
		w.wantGranted(c)
		if c.lease.Node() != node {
			w.t.Errorf("holds %s, created %s", c.lease.Node(), node)
		}
	}},
}

// loseCreate makes the first client take the lock and loses the reply to its create. It returns the
// path of the node.
func (w *world) loseCreate(session *lock.Session) (*call, string) {
	w.t.Helper()
	c := w.start(background, must(lock.NewMutex(session, "/lock")))
	w.serve(1)
	w.wantNodes(1)
	node := "/lock/" + w.nodes()[0]
	w.cluster.LoseReply(w.client(1).Link)
	w.cluster.Heal(w.client(1).Link)
	w.pass(2 * time.Second)
	return c, node
}

// unsearchable is a client whose first listings fail.
type unsearchable struct {
	*model.Conn
	failures atomic.Int32
}

func newUnsearchable(conn *model.Conn, failures int32) *unsearchable {
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

// prefixed is a client that adds a prefix to every path, and removes it from the result of Create
// or not.
type prefixed struct {
	*model.Conn
	prefix string
	strip  bool
}

func (p prefixed) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := p.Conn.Create(p.prefix+path, data, flags, acl)
	if p.strip {
		created = strings.TrimPrefix(created, p.prefix)
	}
	return created, err
}

func (p prefixed) Delete(path string, version int32) error {
	return p.Conn.Delete(p.prefix+path, version)
}

func (p prefixed) Exists(path string) (bool, *zk.Stat, error) {
	return p.Conn.Exists(p.prefix + path)
}

func (p prefixed) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return p.Conn.GetW(p.prefix + path)
}

func (p prefixed) Children(path string) ([]string, *zk.Stat, error) {
	return p.Conn.Children(p.prefix + path)
}

func (p prefixed) Multi(operations ...any) ([]zk.MultiResponse, error) {
	rooted := make([]any, len(operations))
	for i, operation := range operations {
		switch o := operation.(type) {
		case *zk.CheckVersionRequest:
			rooted[i] = &zk.CheckVersionRequest{Path: p.prefix + o.Path, Version: o.Version}
		case *zk.SetDataRequest:
			rooted[i] = &zk.SetDataRequest{
				Path: p.prefix + o.Path, Data: o.Data, Version: o.Version,
			}
		case *zk.DeleteRequest:
			rooted[i] = &zk.DeleteRequest{Path: p.prefix + o.Path, Version: o.Version}
		}
	}
	return p.Conn.Multi(rooted...)
}

func (p prefixed) Sync(path string) (string, error) { return p.Conn.Sync(p.prefix + path) }

// lagging is a client on a server that knows nothing until it has taken part in a transaction. It
// may answer a sync without one, like a deposed leader.
type lagging struct {
	*model.Conn
	agreed atomic.Bool
}

func (l *lagging) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := l.Conn.Create(path, data, flags, acl)
	l.agreed.Store(err == nil) // A server that answers a create has applied it.
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
