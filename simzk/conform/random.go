package conform

import (
	"math"
	"math/rand/v2"
	"strings"

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
//   - knownVersion is the node's last observed version
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

// knownVersion represents the last observed version of a node.
const knownVersion = math.MinInt32

// The identity that cleans up. Every generated ACL except the empty one grants it all permissions.
const adminUser, adminPassword = "keeper", "kept"

// A generator generates random steps.
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
			s.request = g.setWatches()
		case n < 5:
			s.action = actionDrop
		case n < 8:
			s.action = actionTakeOver
		case n < 13:
			s.action = actionRenew
		default:
			s.request = g.request()
		}
		g.dropped[client] = s.action == actionDrop || s.action == actionTakeOver
		g.steps = append(g.steps, s)
		if s.action == actionDrop {
			return // other clients act before the client reconnects
		}
	}
}

// A requestKind is a kind of request and its relative frequency.
type requestKind struct {
	weight int
	choose func(*generator) *wire.Request
}

var (
	requestKinds []requestKind
	writeKinds   = []requestKind{
		{16, (*generator).create},
		{12, (*generator).delete},
		{14, func(g *generator) *wire.Request { return setData(g.path(), g.data(), g.version()) }},
	}
)

func init() { // requestKinds include multi, which chooses from writeKinds
	requestKinds = append(writeKinds[:len(writeKinds):len(writeKinds)], []requestKind{
		{9, func(g *generator) *wire.Request { return g.read(wire.OpExists) }},
		{8, func(g *generator) *wire.Request { return g.read(wire.OpGetData) }},
		{5, func(g *generator) *wire.Request { return g.read(wire.OpGetChildren) }},
		{6, func(g *generator) *wire.Request { return g.read(wire.OpGetChildren2) }},
		{3, func(g *generator) *wire.Request { return read(wire.OpGetACL, g.pathOrNull()) }},
		{3, (*generator).setACL},
		{9, (*generator).multi},
		{3, (*generator).multiRead},
		{3, (*generator).setWatches},
		{5, func(g *generator) *wire.Request {
			return watches(wire.OpAddWatch, g.path(), g.mode(0, 1))
		}},
		{4, func(g *generator) *wire.Request {
			return watches(wire.OpRemoveWatches, g.pathOrNull(), g.mode(1, 2, 3))
		}},
		{3, func(g *generator) *wire.Request {
			return watches(wire.OpCheckWatches, g.pathOrNull(), g.mode(1, 2, 3))
		}},
		{2, func(g *generator) *wire.Request { return read(wire.OpSync, g.pathOrNull()) }},
		{1, func(g *generator) *wire.Request { return read(wire.OpGetEphemerals, g.validPath()) }},
		{1, func(g *generator) *wire.Request {
			return read(wire.OpGetAllChildrenNumber, g.pathOrNull())
		}},
		{1, func(*generator) *wire.Request { return &wire.Request{Op: wire.OpWhoAmI} }},
		{1, (*generator).authenticate},
	}...)
}

// request generates a request.
func (g *generator) request() *wire.Request {
	return g.choose(requestKinds)
}

func (g *generator) choose(kinds []requestKind) *wire.Request {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := g.IntN(total)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			return k.choose(g)
		}
	}
	panic("unreachable")
}

// percent returns true with a probability of n percent.
func (g *generator) percent(n int) bool {
	return g.IntN(100) < n
}

// oneOf returns a random choice.
func oneOf[T any](g *generator, choices ...T) T {
	return choices[g.IntN(len(choices))]
}

// path returns one of a few paths, so that clients often use the same nodes, and rarely an invalid
// one. All are below the root, because nodes outside it do not depend on the run alone.
func (g *generator) path() string {
	if g.percent(3) {
		return oneOf(g, "a", "$/", "$//a", "$/a/", "$/./a", "$/a/../b", "$/a/..", "$/\x01",
			"$/a\x00",
			"$/\ud7ff", "$/\uf000", "$/é",
			"$/\ufffd", "$/\U0001f600")
	}
	return g.validPath()
}

// pathOrNull is path or, rarely, null. It must not be used for persistent watches: a real server
// fails when a connection with a persistent watch of a null path ends.
func (g *generator) pathOrNull() string {
	if g.percent(1) {
		return wire.Null
	}
	return g.path()
}

