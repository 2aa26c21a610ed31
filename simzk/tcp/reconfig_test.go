package tcp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// reconfig returns an incremental reconfig (joining and leaving servers) or a complete one
// (NewMembers), with null for the absent lists.
func reconfig(r wire.Reconfig) wire.Request {
	if r.NewMembers == "" {
		r.NewMembers = wire.Null
	}
	return wire.Request{Op: wire.OpReconfig, Reconfig: &r}
}

// beSuper authenticates the client as the superuser.
func (c *rawClient) beSuper() {
	c.t.Helper()
	c.write(framed(&wire.Request{
		Xid: wire.XidAuth, Op: wire.OpAuth, Scheme: "digest",
		Data: []byte("super:test"),
	}))
	if reply := c.reply(wire.OpAuth); reply.Code != wire.OK {
		c.t.Fatal(reply.Code)
	}
}

// TestReconfigRefused requests invalid changes of the members.
func TestReconfigRefused(t *testing.T) {
	f := newFleet(t)
	_, processes, _ := launchEnsemble(t, f, 3)
	c, _ := open(t, processes[0].Address(), 20*time.Second)
	any := func(r wire.Reconfig) wire.Request {
		r.Version = -1
		return reconfig(r)
	}
	for _, test := range []struct {
		what string
		r    wire.Request
		want wire.Code
	}{
		{"without authentication", any(wire.Reconfig{Leaving: "3"}), wire.NoAuth},
		{"of another version", reconfig(wire.Reconfig{Leaving: "3", Version: 7}), wire.BadVersion},
		{"id is not a number", any(wire.Reconfig{Leaving: "three"}), wire.MarshallingError},
		{
			"without an address for clients", any(wire.Reconfig{Joining: "server.4=127.0.0.1:1:2"}),
			wire.BadArguments,
		},
		{
			"id of a joining server is not a number",
			any(wire.Reconfig{Joining: "server.x=127.0.0.1:1:2;3"}), wire.BadArguments,
		},
		{"no equals sign", any(wire.Reconfig{Joining: "x"}), wire.BadArguments},
		{
			"unknown role", any(wire.Reconfig{Joining: "server.4=127.0.0.1:1:2:king;3"}),
			wire.BadArguments,
		},
		{
			"repeated address",
			any(wire.Reconfig{Joining: "server.4=10.0.0.1:1:2;3,server.5=10.0.0.1:1:4;5"}),
			wire.BadArguments,
		},
		{"no remaining member", any(wire.Reconfig{Leaving: "1,2,3"}), wire.BadArguments},
		{"invalid list of members", any(wire.Reconfig{NewMembers: "bogus"}), wire.BadArguments},
		{"empty list of members", any(wire.Reconfig{NewMembers: " "}), wire.MarshallingError},
		{
			"majority is down",
			any(wire.Reconfig{NewMembers: "server.3=127.0.0.1:1:2;3,server.4=127.0.0.1:4:5;6"}),
			wire.NewConfigNoQuorum,
		},
	} {
		if reply := c.call(test.r); reply.Code != test.want {
			t.Errorf("%s: %v, want %v", test.what, reply.Code, test.want)
		}
	}
	if reply := c.call(wire.Request{
		Op:       wire.OpReconfig,
		Reconfig: &wire.Reconfig{Version: -1},
	}); reply.Code != wire.MarshallingError {
		t.Errorf("empty lists that are not null: %v", reply.Code)
	}
	if reply := c.call(wire.Request{
		Op:   wire.OpGetData,
		Path: "/zookeeper/config",
	}); !strings.HasSuffix(string(reply.Data), "\nversion=100000000") {
		t.Errorf("configuration %q", reply.Data)
	}

	standalone := launch(t, f, configure(t, t.TempDir(), 0, "clientPort=0"))
	c, _ = open(t, standalone.Address(), 20*time.Second)
	if reply := c.call(any(wire.Reconfig{Leaving: "3"})); reply.Code != wire.Unimplemented {
		t.Errorf("reconfig of a standalone server: %v", reply.Code)
	}
	c, _ = open(t, start(t, 3, tcp.Config{Cluster: simzk.Config{}}).Addresses()[0], 20*time.Second)
	if reply := c.call(any(wire.Reconfig{Leaving: "3"})); reply.Code != wire.ReconfigDisabled {
		t.Errorf("reconfig while disabled: %v", reply.Code)
	}
}

