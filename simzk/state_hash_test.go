package simzk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A present is an ensemble of three servers with lag, with two clients at the first server and one
// at the leader.
type present struct {
	*testing.T
	*simzk.Cluster
	links []*simzk.Link
	start time.Duration
}

// A pinger is the end of a simulated client that shows the ensemble nothing but its pings.
type pinger struct{ simzk.ModelEnd }

func (pinger) Connected() bool            { return true }
func (pinger) PingsShifted(time.Duration) {}
func (pinger) LatencyChanges()            {}
func (pinger) StateHash() uint64          { return 0 }

// joinPinger adds a client whose pings begin earlier, by quarters of the ping interval.
func (p *present) joinPinger(quarters int) {
	l := new(simzk.Link)
	p.AddClient(l, pinger{})
	p.GrantSession(l)
	p.ShiftPings(l, quarters, 4)
}

// leads is the server that leads.
const leads = 2

// newPresent returns the ensemble after two seconds, in which the clients have sent a ping.
func newPresent(t *testing.T, start time.Duration) *present {
	p := &present{T: t, Cluster: simzk.New(simzk.Config{Servers: 3, Lag: true}, nil), start: start}
	p.SetNow(start)
	for _, server := range []int{0, 0, leads} {
		_, link := enter(t, p.Cluster, server, 0, make([]byte, 16))
		p.links = append(p.links, link)
	}
	p.SetNow(start + 1500*time.Millisecond)
	for client := range p.links {
		p.serve(client, &wire.Request{Op: wire.OpPing})
	}
	p.SetNow(start + 2*time.Second)
	return p
}

// send puts a request on the network.
func (p *present) send(client int, r *wire.Request) {
	p.Helper()
	if err := p.Receive(p.links[client], operation.AppendRequest(nil, r)); err != nil {
		p.Fatal(err)
	}
}

// serve makes the server handle a request, and delivers what it sends.
func (p *present) serve(client int, r *wire.Request) {
	p.Helper()
	p.send(client, r)
	p.Serve(p.links[client])
	for _, ok := p.links[client].Deliverable(); ok; _, ok = p.links[client].Deliverable() {
		p.Deliver(p.links[client])
	}
}

// write makes a client write, and replicates nothing.
func (p *present) write(client int, data string) {
	p.Helper()
	p.send(client, setRoot(data))
	p.Serve(p.links[client])
}

// commit makes the leader's client write one after the other, and delivers the replies.
func (p *present) commit(writes ...string) {
	p.Helper()
	for _, data := range writes {
		p.write(leads, data)
		p.Log(1)
		p.Deliver(p.links[leads])
	}
}

// part lets the messages to the first server wait since a time, and those from it.
func (p *present) part(inbound, outbound time.Duration) {
	p.SetNow(p.start + min(inbound, outbound))
	if outbound <= inbound {
		p.PartitionServer(0, false, true)
	}
	p.SetNow(p.start + inbound)
	p.PartitionServer(0, true, false)
	p.SetNow(p.start + outbound)
	p.PartitionServer(0, true, true)
	p.SetNow(p.start + 2*time.Second)
}

// slow makes the link of a client slow.
func (p *present) slow(client int, requests, replies time.Duration) {
	p.SlowLink(p.links[client], requests, replies)
}

// answer makes the server answer a request, and does not deliver the reply.
func (p *present) answer(client int) {
	p.Helper()
	p.send(client, auth("late:2.1"))
	p.Serve(p.links[client])
}

// last returns the link of the last client.
func (p *present) last() *simzk.Link { return p.Links()[len(p.Links())-1] }

func setRoot(data string) *wire.Request {
	return &wire.Request{Op: wire.OpSetData, Path: "/", Data: []byte(data), Version: -1}
}

func read(path string, watch bool) *wire.Request {
	return &wire.Request{Op: wire.OpGetData, Path: path, Watch: watch}
}

func auth(name string) *wire.Request {
	return &wire.Request{Op: wire.OpAuth, Scheme: "digest", Data: []byte(name)}
}

func createWith(acl ...wire.ACL) *wire.Request {
	return &wire.Request{Op: wire.OpCreate, Path: "/a", ACL: acl}
}

func rearm(zxid int64, data, child []string) *wire.Request {
	return &wire.Request{Op: wire.OpSetWatches, Watches: &wire.Watches{
		RelativeZxid: zxid, Data: data, Child: child,
	}}
}