func (g *generator) validPath() string {
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

// pathBelow returns a path other than the root's, which must exist until the end of the round.
func (g *generator) pathBelow() string {
	for {
		if path := g.path(); path != "$" {
			return path
		}
	}
}

func (g *generator) data() []byte {
	switch g.IntN(10) {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	return []byte(strings.Repeat(oneOf(g, "x", "y", "z"), 1+g.IntN(20)))
}

func (g *generator) version() int32 {
	switch n := g.IntN(100); {
	case n < 55:
		return anyVersion
	case n < 90:
		return knownVersion
	}
	return oneOf[int32](g, 0, 1, 2, 3, -2)
}

// mode returns one of the valid modes and rarely an invalid one.
func (g *generator) mode(modes ...int32) int32 {
	if g.percent(2) {
		return oneOf[int32](g, -1, 9)
	}
	return oneOf(g, modes...)
}

func (g *generator) create() *wire.Request {
	r := createOp(wire.OpCreate, g.pathBelow(), wire.Persistent)
	r.Data, r.ACL = g.data(), g.newNodeACL()
	switch n := g.IntN(100); {
	case n < 8 && g.options.Containers:
		r.Op, r.Flags = wire.OpCreateContainer, wire.Container
	case n < 16 && g.options.TTL:
		r.Op = wire.OpCreateTTL
		r.Flags, r.TTLMillis = g.ttlFlags()
	default:
		r.Op, r.Flags = oneOf(g, wire.OpCreate, wire.OpCreate, wire.OpCreate2), g.flags()
	}
	if sequential(r.Flags) && g.percent(80) {
		r.Path = oneOf(g, "$", "$/a", "$/b", "$/a/b") + oneOf(g, "/", "/n-", "/a")
	}
	return r
}

func sequential(flags int32) bool {
	return flags == wire.PersistentSequential || flags == wire.EphemeralSequential ||
		flags == wire.PersistentSeqTTL
}

func (g *generator) flags() int32 {
	switch n := g.IntN(100); {
	case n < 45:
		return wire.Persistent
	case n < 65:
		return wire.Ephemeral
	case n < 80:
		return wire.PersistentSequential
	case n < 94:
		return wire.EphemeralSequential
	case n < 97 && g.options.Containers: // the flag makes a container inside a multi
		return wire.Container
	case n < 98 && g.options.TTL:
		return wire.PersistentTTL
	}
	return oneOf[int32](g, -1, 7, 99)
}

// ttlFlags returns flags and a TTL in milliseconds that exceeds the run's duration. Some are
// invalid. Flags without a TTL are never combined with -1: release 3.8.0 accepts them, ends, and
// fails again on every restart with that log.
func (g *generator) ttlFlags() (flags int32, milliseconds int64) {
	const longest = 0xffffffffff
	flags, milliseconds = oneOf(g, wire.PersistentTTL, wire.PersistentSeqTTL),
		longest-g.Int64N(1000)
	switch n := g.IntN(100); {
	case n < 5:
		flags = oneOf(g, wire.Persistent, wire.Ephemeral, wire.PersistentSequential, wire.Container)
	case n < 10:
		milliseconds = oneOf[int64](g, 0, -1, longest+1)
	}
	return flags, milliseconds
}

func (g *generator) delete() *wire.Request {
	r := deleteNode(g.pathBelow())
	r.Version = g.version()
	return r
}

// newNodeACL returns the ACL of a new node, usually an open one.
func (g *generator) newNodeACL() []wire.ACL {
	if g.percent(80) {
		return open
	}
	return g.acl()
}

// acl returns a random ACL. Clients authenticate as u:p and v:q only.
func (g *generator) acl() []wire.ACL {
	if g.percent(50) {
		return open
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

// setACL leaves most nodes open, and the root in particular. Otherwise few other requests would
// succeed.
func (g *generator) setACL() *wire.Request {
	r := setACL(g.pathOrNull(), g.version(), open...)
	if g.percent(50) && (r.Path != "$" || g.percent(10)) {
		r.ACL = g.acl()
	}
	return r
}

// read generates a read that may set a watch.
func (g *generator) read(op wire.Op) *wire.Request {
	return &wire.Request{Op: op, Path: g.pathOrNull(), Watch: g.percent(60)}
}

func (g *generator) multi() *wire.Request {
	r := &wire.Request{Op: wire.OpMulti}
	for range g.IntN(6) {
		op := g.choose(writeKinds)
		if g.percent(15) {
			op = check(g.path(), g.version())
		}
		if g.percent(1) {
			op = read(wire.OpGetData, g.path())
		}
		r.Ops = append(r.Ops, *op)
	}
	return r
}

func (g *generator) multiRead() *wire.Request {
	r := &wire.Request{Op: wire.OpMultiRead}
	for range g.IntN(5) {
		op := read(oneOf(g, wire.OpGetData, wire.OpGetChildren), g.path())
		if g.percent(1) {
			op = deleteNode(g.path())
		}
		r.Ops = append(r.Ops, *op)
	}
	return r
}

// setWatches generates the request that re-registers watches after a reconnect. Clients with
// watches also send it.
func (g *generator) setWatches() *wire.Request {
	paths := func(choose func() string) []string {
		var list []string
		for range g.IntN(4) {
			list = append(list, choose())
		}
		return list
	}
	r := &wire.Request{Op: wire.OpSetWatches, Watches: &wire.Watches{
		RelativeZxid: -g.Int64N(30),
		Data:         paths(g.pathOrNull), Exist: paths(g.pathOrNull), Child: paths(g.pathOrNull),
	}}
	if g.percent(50) {
		r.Op, r.Watches.Persistent, r.Watches.Recursive = wire.OpSetWatches2, paths(g.path),
			paths(g.path)
	}
	return r
}

func (g *generator) authenticate() *wire.Request {
	switch n := g.IntN(100); {
	case n < 5:
		return authenticate("nosuch", "x")
	case n < 8:
		return authenticate("ip", "x")
	case n < 15 && g.options.Super != "":
		return authenticate("digest", g.options.Super)
	}
	return authenticate("digest", oneOf(g, "u:p", "v:q", "u:wrong", "blah"))
}
