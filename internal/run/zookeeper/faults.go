package zookeeper

import (
	"fmt"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// A faultAction says how ZooKeeper suffers a kind of fault. To add a fault of ZooKeeper, add its
// row in [faultActions]; its row in package faults says what the kind is.
type faultAction struct {
	// possible reports whether the fault can strike the site now and would make a difference.
	// A run consults it for needs too, such as the number of servers.
	possible func(s Site) bool
	// apply injects the fault at the site, where it is possible.
	apply func(s Site, severity faults.Severity)
}

// A Site is where a fault strikes: a client, a server, or a link. Servers are counted from 0.
type Site struct {
	victim  faults.Victim
	cluster *simzk.Cluster
	client  *simzk.Link // of [faults.OneClient] and [faults.LinkToServer]
	server  int         // of [faults.OneServer], LinkToServer and [faults.LinkOfServers]
	peer    int         // of LinkOfServers
}

// AtClient returns the site of faults that strike a client.
func AtClient(cluster *simzk.Cluster, client *simzk.Link) Site {
	return Site{victim: faults.OneClient, cluster: cluster, client: client}
}

// AtServer returns the site of faults that strike a server.
func AtServer(cluster *simzk.Cluster, server int) Site {
	return Site{victim: faults.OneServer, cluster: cluster, server: server}
}

// AtLinkTo returns the site of faults that strike the link between a client and a server.
func AtLinkTo(cluster *simzk.Cluster, client *simzk.Link, server int) Site {
	return Site{victim: faults.LinkToServer, cluster: cluster, client: client, server: server}
}

// AtLinkOf returns the site of faults that strike the link from one server to another. For a fault
// of both directions the lower server comes first.
func AtLinkOf(cluster *simzk.Cluster, from, to int) Site {
	return Site{victim: faults.LinkOfServers, cluster: cluster, server: from, peer: to}
}

// Possible reports whether the fault can strike the site now and would make a difference. Only the
// caller knows whether the process waits for a lock, which [faults.Cancel] requires.
func (s Site) Possible(kind faults.Kind) bool {
	return kind < faults.Kinds && kind.Strikes() == s.victim &&
		faultActions[kind].possible != nil && s.possible(faultActions[kind].possible)
}

// possible reports whether the condition of a fault holds for the site. For a client whose process
// has several connections, it holds if it holds for any connection.
func (s Site) possible(condition func(Site) bool) bool {
	if condition(s) {
		return true
	}
	if s.client == nil {
		return false
	}
	for _, further := range s.client.Further() {
		s.client = further
		if condition(s) {
			return true
		}
	}
	return false
}

// connections returns the process's links that meet the condition.
func (s Site) connections(condition func(*simzk.Link) bool) (links []*simzk.Link) {
	for _, link := range append([]*simzk.Link{s.client}, s.client.Further()...) {
		if condition(link) {
			links = append(links, link)
		}
	}
	return links
}

// Inject lets the fault strike the site, where it must be possible. After a [faults.Restart] the
// caller lets another process join; at a [faults.Cancel] the caller cancels the context. Inject
// panics if the fault does not strike such a site.
func (s Site) Inject(kind faults.Kind, severity faults.Severity) {
	if kind >= faults.Kinds || kind.Strikes() != s.victim {
		panic(fmt.Sprintf("zookeeper: fault %d does not strike this Site", kind))
	}
	faultActions[kind].apply(s, severity)
}

// site returns where the fault of a step strikes.
func (z *System) site(step sim.Step) Site {
	one, peer := int(-step.Process)-1, int(step.Peer)-1
	switch step.Victim() {
	case faults.OneClient:
		return AtClient(&z.cluster, z.link(step))
	case faults.LinkToServer:
		return AtLinkTo(&z.cluster, z.link(step), peer)
	case faults.LinkOfServers:
		return AtLinkOf(&z.cluster, one, peer)
	}
	return AtServer(&z.cluster, one)
}

// Supports reports whether ZooKeeper has faults of the kind.
func (Service) Supports(kind faults.Kind) bool { return faultActions[kind].apply != nil }

// AppendFaults appends the steps in which a fault of the kind can strike: by process, by server, or
// by link.
func (z *System) AppendFaults(steps []sim.EnabledStep, kind faults.Kind) []sim.EnabledStep {
	possible := faultActions[kind].possible
	if possible == nil {
		return steps
	}
	add := func(s Site, step sim.Step) {
		if s.possible(possible) {
			steps = append(steps, sim.EnabledStep{Step: step.StruckBy(kind)})
		}
	}
	servers := z.cluster.Servers()
	switch kind.Strikes() {
	case faults.OneClient:
		for i, c := range z.clients {
			add(AtClient(&z.cluster, c.Link), sim.Step{Process: int32(i + 1)})
		}
	case faults.OneServer:
		for server := range servers {
			add(AtServer(&z.cluster, server), sim.OnServer(sim.Fault, server))
		}
	case faults.LinkToServer:
		for i, c := range z.clients {
			for server := range servers {
				add(AtLinkTo(&z.cluster, c.Link, server), sim.OnLink(sim.Fault, i+1, server))
			}
		}
	case faults.LinkOfServers:
		for from := range servers {
			for to := range servers {
				add(AtLinkOf(&z.cluster, from, to), sim.Between(sim.Fault, from, to))
			}
		}
	}
	return steps
}

// Inject lets the fault of a step strike.
func (z *System) Inject(step sim.Step, severity faults.Severity) {
	z.site(step).Inject(step.Fault, severity)
}

const (
	trueClock = 100       // the rate of an accurate clock, in percent
	clockJump = time.Hour // how far a wall clock jumps ahead
)

// faultActions are the faults of ZooKeeper.
var faultActions = [faults.Kinds]faultAction{
	faults.Cut: {
		possible: func(s Site) bool { return s.client.Connected() },
		apply:    func(s Site, _ faults.Severity) { s.cluster.Cut(s.client) },
	},
	faults.LoseReply: {
		possible: func(s Site) bool {
			_, servable := s.client.Servable()
			return s.client.Connected() && servable
		},
		apply: func(s Site, _ faults.Severity) { s.cluster.LoseReply(s.client) },
	},
	faults.Expire: {
		possible: func(s Site) bool { return s.client.HasSession() && !s.client.Isolated() },
		apply:    func(s Site, _ faults.Severity) { s.cluster.Isolate(s.client) },
	},
	faults.Crash: {
		possible: clientRuns,
		apply:    func(s Site, _ faults.Severity) { s.cluster.Crash(s.client) },
	},
	faults.Cancel: {
		possible: clientRuns,
		apply:    func(Site, faults.Severity) {}, // The caller cancels the context.
	},
	faults.Reset: {
		possible: func(s Site) bool { return s.client.HasOtherServers() && s.client.Connected() },
		apply: func(s Site, _ faults.Severity) {
			for _, link := range s.connections((*simzk.Link).Connected) {
				s.cluster.ResetConnection(link)
			}
		},
	},
	faults.KillServer: {
		possible: serverCanPart,
		apply:    func(s Site, _ faults.Severity) { s.cluster.KillServer(s.server) },
	},
	faults.PartitionServer: {
		possible: serverCanPart,
		apply: func(s Site, _ faults.Severity) {
			s.cluster.PartitionServer(s.server, true, true)
		},
	},
	faults.PartitionInbound: {
		possible: serverCanPart,
		apply: func(s Site, _ faults.Severity) {
			s.cluster.PartitionServer(s.server, true, false)
		},
	},
	faults.PartitionOutbound: {
		possible: serverCanPart,
		apply: func(s Site, _ faults.Severity) {
			s.cluster.PartitionServer(s.server, false, true)
		},
	},
	faults.StallRequests: {
		possible: func(s Site) bool {
			requests, _ := s.client.Stalled()
			return s.client.Connected() && !requests
		},
		apply: func(s Site, _ faults.Severity) { s.cluster.StallRequests(s.client) },
	},
	faults.StallReplies: {
		possible: func(s Site) bool {
			_, replies := s.client.Stalled()
			return s.client.Connected() && !replies
		},
		apply: func(s Site, _ faults.Severity) { s.cluster.StallReplies(s.client) },
	},
	faults.Pause: {
		possible: func(s Site) bool { return s.client.CanPause() },
		apply: func(s Site, severity faults.Severity) {
			s.cluster.Pause(s.client, severity.Pause)
		},
	},
	faults.SlowClient: {
		possible: clientClockIsTrue,
		apply: func(s Site, severity faults.Severity) {
			s.cluster.SetClientClock(s.client, trueClock-severity.Drift)
		},
	},
	faults.FastClient: {
		possible: clientClockIsTrue,
		apply: func(s Site, severity faults.Severity) {
			s.cluster.SetClientClock(s.client, trueClock+severity.Drift)
		},
	},
	faults.SlowClock: {
		possible: serverClockIsTrue,
		apply: func(s Site, severity faults.Severity) {
			s.cluster.SetClockRate(s.server, trueClock-severity.Drift)
		},
	},
	faults.FastClock: {
		possible: serverClockIsTrue,
		apply: func(s Site, severity faults.Severity) {
			s.cluster.SetClockRate(s.server, trueClock+severity.Drift)
		},
	},
	faults.JumpClock: {
		possible: func(s Site) bool {
			return s.cluster.Up(s.server) && s.cluster.WallClockOffset(s.server) == 0
		},
		apply: func(s Site, _ faults.Severity) { s.cluster.JumpClock(s.server, clockJump) },
	},
	faults.Restart: {
		possible: clientRuns,
		// The caller starts the other process.
		apply: func(s Site, _ faults.Severity) { s.cluster.Crash(s.client) },
	},
	faults.FailWrite: {
		possible: func(s Site) bool { return real.CanFailWrite(s.client) },
		apply: func(s Site, _ faults.Severity) {
			for _, link := range s.connections(real.CanFailWrite) {
				real.FailWrite(link)
			}
		},
	},
	faults.Unreachable: {
		possible: func(s Site) bool {
			return s.cluster.Servers() > 1 && !s.client.Crashed() && !s.client.Blocked(s.server)
		},
		apply: func(s Site, _ faults.Severity) { s.cluster.BlockClient(s.client, s.server) },
	},
	faults.PartitionLink: {
		// The link has no direction: the lower server comes first.
		possible: func(s Site) bool {
			return s.server < s.peer && serversCanPart(s) &&
				!s.cluster.LinkPartitioned(s.peer, s.server)
		},
		apply: func(s Site, _ faults.Severity) {
			s.cluster.PartitionLink(s.server, s.peer)
			s.cluster.PartitionLink(s.peer, s.server)
		},
	},
	faults.PartitionLinkOneway: {
		possible: serversCanPart,
		apply:    func(s Site, _ faults.Severity) { s.cluster.PartitionLink(s.server, s.peer) },
	},
	faults.DelayRewatch: {
		possible: func(s Site) bool { return model.CanDelayWatches(s.client) },
		apply:    func(s Site, _ faults.Severity) { model.DelayWatches(s.client) },
	},
	faults.SlowLink:     slowLink,
	faults.SlowRequests: slowRequests,
	faults.SlowReplies:  slowReplies,
	faults.SlowOpen:     slowOpen,
	faults.PauseServer: {
		possible: serverCanPart,
		apply:    func(s Site, _ faults.Severity) { s.cluster.PauseServer(s.server) },
	},
	faults.StallDisk: {
		possible: func(s Site) bool {
			return s.cluster.Servers() > 1 && s.cluster.Up(s.server) &&
				!s.cluster.DiskStalled(s.server)
		},
		apply: func(s Site, _ faults.Severity) { s.cluster.StallDisk(s.server) },
	},
	faults.CloseSession: {
		possible: func(s Site) bool { return s.client.CanCloseSession() },
		// Of several sessions, the oldest connection's ends.
		apply: func(s Site, _ faults.Severity) {
			s.cluster.CloseSession(s.connections((*simzk.Link).CanCloseSession)[0])
		},
	},
}

func clientRuns(s Site) bool { return !s.client.Crashed() }

func clientClockIsTrue(s Site) bool {
	return !s.client.Crashed() && s.client.ClientClock() == trueClock
}

func serverClockIsTrue(s Site) bool {
	return s.cluster.Up(s.server) && s.cluster.ClockRate(s.server) == trueClock
}

// serverCanPart reports whether the server is one of several, serves, and is not partitioned.
func serverCanPart(s Site) bool {
	return s.cluster.Servers() > 1 && s.cluster.Serving(s.server) &&
		!s.cluster.Partitioned(s.server)
}

// serversCanPart reports whether both servers run, neither is partitioned from all the others, and
// messages from the first reach the second.
func serversCanPart(s Site) bool {
	return s.server != s.peer && s.cluster.Up(s.server) && s.cluster.Up(s.peer) &&
		!s.cluster.Partitioned(s.server) && !s.cluster.Partitioned(s.peer) &&
		!s.cluster.LinkPartitioned(s.server, s.peer)
}
