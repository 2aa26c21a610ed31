package conform

import (
	"math/rand/v2"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An action is the kind of a step.
type action int

const (
	actionRequest  action = iota // send the step's request
	actionDrop                   // close the connection; the client's next step resumes the session
	actionTakeOver               // resume the session on a second connection
	actionRenew                  // close the session and open a new one
)

// A step is one action of one client. Its request is a template, because it is chosen before any
// reply is known:
//   - a path that begins with $ is below the run's root
//   - a path that begins with ?N is at or below the sequential node created N before the latest
//   - operation.KnownVersion is the node's last observed version
//   - a negative zxid counts back from the latest one
//
// So the remaining steps stay meaningful when steps are removed.
type step struct {
	client  int
	action  action
	request *wire.Request
}

// clientCount is the number of clients.
const clientCount = 3

// The identity that cleans up. Every generated ACL except the empty one grants it all permissions.
const adminUser, adminPassword = "keeper", "kept"

// A generator generates random steps. It is the [operation.Generator] of their requests.
type generator struct {
	*rand.Rand
	options Options
	steps   []step
	maxRun  int               // maximum number of consecutive steps of a client
	dropped [clientCount]bool // the client has lost its connection and watches
}

// randomSteps generates the steps of a round. Equal seeds and options give equal steps.
func randomSteps(seed, round uint64, count int, options Options) []step {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, round)), options: options}
	g.maxRun = 2 << g.IntN(6)
	for len(g.steps) < count {
		g.addRun(g.IntN(clientCount))
	}
	return g.steps[:count]
}

// addRun adds consecutive steps of one client.
func (g *generator) addRun(client int) {
	for range 1 + g.IntN(g.maxRun) {
		s := step{client: client}
		switch n := g.IntN(1000); {
		case g.dropped[client] && n < 800:
			s.request = operation.RandomSetWatches(g)
		case n < 5:
			s.action = actionDrop
		case n < 8:
			s.action = actionTakeOver
		case n < 13:
			s.action = actionRenew
		default:
			s.request = operation.Random(g)
		}
		g.dropped[client] = s.action == actionDrop || s.action == actionTakeOver
		g.steps = append(g.steps, s)
		if s.action == actionDrop {
			return // other clients act before the client reconnects
		}
	}
}

// percent returns true with a probability of n percent.
func (g *generator) percent(n int) bool {
	return g.IntN(100) < n
}

// oneOf returns a random choice.
func oneOf[T any](g *generator, choices ...T) T {
	return choices[g.IntN(len(choices))]
}

// Path returns one of a few paths, so that clients often use the same nodes, and rarely an invalid
// one. All are below the root, because nodes outside it do not depend on the run alone.
func (g *generator) Path() string {
	if g.percent(3) {
		return oneOf(g, "a", "$/", "$//a", "$/a/", "$/./a", "$/a/../b", "$/a/..", "$/\x01",
			"$/a\x00",
			"$/\ud7ff", "$/\uf000", "$/é",
			"$/\ufffd", "$/\U0001f600")
	}
	return g.ValidPath()
}

// PathOrNull is Path or, rarely, null. It must not be used for persistent watches: a real server
// fails when a connection with a persistent watch of a null path ends.
func (g *generator) PathOrNull() string {
	if g.percent(1) {
		return wire.Null
	}
	return g.Path()
}

// ValidPath returns the root, a path below it, or the path of a sequential node.
func (g *generator) ValidPath() string {
	switch n := g.IntN(100); {
	case n < 6:
		return "$"
	case n < 20:
		return oneOf(g, "?0", "?1", "?2", "?3", "?0/a")
	case n < 60:
		return "$" + g.name()
	case n < 90:
		return "$" + g.name() + g.name()
	}
	return "$" + g.name() + g.name() + g.name()
}

func (g *generator) name() string {
	return oneOf(g, "/a", "/b", "/c")
}

// PathBelow returns a path other than the root's, which must exist until the end of the round.
func (g *generator) PathBelow() string {
	for {
		if path := g.Path(); path != "$" {
			return path
		}
	}
}

// Supports returns the features that the compared servers have.
func (g *generator) Supports() operation.Features {
	return operation.Features{
		TTL: g.options.TTL, Containers: g.options.Containers, Super: g.options.Super,
	}
}

// Data returns data of a node: sometimes empty or null.
func (g *generator) Data() []byte {
	switch g.IntN(10) {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	return []byte(strings.Repeat(oneOf(g, "x", "y", "z"), 1+g.IntN(20)))
}

// Version returns any version, the known one, or one that may be wrong.
func (g *generator) Version() int32 {
	switch n := g.IntN(100); {
	case n < 55:
		return anyVersion
	case n < 90:
		return operation.KnownVersion
	}
	return oneOf[int32](g, 0, 1, 2, 3, -2)
}

// NewNodeACL returns the ACL of a new node, usually an open one.
func (g *generator) NewNodeACL() []wire.ACL {
	if g.percent(80) {
		return operation.Open
	}
	return g.ACL()
}

// ACL returns a random ACL. Clients authenticate as u:p and v:q only.
func (g *generator) ACL() []wire.ACL {
	if g.percent(50) {
		return operation.Open
	}
	if g.percent(4) {
		return nil
	}
	identities := []wire.ACL{
		{Scheme: "world", ID: "anyone"},
		{Scheme: "auth"},
		{Scheme: "digest", ID: digest("u", "p")},
		{Scheme: "digest", ID: digest("v", "q")},
		{Scheme: "ip", ID: "127.0.0.1"},
		{Scheme: "ip", ID: "10.0.0.1"},
		{Scheme: "ip", ID: "127.0.0.0/8"},
	}
	if g.percent(5) {
		identities = []wire.ACL{
			{Scheme: "world", ID: "nobody"},
			{Scheme: "nosuch", ID: "x"},
			{Scheme: "ip", ID: "x"},
			{Scheme: "digest", ID: "x"},
		}
	}
	list := []wire.ACL{{
		Perms: wire.PermAll, Scheme: "digest",
		ID: digest(adminUser, adminPassword),
	}}
	for range 1 + g.IntN(3) {
		entry := identities[g.IntN(len(identities))]
		entry.Perms = oneOf(g, wire.PermAll, wire.PermAll, wire.PermRead, g.Int32N(wire.PermAll+1))
		list = append(list, entry)
	}
	return list
}
