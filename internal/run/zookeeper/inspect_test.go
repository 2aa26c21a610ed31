package zookeeper_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/zookeeper"
	"github.com/interlock-sim/interlock/sim"
)

// An inspection shows the servers of an ensemble, the clients and what is in flight, and leaves out
// the znodes that every ZooKeeper has.
func TestInspect(t *testing.T) {
	system := zookeeper.Service{}.New()
	system.Reset(sim.Config{Servers: 3, Log: new(history.Log), Settle: func() {}})
	system.Connect()
	system.Connect()
	i := system.(sim.Inspector).Inspect()
	if len(i.Nodes) != 1 || i.Nodes[0].Path != "/lock" || i.Nodes[0].Process != 0 ||
		i.Nodes[0].Session != "" {
		t.Errorf("znodes %+v", i.Nodes)
	}
	if len(i.Servers) != 3 || !i.Servers[2].Leader || i.Servers[0].Leader || !i.Servers[0].Up ||
		i.Servers[1].Number != 2 || i.Servers[1].Partitioned {
		t.Errorf("servers %+v", i.Servers)
	}
	if len(i.Peers) != 2 || i.Peers[1].Process != 2 || i.Peers[0].Crashed || i.Peers[0].Server < 1 {
		t.Errorf("clients %+v", i.Peers)
	}
	for n, s := range i.Sessions {
		if s.Process != int32(n+1) || s.ID == "" || s.Expires <= 0 {
			t.Errorf("session %+v", s)
		}
	}
}
