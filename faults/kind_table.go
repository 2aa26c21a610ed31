package faults

// A kindSpec defines a kind of fault. To add a kind, add its constant and its row in [kindTable].
type kindSpec struct {
	name    string // in plans and reports
	meaning string // what the fault does, for help texts
	target  Victim
	needs   Need
	relaxes bool // see [Kind.Relaxes]

	byNameOnly bool // "any" in a plan does not cover the kind
	anyNeeds   Need // what "any" needs to cover the kind
	directed   bool // the order of the two servers of a target matters

	phases phaseSet // the phases in which the fault is possible; 0 for all
	reason string   // why the fault is impossible in the other phases
}

// kindTable defines the kinds of faults.
var kindTable = [Kinds + 1]kindSpec{
	Cut: {
		name:    "cut",
		meaning: "the connection breaks before the server has handled the requests in flight",
	},
	LoseReply: {
		name: "lose-reply",
		meaning: "the server handles the requests in flight, then the connection breaks and the " +
			"replies are lost",
	},
	Expire: {
		name:    "expire",
		meaning: "the client is disconnected until its session has expired",
	},
	Crash: {
		name:    "crash",
		meaning: "the client's process stops permanently",
	},
	Cancel: {
		name:    "cancel",
		meaning: "the process stops waiting for the lock: the context of its call is cancelled",
		phases:  ^setOf(Idle, Holding, Releasing),
		reason:  "only a process that waits for its lock can cancel the call",
	},
	Reset: {
		name:    "reset",
		meaning: "as cut, but the client can connect to another server at once",
		needs:   SeveralServers,
	},
	KillServer: {
		name: "kill-server",
		meaning: "a server's process ends until the server is healed; if it led, another server " +
			"is elected",
		target: OneServer, needs: SeveralServers, relaxes: true,
	},
	PartitionServer: {
		name: "partition-server",
		meaning: "a server is partitioned from the others until it is healed, and they detect it " +
			"only by timeout",
		target: OneServer, needs: SeveralServers, relaxes: true,
	},
	PartitionInbound: {
		name:    "partition-inbound",
		meaning: "as partition-server, but the others still receive from the server",
		target:  OneServer, needs: SeveralServers, relaxes: true,
	},
	PartitionOutbound: {
		name:    "partition-outbound",
		meaning: "as partition-server, but the server still receives from the others",
		target:  OneServer, needs: SeveralServers, relaxes: true,
	},
	StallRequests: {
		name: "stall-requests",
		meaning: "the client's messages do not reach the server until the link is healed; the " +
			"server's messages reach the client",
		relaxes: true,
	},
	StallReplies: {
		name: "stall-replies",
		meaning: "the server's messages do not reach the client until the link is healed; the " +
			"client's messages reach the server",
		relaxes: true,
	},
	Pause: {
		name:    "pause",
		meaning: "the client's process pauses, as in a long garbage collection",
		relaxes: true, anyNeeds: ModelClient,
	},
	SlowClient: {
		name:    "slow-client",
		meaning: "the client's clock runs slow from now on",
		relaxes: true,
	},
	FastClient: {
		name:    "fast-client",
		meaning: "the client's clock runs fast from now on",
		relaxes: true,
	},
	SlowClock: {
		name:    "slow-clock",
		meaning: "a server's clock runs slow from now on",
		target:  OneServer, relaxes: true,
	},
	FastClock: {
		name:    "fast-clock",
		meaning: "a server's clock runs fast from now on",
		target:  OneServer, relaxes: true,
	},
	JumpClock: {
		name:    "jump-clock",
		meaning: "a server's wall clock jumps an hour ahead",
		target:  OneServer, relaxes: true,
	},
	Restart: {
		name: "restart",
		meaning: "the client's process stops permanently, as in crash, and another process with " +
			"a session of its own replaces it",
		byNameOnly: true,
	},
	FailWrite: {
		name:    "fail-write",
		meaning: "the client's next write to its connection fails",
		needs:   RealClient, byNameOnly: true,
	},
	Unreachable: {
		name: "unreachable",
		meaning: "a client cannot reach one certain server until their link is healed, and loses " +
			"its connection to it; it can reach the other servers",
		target: LinkToServer, needs: SeveralServers, byNameOnly: true,
	},
	PartitionLink: {
		name: "partition-link",
		meaning: "two servers hear nothing of each other until their link is healed, and " +
			"detect it only by timeout; the other servers communicate with both",
		target: LinkOfServers, needs: SeveralServers, relaxes: true, byNameOnly: true,
	},
	PartitionLinkOneway: {
		name: "partition-link-oneway",
		meaning: "as partition-link, but only messages from the first server to the second are " +
			"lost",
		target: LinkOfServers, needs: SeveralServers, relaxes: true, byNameOnly: true,
		directed: true,
	},
	DelayRewatch: {
		name: "delay-rewatch",
		meaning: "at its next reconnection the client sets its watches again only after the " +
			"reply to a waiting call, and misses the changes until that reply",
		needs: ModelClient, byNameOnly: true,
		phases: setOf(Idle, Waiting, Holding, Releasing),
		reason: "it strikes a client that has no connection, and so no request in flight",
	},
	CloseSession: {
		name: "close-session",
		meaning: "another connection closes the client's session, which ends at once; the " +
			"client learns of it when it reconnects",
		byNameOnly: true,
	},
	StallServer: {
		name:    "stall-server",
		meaning: "a server handles no requests until it is healed; only of Redis",
		target:  OneServer, relaxes: true,
	},
	WipeServer: {
		name:    "wipe-server",
		meaning: "a server crashes and restarts at once without its data; only of Redis",
		target:  OneServer, relaxes: true,
	},
	FailOver: {
		name: "fail-over",
		meaning: "a server's replica takes over, without the writes since time last passed, " +
			"which have not reached it; only of Redis",
		target: OneServer, relaxes: true,
	},
	RestartServer: {
		name: "restart-server",
		meaning: "a server crashes and restarts at once with its data: all connections break, " +
			"and open transactions are rolled back; only of databases",
		target: OneServer, relaxes: true,
	},
	SlowLink: {
		name: "slow-link",
		meaning: "from now on each message between a client and its servers takes the link's " +
			"latency, in the fair phase too",
		relaxes: true, byNameOnly: true,
	},
	SlowRequests: {
		name:    "slow-requests",
		meaning: "as slow-link, but only the client's messages",
		relaxes: true, byNameOnly: true,
	},
	SlowReplies: {
		name:    "slow-replies",
		meaning: "as slow-link, but only the servers' messages",
		relaxes: true, byNameOnly: true,
	},
	SlowOpen: {
		name: "slow-open",
		meaning: "the next server that the client connects to confirms the session, but its " +
			"answer comes only when the link is healed",
		relaxes: true, byNameOnly: true,
		phases: setOf(Idle, Waiting, Holding, Releasing),
		reason: "it strikes a client without a session on its connection, and so no request in " +
			"flight",
	},
	Any: {name: "any"},
}
