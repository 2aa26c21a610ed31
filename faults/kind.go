// Package faults is the vocabulary of what can go wrong: the kinds of faults, plans that say how
// many of each a run may see, and how each is done to a simulated cluster.
package faults

import (
	"fmt"
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// A Kind is a sort of fault.
type Kind uint8

// The kinds of faults. Each strikes one client, one server, or one link; see [Kind.Strikes].
const (
	// the connection breaks before the server has handled what is in flight
	Cut Kind = iota
	// the server handles what is in flight, then the connection breaks and the reply is lost
	LoseReply
	Expire // the client is cut off until its session has expired
	Crash  // the client's process stops for good
	Cancel // the process gives up waiting for the lock
	// the connection breaks, and nothing keeps the client from another server
	Reset
	KillServer // a server's process ends, until it is started again
	// a server is cut off from the others, and nobody notices for a while
	PartitionServer
	PartitionInbound  // a server hears nothing of the others, which hear it
	PartitionOutbound // the others hear nothing of a server, which hears them
	StallRequests     // what the client sends is kept from reaching the server
	StallReplies      // what the server sends is kept from reaching the client
	Pause             // the client's process stops for a while
	SlowClient        // the client's clock goes too slowly
	FastClient        // the client's clock goes too fast
	SlowClock         // a server's clock goes too slowly
	FastClock         // a server's clock goes too fast
	JumpClock         // a server's wall clock jumps ahead
	// the client's process stops for good, and another takes its place with a session of its own
	Restart
	FailWrite           // the client's next write to its connection fails
	Unreachable         // a client cannot reach one of the servers
	PartitionLink       // two servers hear nothing of each other
	PartitionLinkOneway // a server hears nothing of another, which hears it
	// the client sets its watches again later than it should when it comes back to the ensemble
	DelayRewatch
	CloseSession // another connection closes the client's session

	Kinds // how many kinds there are

	// AnyKinds is how many of the kinds, the first ones, stand behind "any" in a plan. The others
	// have to be asked for by name.
	AnyKinds = Restart
)

var kinds = [Kinds]struct {
	name, meaning string
	needs         Need
	relaxes       bool
}{
	Cut: {name: "cut", meaning: "the connection breaks before the server has " +
		"handled what is in flight"},
	LoseReply: {name: "lose-reply", meaning: "the server handles what is in flight, then " +
		"the connection breaks and the reply is lost"},
	Expire: {name: "expire", meaning: "the client is cut off until its session has " +
		"expired"},
	Crash: {name: "crash", meaning: "the client's process stops for good"},
	Cancel: {name: "cancel", meaning: "the process gives up waiting for the lock: the " +
		"context of its call ends"},
	Reset: {name: "reset", meaning: "the connection breaks as by cut, but the client " +
		"can connect to another server at once", needs: SeveralServers},
	KillServer: {name: "kill-server", meaning: "a server's process ends until it is " +
		"healed; of the leader another takes the place", needs: SeveralServers, relaxes: true},
	PartitionServer: {
		name: "partition-server",
		meaning: "a server is cut off from the others until it is healed, which nobody notices " +
			"for a " +
			"while", needs: SeveralServers, relaxes: true,
	},
	PartitionInbound: {
		name:    "partition-inbound",
		meaning: "as partition-server, but the others still hear the server", needs: SeveralServers,
		relaxes: true,
	},
	PartitionOutbound: {
		name:    "partition-outbound",
		meaning: "as partition-server, but the server still hears the others",
		needs:   SeveralServers,
		relaxes: true,
	},
	StallRequests: {name: "stall-requests", meaning: "what the client sends is kept from " +
		"reaching the server until the link is healed; replies get through", relaxes: true},
	StallReplies: {name: "stall-replies", meaning: "what the server sends is kept from " +
		"reaching the client until the link is healed; requests get through", relaxes: true},
	Pause: {name: "pause", meaning: "the client's process stops for a while, as in a " +
		"long garbage collection", needs: ModelClient, relaxes: true},
	SlowClient: {name: "slow-client", meaning: "the client's clock goes too slowly from " +
		"now on", relaxes: true},
	FastClient: {
		name: "fast-client", meaning: "the client's clock goes too fast from now on",
		relaxes: true,
	},
	SlowClock: {
		name: "slow-clock", meaning: "a server's clock goes too slowly from now on",
		relaxes: true,
	},
	FastClock: {
		name: "fast-clock", meaning: "a server's clock goes too fast from now on",
		relaxes: true,
	},
	JumpClock: {
		name: "jump-clock", meaning: "a server's wall clock jumps an hour ahead",
		relaxes: true,
	},
	Restart: {name: "restart", meaning: "the client's process stops for good, as by " +
		"crash, and another takes its place with a session of its own", needs: ModelClient},
	FailWrite: {name: "fail-write", meaning: "the client's next write to its connection " +
		"fails", needs: RealClient},
	Unreachable: {
		name: "unreachable", meaning: "a client cannot reach one certain server " +
			"until that is healed, and loses its connection to it; others it can reach",
		needs: SeveralServers,
	},
	PartitionLink: {
		name: "partition-link", meaning: "two servers hear nothing of each other " +
			"until that is healed, which nobody notices for a while; all others hear both",
		needs: SeveralServers, relaxes: true,
	},
	PartitionLinkOneway: {
		name:    "partition-link-oneway",
		meaning: "as partition-link, but only what the first sends to the second is lost",
		needs:   SeveralServers, relaxes: true,
	},
	DelayRewatch: {name: "delay-rewatch", meaning: "the next time the client comes back to " +
		"the ensemble it sets its watches again only once a call that has waited is answered, " +
		"and " +
		"never hears of data or children that have changed until that answer", needs: ModelClient},
	CloseSession: {name: "close-session", meaning: "another connection closes the client's " +
		"session, which ends at once; the client learns of it when it connects again"},
}

// A Need is what a run must have for a fault to strike in it.
type Need string

// What faults need. Most need nothing.
const (
	SeveralServers Need = "several servers"
	ModelClient    Need = "the modelled client"
	RealClient     Need = "the real client"
)

// String returns the name of the kind as it stands in a plan.
func (k Kind) String() string { return kinds[k].name }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Meaning says in a sentence what the fault does.
func (k Kind) Meaning() string {
	if needs := kinds[k].needs; needs != "" {
		return kinds[k].meaning + "; only with " + string(needs)
	}
	return kinds[k].meaning
}

// Needs returns what a run must have for the fault to strike in it, empty if that is nothing.
func (k Kind) Needs() Need { return kinds[k].needs }

// Relaxes reports whether the ensemble promises less after the fault: a session may end before its
// timeout, and a sync may be answered by a server that no longer leads.
func (k Kind) Relaxes() bool { return kinds[k].relaxes }

// Possible tells whether the fault can strike the client now and would make a difference. Whether a
// process waits for a lock that it could give up, only its caller knows.
func Possible(k Kind, client *simzk.Link) bool {
	switch k {
	case Cut:
		return client.Connected()
	case LoseReply:
		_, servable := client.Servable()
		return client.Connected() && servable
	case Expire:
		return client.HasSession() && !client.Isolated()
	case CloseSession:
		return client.CanCloseSession()
	case Crash, Cancel:
		return !client.Crashed()
	case Reset:
		return client.Several() && client.Connected()
	case StallRequests:
		requests, _ := client.Stalled()
		return client.Connected() && !requests
	case StallReplies:
		_, replies := client.Stalled()
		return client.Connected() && !replies
	case Pause:
		return client.CanPause()
	case Restart:
		return client.IsModel() && !client.Crashed()
	case SlowClient, FastClient:
		return !client.Crashed() && client.ClientClock() == trueClock
	case FailWrite:
		return client.CanFailWrite()
	case DelayRewatch:
		return client.CanDelayWatches()
	}
	return false
}

// trueClock is the speed of a clock that is right, in percent.
const trueClock = 100

// jump is how far a wall clock jumps ahead.
const jump = time.Hour

// Apply does the fault to the client. It must be [Possible]. To the cluster, Cancel is nothing: it
// is the caller who ends the context, and it is the caller who after a Restart lets another process
// [simzk.Cluster.Join].
func Apply(k Kind, bounds Severity, cluster *simzk.Cluster, client *simzk.Link) {
	switch k {
	case Cut:
		cluster.Cut(client)
	case LoseReply:
		cluster.LoseReply(client)
	case Expire:
		cluster.Isolate(client)
	case CloseSession:
		cluster.CloseSession(client)
	case Crash, Restart:
		cluster.Crash(client)
	case Reset:
		cluster.ResetConnection(client)
	case Cancel:
	case StallRequests:
		cluster.StallRequests(client)
	case StallReplies:
		cluster.StallReplies(client)
	case Pause:
		cluster.Pause(client, bounds.Pause)
	case SlowClient:
		cluster.SetClientClock(client, trueClock-bounds.Drift)
	case FastClient:
		cluster.SetClientClock(client, trueClock+bounds.Drift)
	case FailWrite:
		cluster.FailWrite(client)
	case DelayRewatch:
		cluster.DelayWatches(client)
	default:
		panic(fmt.Sprintf("faults: unknown kind %d", k))
	}
}

// A Victim is a sort of what faults strike.
type Victim uint8

// What faults strike.
const (
	OneClient     Victim = iota
	OneServer            // as a whole
	LinkToServer         // the link between a client and a server
	LinkOfServers        // the link between two servers, or one direction of it
)

// Strikes returns what the fault strikes.
func (k Kind) Strikes() Victim {
	switch k {
	case KillServer, PartitionServer, PartitionInbound, PartitionOutbound, SlowClock, FastClock,
		JumpClock:
		return OneServer
	case Unreachable:
		return LinkToServer
	case PartitionLink, PartitionLinkOneway:
		return LinkOfServers
	}
	return OneClient
}

// OnServer tells whether the fault strikes a server as a whole.
func (k Kind) OnServer() bool { return k.Strikes() == OneServer }

// ofClient tells whether the fault strikes a client, or a link of one.
func (k Kind) ofClient() bool { return k.Strikes() == OneClient || k.Strikes() == LinkToServer }

// PossibleAt tells whether the fault can strike the server now and would make a difference. A
// server is killed or cut off only where there are several, and only one that serves and is not cut
// off already.
func PossibleAt(k Kind, cluster *simzk.Cluster, server int) bool {
	switch k {
	case KillServer, PartitionServer, PartitionInbound, PartitionOutbound:
		return cluster.Servers() > 1 && cluster.Serving(server) && !cluster.Partitioned(server)
	case SlowClock, FastClock:
		return cluster.Up(server) && cluster.ClockRate(server) == trueClock
	case JumpClock:
		return cluster.Up(server) && cluster.ClockAhead(server) == 0
	}
	return false
}

// ApplyAt does the fault to the server. It must be possible: see [PossibleAt].
func ApplyAt(k Kind, bounds Severity, cluster *simzk.Cluster, server int) {
	switch k {
	case KillServer:
		cluster.KillServer(server)
	case PartitionServer:
		cluster.PartitionServer(server, true, true)
	case PartitionInbound:
		cluster.PartitionServer(server, true, false)
	case PartitionOutbound:
		cluster.PartitionServer(server, false, true)
	case SlowClock:
		cluster.SetClockRate(server, trueClock-bounds.Drift)
	case FastClock:
		cluster.SetClockRate(server, trueClock+bounds.Drift)
	case JumpClock:
		cluster.JumpClock(server, jump)
	default:
		panic(fmt.Sprintf("faults: kind %d strikes no server", k))
	}
}
