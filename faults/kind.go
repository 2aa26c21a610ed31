// Package faults is the vocabulary of what can go wrong: the kinds of faults, plans that say how many of each a run
// may see, and how each is done to a simulated cluster.
package faults

import (
	"fmt"

	"github.com/interlock-sim/interlock/simzk"
)

// A Kind is a sort of fault.
type Kind uint8

// The kinds of faults. Each strikes one client, or one server.
const (
	Cut        Kind = iota // the connection breaks before the server has handled what is in flight
	LoseReply              // the server commits what is in flight, then the connection breaks and the reply is lost
	Expire                 // the client is cut off until its session has expired
	Crash                  // the client's process stops for good
	Cancel                 // the process gives up waiting for the lock
	Reset                  // the connection breaks, and nothing keeps the client from another server
	KillServer             // a server's process ends, until it is started again
	PartServer             // a server is cut off from the others, and does not notice for a while
	FailWrite              // the client's next write to its connection fails

	Kinds // how many kinds there are

	// AnyKinds is how many of the kinds, the first ones, stand behind "any" in a plan. The others need the real client.
	AnyKinds = FailWrite
)

var kinds = [Kinds]struct{ name, meaning string }{
	Cut:       {"cut", "the connection breaks before the server has handled what is in flight"},
	LoseReply: {"lose-reply", "the server commits what is in flight, then the connection breaks and the reply is lost"},
	Expire:    {"expire", "the client is cut off until its session has expired"},
	Crash:     {"crash", "the client's process stops for good"},
	Cancel:    {"cancel", "the process gives up waiting for the lock: the context of its call ends"},
	Reset: {"reset", "the connection breaks as by cut, but the client can connect to another server at once; only with " +
		"several servers"},
	KillServer: {"kill-server", "a server's process ends until it is healed; of the leader another takes the place. Only with several servers"},
	PartServer: {"part-server", "a server is cut off from the others until it is healed, which a follower does not notice for a while; " +
		"only with several servers"},
	FailWrite: {"fail-write", "the client's next write to its connection fails; only with the real client"},
}

// String returns the name of the kind as it stands in a plan.
func (k Kind) String() string { return kinds[k].name }

// Meaning says in a sentence what the fault does.
func (k Kind) Meaning() string { return kinds[k].meaning }

// Possible tells whether the fault can strike the client now and would make a difference. Whether a process waits for a
// lock that it could give up, only its caller knows.
func Possible(k Kind, client *simzk.Link) bool {
	switch k {
	case Cut:
		return client.Connected()
	case LoseReply:
		return client.Connected() && client.Unserved() > 0
	case Expire:
		return client.HasSession() && !client.Isolated()
	case Crash, Cancel:
		return !client.Crashed()
	case Reset:
		return client.Several() && client.Connected()
	case FailWrite:
		return client.CanFailWrite()
	}
	return false
}

// Apply does the fault to the client. It must be [Possible]. To the cluster, Cancel is nothing: it is the caller who ends
// the context.
func Apply(k Kind, cluster *simzk.Cluster, client *simzk.Link) {
	switch k {
	case Cut:
		cluster.Cut(client)
	case LoseReply:
		cluster.LoseReply(client)
	case Expire:
		cluster.Isolate(client)
	case Crash:
		cluster.Crash(client)
	case Reset:
		cluster.Reset(client)
	case Cancel:
	case FailWrite:
		cluster.FailWrite(client)
	default:
		panic(fmt.Sprintf("faults: unknown kind %d", k))
	}
}

// OnServer tells whether the fault strikes a server. The others strike a client.
func (k Kind) OnServer() bool { return k == KillServer || k == PartServer }

// PossibleAt tells whether the fault can strike the server now: it must be one of several that serve, and a majority of
// all must go on without it.
func PossibleAt(k Kind, cluster *simzk.Cluster, server int) bool {
	if !k.OnServer() || !cluster.Serving(server) || cluster.Parted(server) {
		return false
	}
	whole := 0
	for other := range cluster.Servers() {
		if cluster.Serving(other) && !cluster.Parted(other) {
			whole++
		}
	}
	return whole-1 > cluster.Servers()/2
}

// ApplyAt does the fault to the server. It must be possible: see [PossibleAt].
func ApplyAt(k Kind, cluster *simzk.Cluster, server int) {
	if k == KillServer {
		cluster.KillServer(server)
	} else {
		cluster.PartServer(server)
	}
}
