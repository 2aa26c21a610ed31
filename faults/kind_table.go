package faults

// A kindSpec defines a kind of fault. To add a kind, add its constant and its row in [kindTable].
type kindSpec struct {
	name    string // in plans and reports
	meaning string // what the fault does, for help texts
	effect  string // what it does, with %s for what it has struck, for explanations
	target  Victim
	needs   Need
	relaxes bool   // see [Kind.Relaxes]
	endedBy string // see [Kind.EndedBy]
	assumes string // see [Kind.Assumes]

	byNameOnly bool   // [Any] does not cover the kind
	groups     []Kind // that cover it, besides [Any]
	anyNeeds   Need   // what [Any] or a group needs to cover the kind
	directed   bool   // the order of the two servers of a target matters

	phases phaseSet // the phases in which the fault is possible; 0 for all
	reason string   // why the fault is impossible in the other phases
	// the fault is impossible there even if the process opens several clients, each in a state of
	// its own
	ofCall bool
}

const (
	healed = "healed"

	drifts    = "that clocks can run at different rates"
	losesData = "that a server can lose data"
)

// A kindSet is a set of kinds, one bit each.
type kindSet uint64

const _ = uint(64 - Kinds) // All kinds have a bit.

func (s kindSet) has(k Kind) bool { return s>>k&1 != 0 }

// coveredKinds holds the kinds that each kind or group covers; see [Kind.Covers].
var coveredKinds = func() (sets [kindsAndGroups]kindSet) {
	for k := range Kinds {
		sets[k] |= 1 << k
		for _, g := range kindTable[k].groups {
			sets[g] |= 1 << k
		}
		if !kindTable[k].byNameOnly {
			sets[Any] |= 1 << k
		}
	}
	return sets
}()

// onServers holds the kinds that strike a server as a whole.
var onServers = func() (set kindSet) {
	for k := range Kinds {
		if k.OnServer() {
			set |= 1 << k
		}
	}
	return set
}()

