// Package faults is the vocabulary of what can go wrong: the kinds of faults, plans that say how many of each a run
// may see, and how each is done to a simulated cluster.
package faults

import (
	"fmt"

	"github.com/interlock-sim/interlock/simzk"
)

// A Kind is a sort of fault.
type Kind uint8

// The kinds of faults. Each strikes one client.
const (
	Cut       Kind = iota // the connection breaks before the server has handled what is in flight
	LoseReply             // the server commits what is in flight, then the connection breaks and the reply is lost
	Expire                // the client is cut off until its session has expired
	Crash                 // the client's process stops for good
	Cancel                // the process gives up waiting for the lock
	FailWrite             // the client's next write to its connection fails

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
	case Cancel:
	case FailWrite:
		cluster.FailWrite(client)
	default:
		panic(fmt.Sprintf("faults: unknown kind %d", k))
	}
}
