package faults

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// A Place is where a fault strikes in a run. Clients and servers are counted from 1; 0 is none.
type Place struct {
	Client, Server uint8 // both of them for the link between the two
	Peer           uint8 // the second server of a link between two servers
	Leader         uint8 // the server that leads, which the fault need not strike
	Instants       InstantSet
}

// A Target restricts where a fault of a plan strikes:
//   - a client (c1) or a server (s2);
//   - the leader or a follower, as of the time of the fault;
//   - a link, by one of its ends or by both (s1-s3, c1-leader).
type Target struct{ one, other end }

// An end is a client or a server; the zero end is any.
type end struct {
	role   role
	number uint8 // of a numberedClient or numberedServer
}

type role uint8

const (
	anyEnd role = iota
	numberedClient
	numberedServer
	leaderRole
	followerRole
)

// letters are the prefixes of the numbers of clients and servers.
var letters = [...]string{numberedClient: "c", numberedServer: "s"}

func (e end) String() string {
	switch e.role {
	case numberedClient, numberedServer:
		return letters[e.role] + strconv.Itoa(int(e.number))
	case leaderRole:
		return "leader"
	case followerRole:
		return "follower"
	}
	return ""
}

// String returns the target as [Parse] reads it.
func (t Target) String() string {
	if t.other == (end{}) {
		return t.one.String()
	}
	return t.one.String() + "-" + t.other.String()
}

// forms describes the valid targets of each victim.
var forms = [...]string{
	OneClient: "a client such as c1",
	OneServer: "a server such as s2, leader, or follower",
	LinkToServer: "a client such as c1, a server such as s2, leader or follower, or both as in " +
		"c1-s2",
	LinkOfServers: "a server such as s2, leader or follower, or two of these as in s1-leader",
}

// parseTarget reads the target of a fault, and puts the ends of a link in canonical order.
func parseTarget(k Kind, text string) (Target, error) {
	first, second, both := strings.Cut(text, "-")
	one, ok := parseEnd(first)
	t := Target{one: one}
	if both && ok {
		t.other, ok = parseEnd(second)
	}
	if both && !kindTable[k].directed && compareEnds(t.other, t.one) < 0 {
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
		return end{role: leaderRole}, true
	case "follower":
		return end{role: followerRole}, true
	}
	for _, r := range [...]role{numberedClient, numberedServer} {
		digits, ok := strings.CutPrefix(text, letters[r])
		number, err := strconv.ParseUint(digits, 10, 8)
		if e := (end{r, uint8(number)}); ok && err == nil && number > 0 && e.String() == text {
			return e, true
		}
	}
	return end{}, false
}

// suits reports whether the target, whose ends are in order, is valid for the victim.
func (t Target) suits(v Victim) bool {
	client, single := t.one.role == numberedClient, t.other == (end{})
	switch v {
	case OneClient:
		return client && single
	case OneServer:
		return !client && single
	case LinkToServer:
		return single || client && t.other.role != numberedClient
	}
	return !client && t.other.role != numberedClient &&
		(t.one != t.other || t.one.role == followerRole)
}

func compareEnds(a, b end) int {
	return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.number, b.number))
}

// is reports whether the end is the server.
func (e end) is(server, leader uint8) bool {
	switch e.role {
	case numberedServer:
		return e.number == server
	case leaderRole:
		return server == leader
	case followerRole:
		return server != leader
	}
	return e.role == anyEnd
}

// matches reports whether a fault of the kind at the place strikes the target.
func (t Target) matches(k Kind, at Place) bool {
	if t == (Target{}) {
		return true
	}
	switch k.Strikes() {
	case OneClient:
		return t.one.number == at.Client
	case OneServer:
		return t.one.is(at.Server, at.Leader)
	case LinkToServer:
		if t.one.role == numberedClient {
			return t.one.number == at.Client && t.other.is(at.Server, at.Leader)
		}
		return t.one.is(at.Server, at.Leader)
	}
	return t.one.is(at.Server, at.Leader) && t.other.is(at.Peer, at.Leader) ||
		!kindTable[k].directed && t.one.is(at.Peer, at.Leader) && t.other.is(at.Server, at.Leader)
}

