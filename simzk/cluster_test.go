package simzk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
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

// EventNext tells an event on its way to the client from a reply and from nothing.
func TestEventNext(t *testing.T) {
	withHarness(t, 1, func(s *harness) {
		link := s.client("c1").Link
		want := func(what string, want bool) {
			if got := link.EventNext(); got != want {
				t.Errorf("next is %s: event %v, want %v", what, got, want)
			}
		}
		want("nothing", false)
		s.run(t, "call", "c1", "getw", "/")
		s.run(t, "serve", "c1")
		want("a reply", false)
		s.flow()
		s.run(t, "call", "c1", "set", "/", "data=x")
		s.run(t, "serve", "c1")
		want("an event before a reply", true)
		s.run(t, "deliver", "c1")
		want("the reply", false)
	})
}