// presents have different futures. Those of one group differ in one thing.
var presents = [][]func(p *present){
	{func(*present) {}},
	{ // the time until the next tick
		func(p *present) { p.SetNow(p.start + 2100*time.Millisecond) },
		func(p *present) { p.SetNow(p.start + 2200*time.Millisecond) },
	},
	{ // phases
		func(p *present) { p.ShiftRelay(1, 4) },
		func(p *present) { p.ShiftRelay(2, 4) },
		func(p *present) { p.ShiftExpiry(1, 4) },
		func(p *present) { p.ShiftExpiry(2, 4) },
	},
	{ // clocks
		func(p *present) { p.JumpClock(0, time.Second) },
		func(p *present) { p.JumpClock(0, 2*time.Second) },
		func(p *present) { p.JumpClock(1, 2*time.Second) },
		func(p *present) { p.SetClockRate(0, 50) },
		func(p *present) { p.SetClockRate(0, 200) },
		func(p *present) { p.SetClockRate(1, 200) },
		func(p *present) { p.SetClientClock(p.links[0], 50) },
		func(p *present) { p.SetClientClock(p.links[0], 200) },
	},
	{ // when a client was last heard of
		func(p *present) { p.serve(0, read("/", false)) },
		func(p *present) { p.serve(1, read("/", false)) },
	},
	{ // when a client pings
		func(p *present) { p.joinPinger(0) },
		func(p *present) { p.joinPinger(1) },
		func(p *present) { p.joinPinger(2) },
	},
	{ // what is cut off, and since when
		func(p *present) { p.PartitionServer(0, true, true) },
		func(p *present) { p.PartitionServer(1, true, true) },
		func(p *present) { p.PartitionServer(1, true, false) },
		func(p *present) { p.PartitionServer(1, false, true) },
		func(p *present) {
			p.SetNow(p.start + 1800*time.Millisecond)
			p.PartitionServer(1, true, true)
			p.SetNow(p.start + 2*time.Second)
		},
		func(p *present) { p.PartitionLink(0, 1) },
		func(p *present) { p.PartitionLink(1, 0) },
		func(p *present) { p.BlockClient(p.links[0], 1) },
		func(p *present) { p.BlockClient(p.links[0], 2) },
		func(p *present) { p.StallRequests(p.links[0]) },
		func(p *present) { p.StallReplies(p.links[0]) },
		func(p *present) { p.StallReplies(p.links[1]) },
		func(p *present) { p.StallRequests(p.links[0]); p.StallReplies(p.links[0]) },
	},
	{ // latencies, and when what is in transit arrives
		func(p *present) { p.slow(0, time.Second, 0) },
		func(p *present) { p.slow(0, 0, time.Second) },
		func(p *present) { p.slow(1, time.Second, 0) },
		func(p *present) { p.slow(0, time.Second, time.Second) },
		func(p *present) { p.slow(0, 2*time.Second, 0) },
		func(p *present) { p.slow(0, time.Second, 0); p.send(0, auth("late:2.1")) },
		func(p *present) {
			p.SetNow(p.start + 1900*time.Millisecond)
			p.slow(0, time.Second, 0)
			p.send(0, auth("late:2.1"))
			p.SetNow(p.start + 2*time.Second)
		},
		func(p *present) { p.slow(0, 0, time.Second); p.answer(0) },
		func(p *present) {
			p.SetNow(p.start + 1900*time.Millisecond)
			p.slow(0, 0, time.Second)
			p.answer(0)
			p.SetNow(p.start + 2*time.Second)
		},
	},
	{ // when the answer to a handshake comes, and whether its client pings
		func(p *present) { p.SlowOpen(p.Accept(0, "127.0.0.1", new(door))) },
	},
	{ // when a client with a slow link pings
		func(p *present) { p.joinPinger(0); p.SlowLink(p.last(), 400*time.Millisecond, 0) },
		func(p *present) { p.joinPinger(1); p.SlowLink(p.last(), 400*time.Millisecond, 0) },
	},
	{ // what waits between a follower and the leader
		func(p *present) { p.part(1700*time.Millisecond, 1700*time.Millisecond) },
		func(p *present) { p.part(2000*time.Millisecond, 1700*time.Millisecond) },
		func(p *present) {
			p.part(1700*time.Millisecond, 1700*time.Millisecond)
			p.Leave(p.links[0])
		},
		func(p *present) {
			p.part(2000*time.Millisecond, 1700*time.Millisecond)
			p.Leave(p.links[0])
		},
		func(p *present) {
			p.part(2000*time.Millisecond, 2000*time.Millisecond)
			p.Leave(p.links[0])
		},
	},
	{ // reports that came late
		func(p *present) {
			p.part(1700*time.Millisecond, 1700*time.Millisecond)
			p.HealServer(0)
		},
		func(p *present) {
			p.part(1700*time.Millisecond, 1700*time.Millisecond)
			p.SetNow(p.start + 2100*time.Millisecond)
			p.HealServer(0)
			p.SetNow(p.start + 2200*time.Millisecond)
			p.send(0, auth("late:2.1"))
		},
		func(p *present) {
			p.part(1700*time.Millisecond, 1700*time.Millisecond)
			p.SetNow(p.start + 2200*time.Millisecond)
			p.HealServer(0)
			p.send(0, auth("late:2.1"))
		},
	},
	{ // connections
		func(p *present) { p.Leave(p.links[0]) },
		func(p *present) { p.Leave(p.links[1]) },
		func(p *present) { p.Accept(0, "127.0.0.1", new(door)) },
	},
	{ // requests in transit
		func(p *present) { p.send(0, read("/", false)) },
		func(p *present) { p.send(1, read("/", false)) },
		func(p *present) { p.send(0, read("/", true)) },
		func(p *present) { p.send(0, read("/a", false)) },
		func(p *present) { p.send(0, &wire.Request{Op: wire.OpExists, Path: "/"}) },
		func(p *present) { p.send(0, &wire.Request{Op: wire.OpGetChildren, Path: "/"}) },
		func(p *present) { p.send(0, setRoot("x")) },
		func(p *present) { p.send(0, setRoot("y")) },
		func(p *present) { p.send(0, auth("alice:a")) },
		func(p *present) { p.send(0, auth("bob:b")) },
		func(p *present) {
			p.send(0, &wire.Request{Op: wire.OpAuth, Scheme: "ip", Data: []byte("bob:b")})
		},
		func(p *present) { p.send(0, createWith(tree.Open...)) },
		func(p *present) {
			p.send(0, createWith(wire.ACL{Perms: wire.PermRead, Scheme: "ip", ID: "10.1.2.3"}))
		},
		func(p *present) {
			p.send(0, createWith(wire.ACL{Perms: wire.PermAll, Scheme: "ip", ID: "10.1.2.3"}))
		},
		func(p *present) {
			p.send(0, createWith(wire.ACL{Perms: wire.PermAll, Scheme: "ip", ID: "10.1.2.4"}))
		},
		func(p *present) {
			p.send(0, &wire.Request{Op: wire.OpMulti, Ops: []wire.Request{*setRoot("x")}})
		},
		func(p *present) {
			p.send(0, &wire.Request{Op: wire.OpMulti, Ops: []wire.Request{*setRoot("y")}})
		},
		func(p *present) { p.send(0, rearm(1, []string{"/"}, nil)) },
		func(p *present) { p.send(0, rearm(2, []string{"/"}, nil)) },
		func(p *present) { p.send(0, rearm(1, nil, []string{"/"})) },
		func(p *present) { p.send(0, rearm(1, []string{"/a"}, nil)) },
	},
	{ // identities and watches
		func(p *present) { p.serve(0, auth("alice:a")) },
		func(p *present) { p.serve(0, auth("bob:b")) },
		func(p *present) { p.serve(0, read("/", true)) },
		func(p *present) { p.serve(0, read("/zookeeper", true)) },
		func(p *present) { p.serve(1, read("/", true)) },
		func(p *present) {
			p.serve(0, &wire.Request{Op: wire.OpGetChildren, Path: "/", Watch: true})
		},
	},
	{ // replies in transit
		func(p *present) { p.send(0, read("/", false)); p.Serve(p.links[0]) },
		func(p *present) { p.send(0, read("/a", false)); p.Serve(p.links[0]) },
	},
	{ // writes that followers have not logged, committed or applied
		func(p *present) { p.write(0, "x"); p.write(1, "z") },
		func(p *present) { p.write(0, "y"); p.write(1, "z") },
		func(p *present) { p.write(0, "x"); p.write(1, "z"); p.Log(0) },
		func(p *present) { p.write(0, "x"); p.write(1, "z"); p.Log(1) },
		func(p *present) { p.write(0, "x"); p.write(1, "z"); p.Log(1); p.Log(1) },
		func(p *present) { p.write(0, "x"); p.write(1, "z"); p.Log(1); p.Apply(0) },
		func(p *present) { p.write(0, "x"); p.write(1, "z"); p.Log(1); p.Apply(1) },
	},
	{ // writes that are answered and that followers have not applied
		func(p *present) { p.commit("x", "z") },
		func(p *present) { p.commit("y", "z") },
		func(p *present) { p.commit("x", "z"); p.Apply(0) },
		func(p *present) { p.commit("x", "z"); p.Apply(0); p.Apply(1) },
		func(p *present) { p.commit("y", "z"); p.Apply(0); p.Apply(1) },
	},
	{ // ends of sessions that followers have not applied
		func(p *present) { p.Expire(p.SessionList()[0].ID) },
		func(p *present) { p.Expire(p.SessionList()[1].ID) },
		func(p *present) {
			p.Expire(p.SessionList()[0].ID)
			p.Log(0)
		},
	},
}

