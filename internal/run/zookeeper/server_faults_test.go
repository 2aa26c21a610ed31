package zookeeper_test

import (
	"testing"
	"testing/synctest"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/zookeeper"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// withEnsemble runs a test with the given number of servers and one client at each.
func withEnsemble(t *testing.T, servers int, test func(c *simzk.Cluster)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		c := simzk.New(simzk.Config{Settle: synctest.Wait, Servers: servers, Lag: servers > 1},
			new(history.Log))
		for range servers {
			defer model.Connect(c).TearDown()
		}
		test(c)
	})
}

// Each of several servers can be killed or partitioned once; the only server cannot. A fault of a
// clock can strike each server once.
func TestPossibleAt(t *testing.T) {
	for _, kind := range []faults.Kind{
		faults.KillServer, faults.PartitionServer, faults.PartitionInbound,
		faults.PartitionOutbound, faults.PauseServer, faults.StallDisk, faults.SlowClock,
		faults.FastClock, faults.JumpClock,
	} {
		for _, servers := range []int{1, 2, 3, 7} {
			withEnsemble(t, servers, func(c *simzk.Cluster) {
				clock := kind == faults.SlowClock || kind == faults.FastClock ||
					kind == faults.JumpClock
				server := servers - 1
				if got, want := zookeeper.AtServer(c, server).Possible(kind), clock ||
					servers > 1; got != want {
					t.Fatalf("%d servers: %v can strike s%d: %v", servers, kind, server+1, got)
				} else if !want {
					return
				}
				zookeeper.AtServer(c, server).Inject(kind, faults.DefaultSeverity())
				if zookeeper.AtServer(c, server).Possible(kind) {
					t.Errorf("%d servers: %v can strike s%d again", servers, kind, server+1)
				}
			})
		}
	}
}

// A fault that strikes clients strikes no servers, and the reverse.
func TestVictims(t *testing.T) {
	withEnsemble(t, 3, func(c *simzk.Cluster) {
		for kind := range faults.Kinds {
			client, server := zookeeper.AtClient(nil, c.Links()[0]).Possible(kind),
				zookeeper.AtServer(c, 0).Possible(kind)
			supported := zookeeper.Service{}.Supports(kind)
			if server != (kind.OnServer() && supported) || client && (server || !supported) {
				t.Errorf("%v can strike a client: %v, a server: %v", kind, client, server)
			}
		}
	})
}

// The client of a killed server connects to another. The client of a partitioned server keeps its
// connection at first.
func TestServerFaults(t *testing.T) {
	withEnsemble(t, 3, func(c *simzk.Cluster) {
		first, second := c.Links()[0], c.Links()[1]
		zookeeper.AtServer(c, 0).Inject(faults.KillServer, faults.DefaultSeverity())
		if c.Up(0) || first.ServerIndex() == 0 || !first.Connected() {
			t.Errorf("s1 is up: %v; its client is at s%d, connected: %v", c.Up(0),
				first.ServerIndex()+1,
				first.Connected())
		}
		c.StartServer(0)
		zookeeper.AtServer(c, 1).Inject(faults.PartitionServer, faults.DefaultSeverity())
		if !c.Partitioned(1) || second.ServerIndex() != 1 || !second.Connected() {
			t.Errorf("s2 is partitioned: %v; its client is at s%d, connected: %v", c.Partitioned(1),
				second.ServerIndex()+1, second.Connected())
		}
		c.HealServer(1)
		if c.Partitioned(1) {
			t.Error("s2 is still partitioned")
		}
	})
}

// The links of a process do not become slow while a ping of one waits in a paused server.
func TestSlowAtPausedServer(t *testing.T) {
	withEnsemble(t, 3, func(c *simzk.Cluster) {
		c.AddConnection(new(simzk.Link), c.Links()[0], c.Links()[0].End())
		for _, kind := range []faults.Kind{faults.SlowLink, faults.SlowRequests, faults.SlowReplies} {
			zookeeper.AtServer(c, 0).Inject(faults.PauseServer, faults.DefaultSeverity())
			if zookeeper.AtClient(c, c.Links()[0]).Possible(kind) {
				t.Errorf("%v is possible", kind)
			}
			if c.ResumeServer(0); !zookeeper.AtClient(c, c.Links()[0]).Possible(kind) {
				t.Errorf("%v is not possible", kind)
			}
			c.HealServer(0)
		}
	})
}

// A reset does not take the link down, and requires another server.
func TestReset(t *testing.T) {
	withEnsemble(t, 3, func(c *simzk.Cluster) {
		link := c.Links()[0]
		zookeeper.AtClient(c, link).Inject(faults.Reset, faults.DefaultSeverity())
		if link.Down() || link.ServerIndex() == 0 {
			t.Errorf("the link is down: %v; the client is at s%d", link.Down(), link.ServerIndex()+
				1)
		}
	})
	withEnsemble(t, 1, func(c *simzk.Cluster) {
		if zookeeper.AtClient(nil, c.Links()[0]).Possible(faults.Reset) {
			t.Error("a reset is possible with a single server")
		}
	})
}
