package faults

import (
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// A kindSpec defines a kind of fault. To add a kind, add its constant and its row in [kindTable].
type kindSpec struct {
	name    string // in plans and reports
	meaning string // what the fault does, for help texts
	target  Victim
	needs   Need
	relaxes bool // see [Kind.Relaxes]

	byNameOnly bool // "any" in a plan does not cover the kind
	directed   bool // the order of the two servers of a target matters

	phases phaseSet // the phases in which the fault is possible; 0 for all
	reason string   // why the fault is impossible in the other phases

	// possible reports whether the fault can strike the site now and would make a difference.
	// A run consults it for needs too, such as the number of servers.
	possible func(s site) bool
	// apply injects the fault at the site, where it is possible.
	apply func(s site, severity Severity)
}

// A site is where a fault strikes. Servers are counted from 0.
type site struct {
	cluster *simzk.Cluster // nil when possible is asked of a fault of [OneClient]
	client  *simzk.Link    // of OneClient and [LinkToServer]
	server  int            // of [OneServer], LinkToServer and [LinkOfServers]
	peer    int            // of LinkOfServers
}

const (
	trueClock = 100       // the rate of an accurate clock, in percent
	clockJump = time.Hour // how far a wall clock jumps ahead
)

// kindTable defines the kinds of faults.
var kindTable = [Kinds]kindSpec{
	Cut: {
		name:     "cut",
		meaning:  "the connection breaks before the server has handled the requests in flight",
		possible: func(s site) bool { return s.client.Connected() },
		apply:    func(s site, _ Severity) { s.cluster.Cut(s.client) },
	},
	LoseReply: {
		name: "lose-reply",
		meaning: "the server handles the requests in flight, then the connection breaks and the " +
			"replies are lost",
		possible: func(s site) bool {
			_, servable := s.client.Servable()
			return s.client.Connected() && servable
		},
		apply: func(s site, _ Severity) { s.cluster.LoseReply(s.client) },
	},
	Expire: {
		name:     "expire",
		meaning:  "the client is disconnected until its session has expired",
		possible: func(s site) bool { return s.client.HasSession() && !s.client.Isolated() },
		apply:    func(s site, _ Severity) { s.cluster.Isolate(s.client) },
	},
	Crash: {
		name:     "crash",
		meaning:  "the client's process stops permanently",
		possible: clientRuns,
		apply:    func(s site, _ Severity) { s.cluster.Crash(s.client) },
	},
	Cancel: {
		name:     "cancel",
		meaning:  "the process stops waiting for the lock: the context of its call is cancelled",
		phases:   ^setOf(Idle, Holding, Releasing),
		reason:   "only a process that waits for its lock can cancel the call",
		possible: clientRuns,
		apply:    func(site, Severity) {}, // The caller cancels the context.
	},
	Reset: {
		name:     "reset",
		meaning:  "as cut, but the client can connect to another server at once",
		needs:    SeveralServers,
		possible: func(s site) bool { return s.client.HasOtherServers() && s.client.Connected() },
		apply:    func(s site, _ Severity) { s.cluster.ResetConnection(s.client) },
	},
	KillServer: {
		name: "kill-server",
		meaning: "a server's process ends until the server is healed; if it led, another server " +
			"is elected",
		target: OneServer, needs: SeveralServers, relaxes: true,
		possible: serverCanPart,
		apply:    func(s site, _ Severity) { s.cluster.KillServer(s.server) },
	},
	PartitionServer: {
		name: "partition-server",
		meaning: "a server is partitioned from the others until it is healed, and they detect it " +
			"only by timeout",
		target: OneServer, needs: SeveralServers, relaxes: true,
		possible: serverCanPart,
		apply:    func(s site, _ Severity) { s.cluster.PartitionServer(s.server, true, true) },
	},
	PartitionInbound: {
		name:    "partition-inbound",
		meaning: "as partition-server, but the others still receive from the server",
		target:  OneServer, needs: SeveralServers, relaxes: true,
		possible: serverCanPart,
		apply:    func(s site, _ Severity) { s.cluster.PartitionServer(s.server, true, false) },
	},
	PartitionOutbound: {
		name:    "partition-outbound",
		meaning: "as partition-server, but the server still receives from the others",
		target:  OneServer, needs: SeveralServers, relaxes: true,
		possible: serverCanPart,
		apply:    func(s site, _ Severity) { s.cluster.PartitionServer(s.server, false, true) },
	},
	StallRequests: {
		name: "stall-requests",
		meaning: "the client's messages do not reach the server until the link is healed; the " +
			"server's messages reach the client",
		relaxes: true,
		possible: func(s site) bool {
			requests, _ := s.client.Stalled()
			return s.client.Connected() && !requests
		},
		apply: func(s site, _ Severity) { s.cluster.StallRequests(s.client) },
	},
	StallReplies: {
		name: "stall-replies",
		meaning: "the server's messages do not reach the client until the link is healed; the " +
			"client's messages reach the server",
		relaxes: true,
		possible: func(s site) bool {
			_, replies := s.client.Stalled()
			return s.client.Connected() && !replies
		},
		apply: func(s site, _ Severity) { s.cluster.StallReplies(s.client) },
	},
	Pause: {
		name:    "pause",
		meaning: "the client's process pauses, as in a long garbage collection",
		needs:   ModelClient, relaxes: true,
		possible: func(s site) bool { return s.client.CanPause() },
		apply:    func(s site, severity Severity) { s.cluster.Pause(s.client, severity.Pause) },
	},
	SlowClient: {
		name:     "slow-client",
		meaning:  "the client's clock runs slow from now on",
		relaxes:  true,
		possible: clientClockIsTrue,
		apply: func(s site, severity Severity) {
			s.cluster.SetClientClock(s.client, trueClock-severity.Drift)
		},
	},
	FastClient: {
		name:     "fast-client",
		meaning:  "the client's clock runs fast from now on",
		relaxes:  true,
		possible: clientClockIsTrue,
		apply: func(s site, severity Severity) {
			s.cluster.SetClientClock(s.client, trueClock+severity.Drift)
		},
	},
	SlowClock: {
		name:    "slow-clock",
		meaning: "a server's clock runs slow from now on",
		target:  OneServer, relaxes: true,
		possible: serverClockIsTrue,
		apply: func(s site, severity Severity) {
			s.cluster.SetClockRate(s.server, trueClock-severity.Drift)
		},
	},
	FastClock: {
		name:    "fast-clock",
		meaning: "a server's clock runs fast from now on",
		target:  OneServer, relaxes: true,
		possible: serverClockIsTrue,
		apply: func(s site, severity Severity) {
			s.cluster.SetClockRate(s.server, trueClock+severity.Drift)
		},
	},
	JumpClock: {
		name:    "jump-clock",
		meaning: "a server's wall clock jumps an hour ahead",
		target:  OneServer, relaxes: true,
		possible: func(s site) bool {
			return s.cluster.Up(s.server) && s.cluster.WallClockOffset(s.server) == 0
		},
		apply: func(s site, _ Severity) { s.cluster.JumpClock(s.server, clockJump) },
	},
	Restart: {
		name: "restart",
		meaning: "the client's process stops permanently, as in crash, and another process with " +
			"a session of its own replaces it",
		needs: ModelClient, byNameOnly: true,
		possible: func(s site) bool { return s.client.IsModel() && !s.client.Crashed() },
		// The caller starts the other process.
		apply: func(s site, _ Severity) { s.cluster.Crash(s.client) },
	},
	FailWrite: {
		name:    "fail-write",
		meaning: "the client's next write to its connection fails",
		needs:   RealClient, byNameOnly: true,
		possible: func(s site) bool { return s.client.CanFailWrite() },
		apply:    func(s site, _ Severity) { s.cluster.FailWrite(s.client) },
	},
	Unreachable: {
		name: "unreachable",
		meaning: "a client cannot reach one certain server until their link is healed, and loses " +
			"its connection to it; it can reach the other servers",
		target: LinkToServer, needs: SeveralServers, byNameOnly: true,
		possible: func(s site) bool {
			return s.cluster.Servers() > 1 && !s.client.Crashed() && !s.client.Blocked(s.server)
		},
		apply: func(s site, _ Severity) { s.cluster.BlockClient(s.client, s.server) },
	},
	PartitionLink: {
		name: "partition-link",
		meaning: "two servers hear nothing of each other until their link is healed, and " +
			"detect it only by timeout; the other servers communicate with both",
		target: LinkOfServers, needs: SeveralServers, relaxes: true, byNameOnly: true,
		// The link has no direction: the lower server comes first.
		possible: func(s site) bool {
			return s.server < s.peer && serversCanPart(s) &&
				!s.cluster.LinkPartitioned(s.peer, s.server)
		},
		apply: func(s site, _ Severity) {
			s.cluster.PartitionLink(s.server, s.peer)
			s.cluster.PartitionLink(s.peer, s.server)
		},
	},
	PartitionLinkOneway: {
		name: "partition-link-oneway",
		meaning: "as partition-link, but only messages from the first server to the second are " +
			"lost",
		target: LinkOfServers, needs: SeveralServers, relaxes: true, byNameOnly: true,
		directed: true,
		possible: serversCanPart,
		apply:    func(s site, _ Severity) { s.cluster.PartitionLink(s.server, s.peer) },
	},
	DelayRewatch: {
		name: "delay-rewatch",
		meaning: "at its next reconnection the client sets its watches again only after the " +
			"reply to a waiting call, and misses the changes until that reply",
		needs: ModelClient, byNameOnly: true,
		phases:   setOf(Idle, Waiting, Holding, Releasing),
		reason:   "it strikes a client that has no connection, and so no request in flight",
		possible: func(s site) bool { return s.client.CanDelayWatches() },
		apply:    func(s site, _ Severity) { s.cluster.DelayWatches(s.client) },
	},
	CloseSession: {
		name: "close-session",
		meaning: "another connection closes the client's session, which ends at once; the " +
			"client learns of it when it reconnects",
		byNameOnly: true,
		possible:   func(s site) bool { return s.client.CanCloseSession() },
		apply:      func(s site, _ Severity) { s.cluster.CloseSession(s.client) },
	},
}

func clientRuns(s site) bool { return !s.client.Crashed() }

func clientClockIsTrue(s site) bool {
	return !s.client.Crashed() && s.client.ClientClock() == trueClock
}

func serverClockIsTrue(s site) bool {
	return s.cluster.Up(s.server) && s.cluster.ClockRate(s.server) == trueClock
}

// serverCanPart reports whether the server is one of several, serves, and is not partitioned.
func serverCanPart(s site) bool {
	return s.cluster.Servers() > 1 && s.cluster.Serving(s.server) &&
		!s.cluster.Partitioned(s.server)
}

// serversCanPart reports whether both servers run, neither is partitioned from all the others, and
// messages from the first reach the second.
func serversCanPart(s site) bool {
	return s.server != s.peer && s.cluster.Up(s.server) && s.cluster.Up(s.peer) &&
		!s.cluster.Partitioned(s.server) && !s.cluster.Partitioned(s.peer) &&
		!s.cluster.LinkPartitioned(s.server, s.peer)
}