// Presents with different futures differ in their state hash, and the time before makes no
// difference.
func TestStateHashTellsFutures(t *testing.T) {
	seen := make(map[uint64][2]int)
	for group, variants := range presents {
		for i, make := range variants {
			var hashes []uint64
			for _, start := range []time.Duration{0, 4 * time.Second} {
				p := newPresent(t, start)
				make(p)
				hashes = append(hashes, p.StateHash(false))
			}
			if hashes[0] != hashes[1] {
				t.Errorf("group %d, present %d: the hash depends on the time before", group, i)
			}
			if other, ok := seen[hashes[0]]; ok {
				t.Errorf("group %d, present %d has the hash of group %d, present %d", group, i,
					other[0], other[1])
			}
			seen[hashes[0]] = [2]int{group, i}
		}
	}
}

// These make no difference: the order in which watches on different paths were set, the number of a
// client's pings, and, for a steady ensemble, which server has logged what is committed.
func TestStateHashOmitsThePast(t *testing.T) {
	for name, pair := range map[string][2]func(p *present){
		"order of watches": {
			func(p *present) { p.serve(0, read("/", true)); p.serve(0, read("/zookeeper", true)) },
			func(p *present) { p.serve(0, read("/zookeeper", true)); p.serve(0, read("/", true)) },
		},
		"number of pings": {
			func(p *present) { p.joinPinger(1) },
			func(p *present) { p.joinPinger(5) },
		},
		"committed and logged": {
			func(p *present) { p.write(0, "x"); p.Log(0); p.Apply(0) },
			func(p *present) { p.write(0, "x"); p.Log(1); p.Apply(0) },
		},
	} {
		var hashes [2]uint64
		for i, make := range pair {
			p := newPresent(t, 0)
			make(p)
			hashes[i] = p.StateHash(true)
		}
		if hashes[0] != hashes[1] {
			t.Errorf("%s makes a difference", name)
		}
	}
}