// TestReconfig adds a running server and then removes the leader.
func TestReconfig(t *testing.T) {
	f := newFleet(t)
	ports := freePorts(t, 4)
	lines := members(ports)
	var configs []*tcp.ServerConfig
	var processes []*tcp.Process
	for i := range 3 {
		configs = append(configs, configure(t, t.TempDir(), i+1, lines[:3]...))
		processes = append(processes, launch(t, f, configs[i]))
	}
	joining := configure(t, t.TempDir(), 4, lines...)
	processes = append(processes, launch(t, f, joining))
	server := f.Servers()[0]
	if status := server.Status(); len(status.Servers) != 4 ||
		status.Servers[3].State != tcp.Follower {
		t.Fatalf("status %+v", status)
	}
	watcher, _ := open(t, processes[3].Address(), 20*time.Second)
	watcher.call(wire.Request{Op: wire.OpGetData, Path: "/zookeeper/config", Watch: true})

	c, _ := open(t, processes[0].Address(), 20*time.Second)
	c.beSuper()
	reply := c.call(reconfig(wire.Reconfig{
		Joining: strings.TrimPrefix(lines[3], "server."),
		Version: 0x100000000,
	}))
	want := strings.Join(lines, "\n") + fmt.Sprintf("\nversion=%x", reply.Zxid)
	if reply.Code != wire.OK || string(reply.Data) != want || reply.Stat.Version != -1 ||
		reply.Stat.Mzxid != reply.Zxid {
		t.Fatalf("%v %q %+v", reply.Code, reply.Data, reply.Stat)
	}
	if e := watcher.event(); e.Type != wire.EventDataChanged || e.Path != "/zookeeper/config" {
		t.Errorf("event %+v", e)
	}

	// Two of four servers are not a majority.
	processes[0].Stop()
	processes[1].Stop()
	if state := server.Status().Servers[3].State; state != tcp.Looking {
		t.Errorf("the fourth server is %s", state)
	}
	watcher.awaitEnd()
	processes[1] = launch(t, f, configs[1])
	c, _ = open(t, processes[3].Address(), 20*time.Second)
	c.beSuper()

	// The leader leaves. The server that was asked answers first; then all servers elect a new
	// leader.
	leader := 0
	for i, m := range server.Status().Servers {
		if m.State == tcp.Leader {
			leader = i
		}
	}
	c.send(reconfig(wire.Reconfig{Leaving: fmt.Sprint(leader + 1), Version: -1}))
	if reply := c.reply(wire.OpReconfig); reply.Code != wire.OK ||
		strings.Contains(string(reply.Data), fmt.Sprintf("server.%d=", leader+1)) {
		t.Errorf("%v %q", reply.Code, reply.Data)
	}
	c.awaitEnd()
	for i, m := range server.Status().Servers {
		if m.State == tcp.Leader && i == leader {
			t.Error("the removed leader still leads")
		}
	}
	checkAlive(t, processes[1].Address())
}

// TestReconfigIDs adds servers whose ids no longer fit in a byte, and starts one.
func TestReconfigIDs(t *testing.T) {
	server := start(t, 3, tcp.Config{Cluster: simzk.Config{
		Reconfig: true, SuperDigest: "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
	}})
	c, _ := open(t, server.Addresses()[0], 20*time.Second)
	c.beSuper()
	port := freePorts(t, 1)[0]
	for _, id := range []string{"300", "-7", "9223372036854775807"} {
		member := fmt.Sprintf("server.%s=127.0.0.1:1:2:participant;0.0.0.0:%d", id, port)
		reply := c.call(reconfig(wire.Reconfig{Joining: member, Version: -1}))
		if reply.Code != wire.OK || !strings.Contains(string(reply.Data), member+"\n") {
			t.Errorf("server %s joins: %v %q", id, reply.Code, reply.Data)
		}
		if id == "300" {
			index, found := server.Index(300)
			if !found || server.Up(index, "") != nil {
				t.Fatalf("server 300 has index %d, %t", index, found)
			}
			checkAlive(t, fmt.Sprintf("127.0.0.1:%d", port))
		}
		reply = c.call(reconfig(wire.Reconfig{Leaving: id, Version: -1}))
		if reply.Code != wire.OK || strings.Contains(string(reply.Data), id+"=") {
			t.Errorf("server %s leaves: %v %q", id, reply.Code, reply.Data)
		}
	}
	tooBig := reconfig(wire.Reconfig{
		Joining: "server.9223372036854775808=127.0.0.1:1:2;3", Version: -1,
	})
	if reply := c.call(tooBig); reply.Code != wire.BadArguments {
		t.Errorf("an id of 65 bits: %v", reply.Code)
	}
}
