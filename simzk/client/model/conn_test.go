package model_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/operation"
)

// A world is a cluster with one client, in a bubble of virtual time.
type world struct {
	cluster *simzk.Cluster
	conn    *model.Conn
	log     *history.Log
}

// withWorld runs a test in a bubble. The client's event channel is empty.
func withWorld(t *testing.T, test func(s *world)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s := &world{log: new(history.Log)}
		s.cluster = simzk.New(simzk.Config{Settle: synctest.Wait}, s.log)
		s.conn = model.Connect(s.cluster)
		for range 3 {
			<-s.conn.Events()
		}
		test(s)
		s.conn.TearDown()
		synctest.Wait()
	})
}

// settle lets the process settle and collects its requests.
func (s *world) settle() {
	synctest.Wait()
	s.cluster.Collect()
}

// flow serves all requests and delivers all messages.
func (s *world) flow() {
	for s.settle(); s.conn.Unserved()+s.conn.Undelivered() > 0; s.settle() {
		if _, ok := s.conn.Servable(); ok {
			s.cluster.Serve(s.conn.Link)
		} else {
			s.cluster.Deliver(s.conn.Link)
		}
	}
}

// pass advances time and delivers no message.
func (s *world) pass(by time.Duration) {
	for end := s.cluster.Now() + by; s.cluster.Now() < end; s.settle() {
		next := end
		if at, ok := s.cluster.Deadline(); ok {
			next = min(next, at)
		}
		time.Sleep(next - s.cluster.Now())
		s.cluster.Advance(next)
	}
}

// The event channel has capacity six. A client that does not read it loses the newest events, and
// receives events again once it has read some.
func TestEventChannelDrops(t *testing.T) {
	withWorld(t, func(s *world) {
		conn := s.conn
		s.cluster.Cut(conn.Link)
		s.pass(20 * time.Second)
		if n, size := len(conn.Events()), cap(conn.Events()); n != 6 || size != 6 {
			t.Errorf("%d events of %d, want 6 of 6", n, size)
		}
		if first := <-conn.Events(); first.State != zk.StateDisconnected {
			t.Errorf("the first event is %v, want the oldest", first)
		}
		s.cluster.Heal(conn.Link)
		s.pass(time.Second)
		s.flow()
		var last zk.Event
		for len(conn.Events()) > 0 {
			last = <-conn.Events()
		}
		if last.State != zk.StateConnected || conn.State() == zk.StateConnected {
			t.Errorf("the last event is %v in state %v, want the first one after the drain", last,
				conn.State())
		}
	})
}

// Only the content of requests that goroutines of one process send at the same time decides their
// order.
func TestSimultaneousRequests(t *testing.T) {
	paths := []string{"/c", "/a", "/b"}
	histories := make(map[uint64]bool)
	for range 2 {
		slices.Reverse(paths)
		withWorld(t, func(s *world) {
			for _, path := range paths {
				go s.conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
				synctest.Wait()
			}
			s.flow()
			if n := len(s.cluster.Tree().Children("/", nil).Children) - 1; n != 3 {
				t.Errorf("%d nodes, want 3", n)
			}
			histories[s.log.Hash()] = true
		})
	}
	if len(histories) != 1 {
		t.Error("the order of the calls shows in the history")
	}
}

// The same holds for multis, which differ only in their operations.
func TestSimultaneousMultis(t *testing.T) {
	paths := []string{"/c", "/a", "/b"}
	histories := make(map[uint64]bool)
	for range 2 {
		slices.Reverse(paths)
		withWorld(t, func(s *world) {
			for _, path := range paths {
				go s.conn.Multi(&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll)})
				synctest.Wait()
			}
			s.flow()
			histories[s.log.Hash()] = true
		})
	}
	if len(histories) != 1 {
		t.Error("the order of the calls shows in the history")
	}
}

// The model shares no memory with its callers: overwriting sent or received data changes no node.
func TestDataIsCopied(t *testing.T) {
	withWorld(t, func(s *world) {
		conn, data := s.conn, []byte("data")
		var first, second []byte
		go func() {
			conn.Create("/n", data, 0, zk.WorldACL(zk.PermAll))
			data[0] = 'x'
			first, _, _ = conn.Get("/n")
			first[1] = 'x'
			second, _, _ = conn.Get("/n")
		}()
		s.flow()
		if string(second) != "data" {
			t.Errorf("%q, want the data that was sent", second)
		}
	})
}

// A request that is sent at the same time as a Close queues behind it, and the server does not
// answer it.
func TestCloseEndsRequests(t *testing.T) {
	withWorld(t, func(s *world) {
		conn := s.conn
		var err error
		go func() { _, _, err = conn.Get("/") }()
		synctest.Wait()
		closed := false
		go func() { conn.Close(); closed = true }()
		s.flow()
		if err != zk.ErrConnectionClosed || !closed {
			t.Errorf("error %v, closed %v, want %v", err, closed, zk.ErrConnectionClosed)
		}
		if r := conn.Pending(); r != nil {
			t.Errorf("a %s still waits", operation.Name(r.Op))
		}
	})
}

// TearDown ends goroutines that wait for a reply or call the client later, and closes all channels.
func TestTearDown(t *testing.T) {
	withWorld(t, func(s *world) {
		conn := s.conn
		events := conn.Events()
		var watch <-chan zk.Event
		go func() { _, _, watch, _ = conn.ExistsW("/n") }()
		s.settle()
		s.flow()
		ended, returned := 0, 0
		ask := func() {
			defer func() { ended++ }()
			conn.Sync("/")
			returned++
		}
		go ask()
		s.settle()
		conn.TearDown()
		synctest.Wait()
		go ask()
		synctest.Wait()
		if ended != 2 || returned != 0 {
			t.Errorf("%d goroutines ended and %d calls returned, want 2 and 0", ended, returned)
		}
		if e := <-watch; e.Type != zk.EventNotWatching || e.Err != zk.ErrClosing {
			t.Errorf("the watch received %v", e)
		}
		if _, open := <-watch; open {
			t.Error("the watch's channel is open")
		}
		for name, channel := range map[string]<-chan zk.Event{"old": events, "new": conn.Events()} {
			if _, open := <-channel; open {
				t.Errorf("the %s channel of events is open", name)
			}
		}
	})
}