// On one server, too, the hash tells when a request came, because the end of the session depends on
// it once the client falls silent. Sessions end at odd half seconds, the timeout is 4 s, and the
// client pings at 1.333 s.
func TestStateHashTellsContactAtOneServer(t *testing.T) {
	hashes, ends := make(map[uint64]bool), make(map[time.Duration]bool)
	for _, served := range []time.Duration{1400 * time.Millisecond, 1600 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newHarness(t)
			defer s.tearDown()
			s.join()
			s.cluster.ShiftExpiry(3, 4)
			var plan agenda
			plan.add(1400*time.Millisecond, "call", "c1", "get", "/")
			plan.add(served, "serve", "c1")
			plan.add(1800*time.Millisecond, "deliver", "c1")
			plan.add(2*time.Second, "flow")
			plan.run(t, s)
			hashes[s.cluster.StateHash(false)] = true
			s.run(t, "isolate", "c1")
			ends[s.cluster.SessionList()[0].Expires] = true
		})
	}
	if len(ends) != 2 {
		t.Errorf("the session ends at one of %v: the hash need not tell", ends)
	}
	if len(hashes) != len(ends) {
		t.Errorf("%d hashes, want %d", len(hashes), len(ends))
	}
}

// A hash depends on the state and not on earlier hashes: the server overwrites the session of a
// handshake whose hash has been computed.
func TestStateHashHasNoEffect(t *testing.T) {
	hashes := make(map[uint64]bool)
	for _, early := range []bool{false, true} {
		c := simzk.New(simzk.Config{Servers: 3, Lag: true}, nil)
		l := c.Accept(0, "127.0.0.1", new(door))
		if err := c.Receive(l, wire.AppendConnectRequest(nil, &wire.ConnectRequest{
			TimeoutMillis: 4000, Password: make([]byte, 16),
		})); err != nil {
			t.Fatal(err)
		}
		if early {
			c.StateHash(false)
		}
		c.Serve(l)
		if !l.Delayed() {
			t.Fatal("the session is granted before the server has applied it")
		}
		hashes[c.StateHash(false)] = true
	}
	if len(hashes) != 1 {
		t.Error("the hash depends on an earlier one")
	}
}
