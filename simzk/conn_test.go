package simzk_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/real"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// PrepareSequence consumes a number and a transaction for each omitted node.
func TestPrepareSequence(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := simzk.New(simzk.Config{Servers: servers, Lag: servers > 1}, nil)
		before := c.Zxid()
		c.Prepare(&tree.Write{Op: wire.OpCreate, Path: "/a", ACL: tree.Open})
		c.PrepareSequence("/a", 7)
		if got := c.Zxid() - before; got != 7 {
			t.Errorf("%d servers: %d transactions, want 7", servers, got)
		}
		made := c.Tree().Apply(&tree.Write{
			Op: wire.OpCreate, Path: "/a/n-", ACL: tree.Open,
			Flags: zk.FlagSequence,
		})
		if made.Path != "/a/n-0000000007" {
			t.Errorf("%d servers: the next node is %s, want number 7", servers, made.Path)
		}
	}
}

// withHarness runs a test on a harness in a bubble.
func withHarness(t *testing.T, clients int, test func(s *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		for range clients {
			s.join()
		}
		defer s.tearDown()
		test(s)
	})
}

// The event channel has capacity six. A client that does not read it loses the newest events, and
// receives events again once it has read some.
func TestEventChannelDrops(t *testing.T) {
	withHarness(t, 1, func(s *harness) {
		conn := s.client("c1")
		s.cluster.Cut(conn.Link)
		if err := s.pass([]string{"20s"}); err != nil {
			t.Fatal(err)
		}
		if n, size := len(conn.Events()), cap(conn.Events()); n != 6 || size != 6 {
			t.Errorf("%d events of %d, want 6 of 6", n, size)
		}
		if first := <-conn.Events(); first.State != zk.StateDisconnected {
			t.Errorf("the first event is %v, want the oldest", first)
		}
		s.cluster.Heal(conn.Link)
		if err := s.pass([]string{"1s"}); err != nil {
			t.Fatal(err)
		}
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
		withHarness(t, 1, func(s *harness) {
			for _, path := range paths {
				go s.client("c1").Create(path, nil, 0, zk.WorldACL(zk.PermAll))
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
		withHarness(t, 1, func(s *harness) {
			for _, path := range paths {
				go s.client("c1").Multi(&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll)})
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
	withHarness(t, 1, func(s *harness) {
		conn, data := s.client("c1"), []byte("data")
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
	withHarness(t, 1, func(s *harness) {
		conn := s.client("c1")
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
	withHarness(t, 0, func(s *harness) {
		conn := s.join()
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

// The same decisions lead to the same history and the same key, which differs from those of other
// states.
func TestSameDecisionsSameKey(t *testing.T) {
	histories, keys := make(map[uint64]bool), make(map[uint64]bool)
	for range 2 {
		withHarness(t, 2, func(s *harness) {
			initial := s.cluster.Key()
			for _, line := range [][]string{
				{"create", "/n", "ephemeral"},
				{"getw", "/n"},
				{"delete", "/n"},
			} {
				for _, conn := range s.clients {
					if err := s.call(conn, line); err != nil {
						t.Fatal(err)
					}
				}
				s.settle()
			}
			s.flow()
			s.cluster.Isolate(s.client("c1").Link)
			if err := s.pass([]string{"7s"}); err != nil {
				t.Fatal(err)
			}
			if s.cluster.Key() == initial {
				t.Error("the key equals the initial key")
			}
			histories[s.log.Hash()], keys[s.cluster.Key()] = true, true
		})
	}
	if len(histories) != 1 || len(keys) != 1 {
		t.Errorf("%d histories, %d keys, want 1 of each", len(histories), len(keys))
	}
}

// The time at which a server's death closes a connection matters to a process that reads the clock
// then. The key includes it, even if everything else is equal.
func TestKeyTellsWhenConnectionBroke(t *testing.T) {
	keys := make(map[uint64]bool)
	for _, late := range []bool{false, true, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newEnsembleHarness(t, 3)
			defer s.tearDown()
			s.join()
			pass := func() {
				if err := s.pass([]string{"100ms"}); err != nil {
					t.Fatal(err)
				}
			}
			if late {
				pass()
			}
			s.cluster.KillServer(0)
			if !late {
				pass()
			}
			s.flow()
			keys[s.cluster.Key()] = true
		})
	}
	if len(keys) != 2 {
		t.Errorf("%d keys, want 2", len(keys))
	}
}

// The same holds for the real client.
func TestKeyTellsWhenRealConnectionBroke(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	defer real.Determinize()()
	keys := make(map[uint64]bool)
	for _, late := range []bool{false, true, true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			cluster := simzk.New(simzk.Config{Settle: synctest.Wait, Servers: 3, Lag: true},
				new(history.Log))
			conn, err := real.Connect(cluster)
			if err != nil {
				t.Fatal(err)
			}
			link := conn.Link()
			defer time.Sleep(time.Minute)
			defer link.TearDown()
			pass := func() {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				cluster.Advance(time.Since(began))
			}
			if late {
				pass()
			}
			cluster.KillServer(0)
			if !late {
				pass()
			}
			for link.Unserved()+link.Undelivered() > 0 {
				if link.Unserved() > 0 {
					cluster.Serve(link)
				} else {
					cluster.Deliver(link)
				}
				synctest.Wait()
				cluster.Collect()
			}
			if link.ServerIndex() == 0 || !link.HasSession() {
				t.Fatal("the client has not found another server")
			}
			keys[cluster.Key()] = true
		})
	}
	if len(keys) != 2 {
		t.Errorf("%d keys, want 2", len(keys))
	}
}

// Activity receives one value after a process has sent something.
func TestActivity(t *testing.T) {
	withHarness(t, 1, func(s *harness) {
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			s.client("c1").Sync("/")
		}()
		<-s.cluster.Activity()
		if after := time.Since(began); after != time.Second {
			t.Errorf("activity after %v of virtual time, want 1s", after)
		}
		s.client("c1").Notify()
		s.client("c1").Notify()
		s.cluster.Collect()
		<-s.cluster.Activity()
		select {
		case <-s.cluster.Activity():
			t.Error("activity is reported twice")
		default:
		}
		if r := s.client("c1").Pending(); r == nil || r.Op != wire.OpSync {
			t.Errorf("pending %+v, want a sync", r)
		}
	})
}
