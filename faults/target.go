package faults

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Place is whom a fault strikes in a run. All are counted from 1; 0 stands for none.
type Place struct {
	Client, Server uint8 // of a link between the two, both
	Peer           uint8 // of a link between two servers, the second
	Leader         uint8 // the server that leads
}

// A Target is whom a fault that a plan names must strike: a client (c1), a server (s2), the leader
// or a follower, whichever that is when it strikes; and of a link one end, or both with a dash
// between (s1-s3, c1-leader).
type Target struct{ one, other end }

// An end is one client or server; the zero end is any.
type end struct {
	role   role
	number uint8 // of a client or server
}

type role uint8

const (
	anybody role = iota
	theClient
	theServer
	theLeader
	aFollower
)

// letters stand before the numbers of clients and servers.
var letters = [...]string{theClient: "c", theServer: "s"}

func (e end) String() string {
	switch e.role {
	case theClient, theServer:
		return letters[e.role] + strconv.Itoa(int(e.number))
	case theLeader:
		return "leader"
	case aFollower:
		return "follower"
	}
	return ""
}

// String returns the target as it stands in a plan.
func (t Target) String() string {
	if t.other == (end{}) {
		return t.one.String()
	}
	return t.one.String() + "-" + t.other.String()
}

// forms says what a target can be.
var forms = [...]string{
	OneClient: "a client such as c1",
	OneServer: "a server such as s2, leader, or follower",
	LinkToServer: "a client such as c1, a server such as s2, leader or follower, or both as in " +
		"c1-s2",
	LinkOfServers: "a server such as s2, leader or follower, or two of these as in s1-leader",
}

// parseTarget reads the target of a fault.
func parseTarget(k Kind, text string) (Target, error) {
	first, second, both := strings.Cut(text, "-")
	one, ok := parseEnd(first)
	t := Target{one: one}
	if both && ok {
		t.other, ok = parseEnd(second)
	}
	// The order of the ends counts only where one is not heard by the other.
	if both && k != PartitionLinkOneway && compareEnds(t.other, t.one) < 0 {
		t.one, t.other = t.other, t.one
	}
	if !ok || !t.suits(k.Strikes()) {
		return Target{}, fmt.Errorf("unknown target %q of %v; it can be %s", text, k,
			forms[k.Strikes()])
	}
	return t, nil
}

func parseEnd(text string) (end, bool) {
	switch text {
	case "leader":
		return end{role: theLeader}, true
	case "follower":
		return end{role: aFollower}, true
	}
	for _, r := range [...]role{theClient, theServer} {
		digits, ok := strings.CutPrefix(text, letters[r])
		number, err := strconv.ParseUint(digits, 10, 8)
		if e := (end{r, uint8(number)}); ok && err == nil && number > 0 && e.String() == text {
			return e, true
		}
	}
	return end{}, false
}

// suits tells whether faults that strike so can have the target, whose ends are in order.
func (t Target) suits(v Victim) bool {
	client, single := t.one.role == theClient, t.other == (end{})
	switch v {
	case OneClient:
		return client && single
	case OneServer:
		return !client && single
	case LinkToServer:
		return single || client && t.other.role != theClient
	}
	return !client && t.other.role != theClient && (t.one != t.other || t.one.role == aFollower)
}

func compareEnds(a, b end) int {
	return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.number, b.number))
}

// is tells whether an end is that server.
func (e end) is(server, leader uint8) bool {
	switch e.role {
	case theServer:
		return e.number == server
	case theLeader:
		return server == leader
	case aFollower:
		return server != leader
	}
	return e.role == anybody
}

// matches tells whether a fault of the kind that strikes there strikes the target.
func (t Target) matches(k Kind, at Place) bool {
	switch k.Strikes() {
	case OneClient:
		return t.one.number == at.Client
	case OneServer:
		return t.one.is(at.Server, at.Leader)
	case LinkToServer:
		if t.one.role == theClient {
			return t.one.number == at.Client && t.other.is(at.Server, at.Leader)
		}
		return t.one.is(at.Server, at.Leader)
	}
	return t.one.is(at.Server, at.Leader) && t.other.is(at.Peer, at.Leader) ||
		k == PartitionLink && t.one.is(at.Peer, at.Leader) && t.other.is(at.Server, at.Leader)
}

// An TargetedFault is how many faults of one kind a plan has for one target, in any phase of the
// lock or in one.
type TargetedFault struct {
	Kind   Kind
	Target Target
	Phase  Phase
	Phased bool // only in that phase
	Left   uint16
}

// AimsMax is how many targets a plan can name.
const TargetedFaultsMax = 8

// String returns what stands in the plan for it, but for the number.
func (a TargetedFault) String() string {
	text := a.Kind.String() + ":" + a.Target.String()
	if a.Phased {
		text += "@" + a.Phase.Key()
	}
	return text
}

// Matches tells whether a fault of the kind, which strikes in the phase and there, is one of those
// that are aimed at.
func (a *TargetedFault) Matches(k Kind, phase Phase, at Place) bool {
	return a.Left > 0 && a.Kind == k && (!a.Phased || a.Phase == phase) && a.Target.matches(k, at)
}

// Fits returns an error if there is no such target among so many clients and servers, or nil.
func (a TargetedFault) Fits(clients, servers int) error {
	for _, e := range [...]end{a.Target.one, a.Target.other} {
		switch {
		case e.role == theClient && int(e.number) > clients:
			return fmt.Errorf("the fault %v cannot strike: the clients are c1 to c%d", a, clients)
		case e.role == theServer && int(e.number) > servers:
			return fmt.Errorf("the fault %v cannot strike: the servers are s1 to s%d", a, servers)
		case e.role == aFollower && servers == 1:
			return fmt.Errorf("the fault %v cannot strike: there is but one server", a)
		}
	}
	return nil
}

// compareTargeted orders aims as they stand in a plan.
func compareTargeted(a, b TargetedFault) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), compareEnds(a.Target.one, b.Target.one),
		compareEnds(a.Target.other, b.Target.other),
		cmp.Compare(a.phaseRank(), b.phaseRank()))
}

// phaseRank is 0 of an aim without a phase.
func (a TargetedFault) phaseRank() int {
	if a.Phased {
		return 1 + int(a.Phase)
	}
	return 0
}

// Key returns 64 bits that stand for the aim and for what is left of it.
func (a TargetedFault) Key() uint64 {
	return uint64(a.Kind)<<56 | uint64(a.Target.one.role)<<52 | uint64(a.Target.other.role)<<48 | uint64(a.Target.one.number)<<40 |
		uint64(a.Target.other.number)<<32 | uint64(a.phaseRank())<<16 | uint64(a.Left)
}