// An Entry of a plan is a number of faults of a kind, which may be restricted to a target, to a
// phase of the lock and to an instant.
type Entry struct {
	Kind    Kind   // or a group, such as Any
	Target  Target // the zero Target for any
	Phase   Phase
	Phased  bool // restricted to Phase
	Instant Instant
	Left    uint16
}

// TargetedFaultsMax is the highest number of faults of a plan that are restricted to a target or to
// an instant.
const TargetedFaultsMax = 8

// String returns the text of the entry in a plan without its count.
func (a Entry) String() string {
	text := a.Kind.String()
	if a.Target != (Target{}) {
		text += ":" + a.Target.String()
	}
	if a.Phased {
		text += "@" + a.Phase.Key()
	}
	if a.Instant != AnyInstant {
		text += "@" + a.Instant.Key()
	}
	return text
}

// Matches reports whether a fault of the kind in the phase and at the place can be taken from the
// entry.
func (a *Entry) Matches(k Kind, phase Phase, at Place) bool {
	return a.Left > 0 && a.Kind.Covers(k) && a.in(phase) && at.Instants.has(a.Instant) &&
		a.Target.matches(k, at)
}

// isGroup reports whether the entry is of a group.
func (a *Entry) isGroup() bool { return a.Kind >= Kinds }

// in reports whether faults of the entry can strike in the phase.
func (a *Entry) in(phase Phase) bool { return !a.Phased || a.Phase == phase }

// targeted reports whether the entry is restricted to a target or an instant.
func (a *Entry) targeted() bool { return a.Target != Target{} || a.Instant != AnyInstant }

// Fits returns an error if a run with the given numbers of clients and servers has no such target.
func (a Entry) Fits(clients, servers int) error {
	for _, e := range [...]end{a.Target.one, a.Target.other} {
		switch {
		case e.role == numberedClient && int(e.number) > clients:
			return fmt.Errorf("the fault %v cannot strike: the clients are c1 to c%d", a, clients)
		case e.role == numberedServer && int(e.number) > servers:
			return fmt.Errorf("the fault %v cannot strike: the servers are s1 to s%d", a, servers)
		case e.role == followerRole && servers == 1:
			return fmt.Errorf("the fault %v cannot strike: there is but one server", a)
		}
	}
	return nil
}

// compareEntries orders the entries of a plan.
func compareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.targetRank()-b.targetRank(),
		compareEnds(a.Target.one, b.Target.one), compareEnds(a.Target.other, b.Target.other),
		cmp.Compare(a.phaseRank(), b.phaseRank()), cmp.Compare(a.Instant, b.Instant))
}

// phaseRank is 0 for a fault that is not restricted to a phase.
func (a Entry) phaseRank() int {
	if a.Phased {
		return 1 + int(a.Phase)
	}
	return 0
}

// targetRank is 0 for a fault that is restricted to no target and no instant.
func (a Entry) targetRank() int {
	if a.targeted() {
		return 1
	}
	return 0
}

// precision is higher the more specific the entry is: first come entries with a target or an
// instant, the one with the most restrictions first, then those that cover the fewest kinds, in a
// phase before those in any.
func (a *Entry) precision() (n int) {
	n = 2 * (64 - bits.OnesCount64(uint64(coveredKinds[a.Kind])))
	if a.Phased {
		n++
	}
	if a.targeted() {
		n += 256
	}
	if a.Target != (Target{}) && a.Instant != AnyInstant {
		n++
	}
	return n
}

// Key encodes the entry, with its count, in 64 bits.
func (a Entry) Key() uint64 {
	one, other := a.Target.one, a.Target.other
	return uint64(a.Kind)<<56 | uint64(one.role)<<52 | uint64(other.role)<<48 |
		uint64(one.number)<<40 | uint64(other.number)<<32 | uint64(a.Instant)<<24 |
		uint64(a.phaseRank())<<16 | uint64(a.Left)
}
