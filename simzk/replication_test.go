package simzk_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// run runs a command of a script.
func (s *harness) run(t *testing.T, name string, words ...string) {
	t.Helper()
	if err := s.runCommand(name, words); err != nil {
		t.Fatalf("%s %v: %v", name, words, err)
	}
	s.settle()
}

// withEnsemble runs a test in a bubble, with three servers and clients connected to them in turn.
func withEnsemble(t *testing.T, clients int, test func(s *harness)) {
	synctest.Test(t, func(t *testing.T) {
		s := newEnsembleHarness(t, 3)
		defer s.tearDown()
		for range clients {
			s.join()
		}
		test(s)
	})
}

// A follower applies a transaction that is committed, and no other.
func TestProgressOfAWrite(t *testing.T) {
	withEnsemble(t, 3, func(s *harness) {
		want := func(when string, converged bool, unapplied ...int) {
			t.Helper()
			if got := s.cluster.Converged(); got != converged {
				t.Errorf("%s: all is committed: %v, want %v", when, got, converged)
			}
			for server, n := range unapplied {
				_, applicable := s.cluster.Applicable(server)
				if got := s.cluster.Unapplied(server); got != n || applicable != (n > 0) {
					t.Errorf("%s: s%d has %d transactions to apply, want %d; can apply one: %v",
						when, server+1, got, n, applicable)
				}
			}
		}
		want("at first", true, 0, 0, 0)
		s.run(t, "call", "c3", "create", "/a")
		s.run(t, "call", "c3", "create", "/b")
		s.run(t, "serve", "c3")
		want("proposed", false, 0, 0, 0)
		s.run(t, "log", "s1")
		want("committed", true, 1, 1, 0)
		s.run(t, "apply", "s1")
		want("applied", true, 0, 1, 0)
		s.run(t, "serve", "c3")
		s.run(t, "log", "s1")
		want("another", true, 1, 2, 0)
	})
}

// At the leader, the requests of a session wait for its writes, and those of others do not.
func TestRequestsWaitForTheWritesOfTheirSession(t *testing.T) {
	withEnsemble(t, 6, func(s *harness) {
		servable := func(client string, want bool) {
			t.Helper()
			if _, got := s.client(client).Servable(); got != want {
				t.Errorf("a request of %s can be served: %v, want %v", client, got, want)
			}
		}
		s.run(t, "call", "c3", "create", "/a")
		s.run(t, "serve", "c3")
		s.run(t, "call", "c3", "get", "/")
		s.run(t, "call", "c6", "get", "/")
		servable("c3", false)
		servable("c6", true)
		s.run(t, "log", "s1")
		servable("c3", true)
	})
}

// They also wait for a write of the session that came through another server.
func TestRequestsWaitForTheWritesOfAnotherServer(t *testing.T) {
	withEnsemble(t, 1, func(s *harness) {
		s.run(t, "call", "c1", "create", "/a")
		s.run(t, "serve", "c1")
		s.run(t, "block", "c1", "s2")
		s.run(t, "block", "c1", "s1") // It connects to the leader.
		s.run(t, "serve", "c1")
		s.run(t, "deliver", "c1")
		s.run(t, "call", "c1", "exists", "/a")
		if _, ok := s.client("c1").Servable(); ok {
			t.Error("the leader serves a read before the session's write is committed")
		}
		s.run(t, "log", "s2")
		s.run(t, "serve", "c1")
		s.run(t, "deliver", "c1")
		if !strings.Contains(s.output.String(), "exists /a = true") {
			t.Errorf("the session does not see its write:\n%s", s.output.String())
		}
	})
}

// A leader that reaches no majority stops serving after six ticks of two seconds, and one that
// reaches a majority does not.
func TestLeaderWithoutMajorityStops(t *testing.T) {
	const leader = 2
	for _, tc := range []struct {
		name  string
		links [][2]int
		stops bool
	}{
		{"one follower", [][2]int{{0, leader}, {0, 1}}, false},
		{"alone", [][2]int{{0, leader}, {1, leader}, {0, 1}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := simzk.New(simzk.Config{Servers: 3, Lag: true}, nil)
			if c.WillNoticePartition() {
				t.Error("a server will notice a partition")
			}
			for _, link := range tc.links {
				c.PartitionLink(link[0], link[1])
				c.PartitionLink(link[1], link[0])
			}
			if !c.WillNoticePartition() {
				t.Error("no server will notice the partition")
			}
			for at := time.Duration(0); at < 20*time.Second; at += 500 * time.Millisecond {
				c.Advance(at)
				if stopped := !c.Serving(leader); stopped != (tc.stops && at >= 12*time.Second) {
					t.Fatalf("at %v the leader has stopped: %v", at, stopped)
				}
			}
		})
	}
}