// kindTable defines the kinds of faults, and names the groups.
var kindTable = [kindsAndGroups]kindSpec{
	Cut: {
		name:    "cut",
		meaning: "the connection breaks before the server has handled the requests in flight",
		effect:  "the connection of %s breaks, and what is in flight on it is lost",
		endedBy: healed,
		groups:  []Kind{Calm, Network},
	},
	LoseReply: {
		name: "lose-reply",
		meaning: "the server handles the requests in flight, then the connection breaks and the " +
			"replies are lost",
		effect: "the connection of %s breaks before the replies to its requests arrive, so that " +
			"the client does not know which of them took effect",
		endedBy: healed,
		groups:  []Kind{Calm, Network},
	},
	Expire: {
		name:    "expire",
		meaning: "the client is disconnected until its session has expired",
		effect:  "%s is disconnected until its session has expired",
		groups:  []Kind{Network},
	},
	Crash: {
		name:    "crash",
		meaning: "the client's process stops permanently",
		effect:  "the process of %s stops",
		groups:  []Kind{Crashes},
	},
	Cancel: {
		name:    "cancel",
		meaning: "the process stops waiting for the lock: the context of its call is cancelled",
		effect:  "the context of the call of %s is cancelled",
		phases:  ^setOf(Idle, Holding, Releasing),
		reason:  "only a process that waits for its lock can cancel the call",
		ofCall:  true,
	},
	Reset: {
		name:    "reset",
		meaning: "as cut, but the client can connect to another server at once",
		effect:  "the connection of %s breaks",
		needs:   SeveralServers,
		groups:  []Kind{Calm, Network},
	},
	KillServer: {
		name: "kill-server",
		meaning: "a server's process ends until the server is healed; if it led, another server " +
			"is elected",
		effect: "the process of %s ends",
		target: OneServer, needs: SeveralServers, relaxes: true, endedBy: healed,
		groups: []Kind{Crashes},
	},
	PartitionServer: {
		name: "partition-server",
		meaning: "a server is partitioned from the others until it is healed, and they detect it " +
			"only by timeout",
		effect: "%s and the other servers hear nothing of each other",
		target: OneServer, needs: SeveralServers, relaxes: true, endedBy: healed,
		groups: []Kind{Network},
	},
	PartitionInbound: {
		name:    "partition-inbound",
		meaning: "as partition-server, but the others still receive from the server",
		effect:  "%s hears nothing of the other servers",
		target:  OneServer, needs: SeveralServers, relaxes: true, endedBy: healed,
		groups: []Kind{Network},
	},
	PartitionOutbound: {
		name:    "partition-outbound",
		meaning: "as partition-server, but the server still receives from the others",
		effect:  "the other servers hear nothing of %s",
		target:  OneServer, needs: SeveralServers, relaxes: true, endedBy: healed,
		groups: []Kind{Network},
	},
	StallRequests: {
		name: "stall-requests",
		meaning: "the client's messages do not reach the server until the link is healed; the " +
			"server's messages reach the client",
		effect:  "nothing that %s sends reaches its server",
		relaxes: true, endedBy: healed,
		groups: []Kind{Network},
	},
	StallReplies: {
		name: "stall-replies",
		meaning: "the server's messages do not reach the client until the link is healed; the " +
			"client's messages reach the server",
		effect:  "nothing that its server sends reaches %s",
		relaxes: true, endedBy: healed,
		groups: []Kind{Network},
	},
	Pause: {
		name:    "pause",
		meaning: "the client's process pauses, as in a long garbage collection",
		effect:  "the process of %s stands still",
		relaxes: true, anyNeeds: ModelClient, endedBy: "resumed",
		groups: []Kind{Crashes},
	},
	SlowClient: {
		name:    "slow-client",
		meaning: "the client's clock runs slow from now on",
		effect:  "the clock of %s runs slow from then on",
		assumes: drifts,
		relaxes: true,
		groups:  []Kind{Clocks},
	},
	FastClient: {
		name:    "fast-client",
		meaning: "the client's clock runs fast from now on",
		effect:  "the clock of %s runs fast from then on",
		assumes: drifts,
		relaxes: true,
		groups:  []Kind{Clocks},
	},
	SlowClock: {
		name:    "slow-clock",
		meaning: "a server's clock runs slow from now on",
		effect:  "the clock of %s runs slow from then on",
		assumes: drifts,
		target:  OneServer, relaxes: true,
		groups: []Kind{Clocks},
	},
	FastClock: {
		name:    "fast-clock",
		meaning: "a server's clock runs fast from now on",
		effect:  "the clock of %s runs fast from then on",
		assumes: drifts,
		target:  OneServer, relaxes: true,
		groups: []Kind{Clocks},
	},
	JumpClock: {
		name:    "jump-clock",
		meaning: "a server's wall clock jumps an hour ahead", assumes: "that a clock can jump",
		effect: "the wall clock of %s jumps an hour ahead",
		target: OneServer, relaxes: true,
		groups: []Kind{Clocks},
	},
	Restart: {
		name: "restart",
		meaning: "the client's process stops permanently, as in crash, and another process with " +
			"a session of its own replaces it",
		effect:     "the process of %s stops, and another replaces it",
		byNameOnly: true,
		groups:     []Kind{Crashes},
	},
	FailWrite: {
		name:    "fail-write",
		meaning: "the client's next write to its connection fails",
		effect:  "the next write of %s to its connection fails",
		needs:   RealClient, byNameOnly: true,
		groups: []Kind{Network},
	},
	Unreachable: {
		name: "unreachable",
		meaning: "a client cannot reach one certain server until their link is healed, and loses " +
			"its connection to it; it can reach the other servers",
		effect: "nothing passes on the link %s",
		target: LinkToServer, needs: SeveralServers, byNameOnly: true, endedBy: healed,
		groups: []Kind{Network},
	},
	PartitionLink: {
		name: "partition-link",
		meaning: "two servers hear nothing of each other until their link is healed, and " +
			"detect it only by timeout; the other servers communicate with both",
		effect: "nothing passes on the link %s",
		target: LinkOfServers, needs: SeveralServers, relaxes: true, byNameOnly: true,
		endedBy: healed,
		groups:  []Kind{Network},
	},
	PartitionLinkOneway: {
		name: "partition-link-oneway",
		meaning: "as partition-link, but only messages from the first server to the second are " +
			"lost",
		effect: "nothing passes on the link %s in that direction",
		target: LinkOfServers, needs: SeveralServers, relaxes: true, byNameOnly: true,
		directed: true, endedBy: healed,
		groups: []Kind{Network},
	},
	DelayRewatch: {
		name: "delay-rewatch",
		meaning: "at its next reconnection the client sets its watches again only after the " +
			"reply to a waiting call, and misses the changes until that reply",
		effect: "if a call waits when %s reconnects to its session, the client sets its watches " +
			"again only after the reply to the call",
		needs: ModelClient, byNameOnly: true,
		phases: setOf(Idle, Waiting, Holding, Releasing),
		reason: "it strikes a client that has no connection, and so no request in flight",
	},
	CloseSession: {
		name: "close-session",
		meaning: "another connection closes the client's session, which ends at once; the " +
			"client learns of it when it reconnects",
		effect:     "another connection closes the session of %s",
		byNameOnly: true,
	},
	StallServer: {
		name:    "stall-server",
		meaning: "a server handles no requests until it is healed; only of Redis",
		effect:  "%s handles no requests",
		target:  OneServer, relaxes: true, endedBy: healed,
		groups: []Kind{Crashes},
	},
	WipeServer: {
		name:    "wipe-server",
		meaning: "a server crashes and restarts at once without its data; only of Redis",
		effect:  "%s restarts without its data",
		assumes: losesData,
		target:  OneServer, relaxes: true,
		groups: []Kind{Storage},
	},
	FailOver: {
		name: "fail-over",
		meaning: "a server's replica takes over, without the writes since time last passed, " +
			"which have not reached it; only of Redis",
		effect:  "the replica of %s takes over, without the last writes",
		assumes: losesData,
		target:  OneServer, relaxes: true,
		groups: []Kind{Storage},
	},
	RestartServer: {
		name: "restart-server",
		meaning: "a server crashes and restarts at once with its data: all connections break, " +
			"and open transactions are rolled back; only of databases",
		effect: "%s restarts: all connections break, and open transactions are rolled back",
		target: OneServer, relaxes: true,
		groups: []Kind{Crashes},
	},
	SlowLink: {
		name: "slow-link",
		meaning: "from now on each message between a client and its servers takes the link's " +
			"latency, in the fair phase too",
		effect:  "from then on each message from and to %s takes the latency of the link",
		relaxes: true, byNameOnly: true,
		groups: []Kind{Network},
	},
	SlowRequests: {
		name:    "slow-requests",
		meaning: "as slow-link, but only the client's messages",
		effect:  "from then on each message from %s takes the latency of the link",
		relaxes: true, byNameOnly: true,
		groups: []Kind{Network},
	},
	SlowReplies: {
		name:    "slow-replies",
		meaning: "as slow-link, but only the servers' messages",
		effect:  "from then on each message to %s takes the latency of the link",
		relaxes: true, byNameOnly: true,
		groups: []Kind{Network},
	},
	SlowOpen: {
		name: "slow-open",
		meaning: "the next server that the client connects to confirms the session, but its " +
			"answer comes only when the link is healed",
		effect: "the answer to the handshake of %s, the present or else the next one, comes only " +
			"when the link is healed",
		relaxes: true, byNameOnly: true,
		phases: setOf(Idle, Waiting, Holding, Releasing),
		reason: "it strikes a client without a session on its connection, and so no request in " +
			"flight",
		groups: []Kind{Network},
	},
	PauseServer: {
		name: "pause-server",
		meaning: "a server's process stops, as by SIGSTOP, until the server is healed: then it " +
			"answers what has waited from its old state, before it hears of the others",
		effect: "the process of %s stands still",
		target: OneServer, needs: SeveralServers, relaxes: true, byNameOnly: true, endedBy: healed,
		groups: []Kind{Crashes},
	},
	StallDisk: {
		name: "stall-disk",
		meaning: "a server's disk carries out no writes until the server is healed: what the " +
			"server has not logged waits, and so does an election that it takes part in",
		effect: "the disk of %s carries out no writes",
		target: OneServer, needs: SeveralServers, endedBy: healed,
		groups: []Kind{Storage},
	},
	Any: {name: "any"},
	Calm: {
		name:    "calm",
		meaning: "connections break, as they do in a healthy cluster",
	},
	Network: {name: "network", meaning: "connections and links break, stall or are slow"},
	Clocks:  {name: "clocks", meaning: "clocks are wrong"},
	Crashes: {name: "crashes", meaning: "processes and servers stop, or pause"},
	Storage: {name: "storage", meaning: "disks stall, and servers lose data"},
}
