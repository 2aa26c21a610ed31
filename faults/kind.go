// Package faults defines the faults of a run: the kinds of faults, what each kind strikes and
// needs, and the plans that bound how many of each kind a run injects. How a kind acts is a matter
// of the simulated service.
package faults

import "strings"

// A Kind is a kind of fault. Plans and coverage tables enumerate the kinds in the order of their
// constants; the order has no other meaning.
type Kind uint8

// The kinds of faults. [Kind.Meaning] describes each; its row in kindTable defines it.
const (
	Cut Kind = iota
	LoseReply
	Expire
	Crash
	Cancel
	Reset
	KillServer
	PartitionServer
	PartitionInbound
	PartitionOutbound
	StallRequests
	StallReplies
	Pause
	SlowClient
	FastClient
	SlowClock
	FastClock
	JumpClock
	Restart
	FailWrite
	Unreachable
	PartitionLink
	PartitionLinkOneway
	DelayRewatch
	CloseSession
	StallServer
	WipeServer
	FailOver
	RestartServer
	SlowLink
	SlowRequests
	SlowReplies
	SlowOpen
	PauseServer
	StallDisk

	// The groups: in a plan, any of the kinds that the group covers.

	Any     // of [AnyKinds]
	Calm    // what the network of a healthy cluster does
	Network // connections and partitions
	Clocks  // of clients and servers
	Crashes // of processes and servers
	Storage // servers lose data

	kindsAndGroups
	Kinds = Any // the number of kinds
)

// AnyKinds iterates over the kinds that "any" in a plan covers. A plan must name the other kinds.
func AnyKinds(yield func(Kind) bool) {
	for k := range Kinds {
		if Any.Covers(k) && !yield(k) {
			return
		}
	}
}

// Groups iterates over the groups of kinds, [Any] first.
func Groups(yield func(Kind) bool) {
	for g := Any; g < kindsAndGroups; g++ {
		if !yield(g) {
			return
		}
	}
}

// Covers reports whether a fault of the other kind counts as one of this kind or group: as one of
// itself, or of a group of which it is a part.
func (k Kind) Covers(other Kind) bool { return coveredKinds[k].has(other) }

// A Victim is what a fault strikes.
type Victim uint8

// The victims of faults.
const (
	OneClient     Victim = iota
	OneServer            // as a whole
	LinkToServer         // the link between a client and a server
	LinkOfServers        // the link between two servers, or one direction of it
)

// A Need is what a run must have for a fault to be possible in it.
type Need string

// The needs of faults. Most faults need nothing.
const (
	SeveralServers Need = "several servers"
	ModelClient    Need = "the modelled client"
	RealClient     Need = "the real client"
)

// String returns the name of the kind or group in a plan.
func (k Kind) String() string { return kindTable[k].name }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Meaning returns a sentence that describes the fault and what it needs.
func (k Kind) Meaning() string {
	if needs := kindTable[k].needs; needs != "" {
		return kindTable[k].meaning + "; only with " + string(needs)
	}
	return kindTable[k].meaning
}

// Effect returns a clause that says what the fault does to its victim, such as "c1" or "s1-s2".
func (k Kind) Effect(victim string) string {
	return strings.ReplaceAll(kindTable[k].effect, "%s", victim)
}

// EndedBy returns "healed" or "resumed" if an event of that kind and victim ends the effect of the
// fault, or else "".
func (k Kind) EndedBy() string { return kindTable[k].endedBy }

// Assumes returns what a finding with the fault assumes about the environment, as a clause such as
// "that a clock can jump", or "" if every environment has the fault.
func (k Kind) Assumes() string { return kindTable[k].assumes }

// Needs returns what a run must have for the fault to be possible, or "" for nothing.
func (k Kind) Needs() Need { return kindTable[k].needs }

// NeedsInAny returns what a run must have for a group to cover the kind, or "" for nothing.
func (k Kind) NeedsInAny() Need { return kindTable[k].anyNeeds }

// Relaxes reports whether the ensemble guarantees less after the fault: a session may end before
// its timeout, and a server that no longer leads may answer a sync.
func (k Kind) Relaxes() bool { return kindTable[k].relaxes }

// Strikes returns what the fault strikes.
func (k Kind) Strikes() Victim { return kindTable[k].target }

// OnServer reports whether the fault strikes a server as a whole.
func (k Kind) OnServer() bool { return k.Strikes() == OneServer }

// onClient reports whether the fault strikes a client, or the link between a client and a server.
func (k Kind) onClient() bool { return k.Strikes() == OneClient || k.Strikes() == LinkToServer }