// A follower that is cut off serves what needs no leader: reads, and the end of a local session.
func TestRequestsWithoutALeader(t *testing.T) {
	for _, local := range []bool{false, true} {
		for _, tc := range []struct {
			request  wire.Request
			servable bool
		}{
			{wire.Request{Op: wire.OpGetData, Path: "/"}, true},
			{wire.Request{Op: wire.OpSetData, Path: "/", Version: -1}, false},
			{wire.Request{Op: wire.OpSync, Path: "/"}, false},
			{wire.Request{Op: wire.OpCloseSession}, local},
		} {
			t.Run(fmt.Sprintf("%s, local %v", operation.Name(tc.request.Op), local),
				func(t *testing.T) {
					config := simzk.Config{Servers: 3, Lag: true}
					if local {
						config.LocalSessions = simzk.FixedLocalSessions
					}
					c := simzk.New(config, nil)
					_, link := enter(t, c, 0, 0, make([]byte, 16))
					c.PartitionServer(0, true, true)
					if err := c.Receive(link,
						operation.AppendRequest(nil, &tc.request)); err != nil {
						t.Fatal(err)
					}
					if _, got := link.Servable(); got != tc.servable {
						t.Errorf("servable: %v, want %v", got, tc.servable)
					}
					if !tc.servable {
						return
					}
					c.Serve(link)
					if _, ok := link.Deliverable(); !ok {
						t.Error("no reply")
					}
				})
		}
	}
}

// A write whose record cannot be decoded fails and takes a transaction, unless it is a reconfig.
func TestWritesThatCannotBeDecoded(t *testing.T) {
	for _, tc := range []struct {
		request      wire.Request
		transactions int64
	}{
		{wire.Request{Op: wire.OpSetData, Path: "/", Version: -1}, 1},
		{wire.Request{Op: wire.OpReconfig, Reconfig: &wire.Reconfig{Joining: "x"}}, 0},
		{wire.Request{Op: wire.OpGetData, Path: "/"}, 0},
	} {
		c := simzk.New(simzk.Config{}, nil)
		_, link := enter(t, c, 0, 0, make([]byte, 16))
		before, frame := c.Zxid(), operation.AppendRequest(nil, &tc.request)
		if err := c.Receive(link, frame[:len(frame)-1]); err != nil {
			t.Fatal(err)
		}
		c.Serve(link)
		if got := c.Zxid() - before; got != tc.transactions {
			t.Errorf("%s took %d transactions, want %d", operation.Name(tc.request.Op), got,
				tc.transactions)
		}
	}
}

// The key tells since when a server is cut off, whom it does not hear, when a client was last
// heard of, how fast its clock is, and which servers it does not reach.
func TestKeyTellsOfThePast(t *testing.T) {
	keys := make(map[uint64]string)
	distinct := func(name string, servers int, past func(c *simzk.Cluster)) uint64 {
		c := simzk.New(simzk.Config{Servers: servers, Lag: true}, nil)
		past(c)
		c.SetNow(c.Now().Truncate(2*time.Second) + time.Second)
		if other, ok := keys[c.Key()]; ok {
			t.Errorf("%s and %s have the same key", other, name)
		}
		keys[c.Key()] = name
		return c.Key()
	}
	for _, at := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond} {
		distinct(fmt.Sprint("a contact at ", at), 3, func(c *simzk.Cluster) {
			c.SetNow(at)
			enter(t, c, 0, 0, make([]byte, 16))
		})
		cut := func(c *simzk.Cluster) { c.PartitionServer(0, true, true) }
		key := distinct(fmt.Sprint("a cut at ", at), 3, func(c *simzk.Cluster) {
			c.SetNow(at)
			cut(c)
		})
		later := simzk.New(simzk.Config{Servers: 3, Lag: true}, nil)
		later.SetNow(at + 2*time.Second)
		cut(later)
		later.SetNow(3 * time.Second)
		if later.Key() != key {
			t.Errorf("a cut at %v: the key depends on the time", at)
		}
	}
	for _, percent := range []int{50, 100, 200} {
		distinct(fmt.Sprintf("a client's clock at %d %%", percent), 1, func(c *simzk.Cluster) {
			_, link := enter(t, c, 0, 0, make([]byte, 16))
			c.SetClientClock(link, percent)
		})
	}
	for server := range 3 {
		distinct(fmt.Sprintf("a client that s%d does not hear", server+1), 3,
			func(c *simzk.Cluster) {
				_, link := enter(t, c, 0, 0, make([]byte, 16))
				c.BlockClient(link, server)
			})
	}
	for from := 1; from <= 3; from++ {
		distinct(fmt.Sprintf("s1 does not hear s%d", from+1), 5, func(c *simzk.Cluster) {
			c.PartitionLink(from, 0)
		})
	}
}
