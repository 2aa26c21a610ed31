package conform

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// An action is what a client does in one step.
type action int

const (
	perform  action = iota // sends the step's request
	drop                   // ends its connection and keeps its session, which its next step resumes
	takeOver               // resumes its session on a second connection while the first one is open
	renew                  // closes its session and opens another
)

// A step is one action of one client. Its request is a template, because it is chosen before
// anything has been answered: a path that begins with $ is below the run's root, wherever that is;
// one that begins with ?N is at or below the sequential node that was created N before the latest;
// knownVersion is the version that the node was last seen to have; and a negative zxid counts back
// from the latest one seen.
//
// So steps can be left out, and the rest still makes sense.
type step struct {
	client  int
	action  action
	request *wire.Request
}

// clients is how many clients there are.
const clients = 3

// knownVersion stands for the version that the node was last seen to have.
const knownVersion = math.MinInt32

// The keeper cleans up, and every ACL but an empty one lets it.
const keeperUser, keeperPassword = "keeper", "kept"

// A generator chooses steps.
type generator struct {
	*rand.Rand
	options Options
	steps   []step
	longest int           // the most steps that a client takes in a row
	dropped [clients]bool // the client has lost its watches with its connection
}

// randomSteps chooses the steps of one epoch. The same seeds and the same options give the same
// steps.
func randomSteps(seed, epoch uint64, count int, options Options) []step {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, epoch)), options: options}
	g.longest = 2 << g.IntN(6)
	for len(g.steps) < count {
		g.turn(g.IntN(clients))
	}
	return g.steps[:count]
}

// turn adds the steps that one client takes before another does.
func (g *generator) turn(client int) {
	for range 1 + g.IntN(g.longest) {
		s := step{client: client}
		switch n := g.IntN(1000); {
		case g.dropped[client] && n < 800:
			s.request = g.setWatches()
		case n < 5:
			s.action = drop
		case n < 8:
			s.action = takeOver
		case n < 13:
			s.action = renew
		default:
			s.request = g.request()
		}
		g.dropped[client] = s.action == drop || s.action == takeOver
		g.steps = append(g.steps, s)
		if s.action == drop {
			return // others do something before the client comes back
		}
	}
}

// A kind of request, and how often it is chosen in relation to others.
type kind struct {
	weight int
	choose func(*generator) *wire.Request
}

var (
	requestKinds []kind
	writeKinds   = []kind{
		{16, (*generator).create},
		{12, (*generator).delete},
		{14, func(g *generator) *wire.Request { return setData(g.path(), g.data(), g.version()) }},
	}
)

func init() { // the kinds of requests include multi, which chooses among the kinds of writes
	requestKinds = append(writeKinds[:len(writeKinds):len(writeKinds)], []kind{
		{9, func(g *generator) *wire.Request { return g.read(wire.OpExists) }},
		{8, func(g *generator) *wire.Request { return g.read(wire.OpGetData) }},
		{5, func(g *generator) *wire.Request { return g.read(wire.OpGetChildren) }},
		{6, func(g *generator) *wire.Request { return g.read(wire.OpGetChildren2) }},
		{3, func(g *generator) *wire.Request { return read(wire.OpGetACL, g.anyPath()) }},
		{3, (*generator).setACL},
		{9, (*generator).multi},
		{3, (*generator).multiRead},
		{3, (*generator).setWatches},
		{5, func(g *generator) *wire.Request {
			return watches(wire.OpAddWatch, g.path(),
				g.mode(0, 1))
		}},
		{4, func(g *generator) *wire.Request {
			return watches(wire.OpRemoveWatches, g.anyPath(),
				g.mode(1, 2, 3))
		}},
		{3, func(g *generator) *wire.Request {
			return watches(wire.OpCheckWatches, g.anyPath(),
				g.mode(1, 2, 3))
		}},
		{2, func(g *generator) *wire.Request { return read(wire.OpSync, g.anyPath()) }},
		{1, func(g *generator) *wire.Request { return read(wire.OpGetEphemerals, g.validPath()) }},
		{1, func(g *generator) *wire.Request {
			return read(wire.OpGetAllChildrenNumber,
				g.anyPath())
		}},
		{1, func(*generator) *wire.Request { return &wire.Request{Op: wire.OpWhoAmI} }},
		{1, (*generator).authenticate},
	}...)
}

// request chooses what a client sends.
func (g *generator) request() *wire.Request {
	return g.choose(requestKinds)
}

func (g *generator) choose(kinds []kind) *wire.Request {
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

// percent is true so often.
func (g *generator) percent(n int) bool {
	return g.IntN(100) < n
}

// one chooses one of several.
func one[T any](g *generator, choices ...T) T {
	return choices[g.IntN(len(choices))]
}

// path chooses among few paths, so that clients often meet at the same, and now and then among
// those that are refused. None is outside the root, where not all that is seen is the run's own
// doing.
func (g *generator) path() string {
	if g.percent(3) {
		return one(g, "a", "$/", "$//a", "$/a/", "$/./a", "$/a/../b", "$/a/..", "$/\x01", "$/a\x00",
			"$/\ud7ff", "$/\uf000", "$/é",
			"$/\ufffd", "$/\U0001f600")
	}
	return g.validPath()
}

// anyPath is path, or null. A real server does not get over the end of a connection with a null
// watch that stays.
func (g *generator) anyPath() string {
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
		return one(g, "?0", "?1", "?2", "?3", "?0/a")
	case n < 60:
		return "$" + g.name()
	case n < 90:
		return "$" + g.name() + g.name()
	}
	return "$" + g.name() + g.name() + g.name()
}

func (g *generator) name() string {
	return one(g, "/a", "/b", "/c")
}

// pathBelow chooses a path other than the root's, which stays until the end of the run.
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
	return []byte(strings.Repeat(one(g, "x", "y", "z"), 1+g.IntN(20)))
}

func (g *generator) version() int32 {
	switch n := g.IntN(100); {
	case n < 55:
		return anyVersion
	case n < 90:
		return knownVersion
	}
	return one[int32](g, 0, 1, 2, 3, -2)
}

// mode chooses one of the modes that there are, and rarely one that is not.
func (g *generator) mode(modes ...int32) int32 {
	if g.percent(2) {
		return one[int32](g, -1, 9)
	}
	return one(g, modes...)
}

func (g *generator) create() *wire.Request {
	r := createOp(wire.OpCreate, g.pathBelow(), wire.Persistent)
	r.Data, r.ACL = g.data(), g.aclOfNew()
	switch n := g.IntN(100); {
	case n < 8 && g.options.Containers:
		r.Op, r.Flags = wire.OpCreateContainer, wire.Container
	case n < 16 && g.options.TTL:
		r.Op = wire.OpCreateTTL
		r.Flags, r.TTLMillis = g.lifetime()
	default:
		r.Op, r.Flags = one(g, wire.OpCreate, wire.OpCreate, wire.OpCreate2), g.flags()
	}
	if sequential(r.Flags) && g.percent(80) {
		r.Path = one(g, "$", "$/a", "$/b", "$/a/b") + one(g, "/", "/n-", "/a")
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
	case n < 97 && g.options.Containers: // as it is inside a multi
		return wire.Container
	case n < 98 && g.options.TTL:
		return wire.PersistentTTL
	}
	return one[int32](g, -1, 7, 99)
}

// lifetime chooses flags, and a lifetime that is over long after the run. Some are refused, but
// never flags without a lifetime together with -1: release 3.8.0 accepts them, ends, and ends again
// whenever it is started with that log.
func (g *generator) lifetime() (flags int32, milliseconds int64) {
	const longest = 0xffffffffff
	flags, milliseconds = one(g, wire.PersistentTTL, wire.PersistentSeqTTL), longest-g.Int64N(1000)
	switch n := g.IntN(100); {
	case n < 5:
		flags = one(g, wire.Persistent, wire.Ephemeral, wire.PersistentSequential, wire.Container)
	case n < 10:
		milliseconds = one[int64](g, 0, -1, longest+1)
	}
	return flags, milliseconds
}

func (g *generator) delete() *wire.Request {
	r := deleteNode(g.pathBelow())
	r.Version = g.version()
	return r
}

// aclOfNew chooses the ACL of a new node, most often one that is in nobody's way.
func (g *generator) aclOfNew() []wire.ACL {
	if g.percent(80) {
		return open
	}
	return g.acl()
}

// acl chooses an ACL. Clients authenticate as u:p and v:q only.
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
		ID: digest(keeperUser, keeperPassword),
	}}
	for range 1 + g.IntN(3) {
		entry := identities[g.IntN(len(identities))]
		entry.Perms = one(g, wire.PermAll, wire.PermAll, wire.PermRead, g.Int32N(wire.PermAll+1))
		list = append(list, entry)
	}
	return list
}

// setACL mostly leaves nodes, and the root above all, open to everybody, lest nothing else
// succeeds.
func (g *generator) setACL() *wire.Request {
	r := setACL(g.anyPath(), g.version(), open...)
	if g.percent(50) && (r.Path != "$" || g.percent(10)) {
		r.ACL = g.acl()
	}
	return r
}

// read chooses a read that can set a watch.
func (g *generator) read(op wire.Op) *wire.Request {
	return &wire.Request{Op: op, Path: g.anyPath(), Watch: g.percent(60)}
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
		op := read(one(g, wire.OpGetData, wire.OpGetChildren), g.path())
		if g.percent(1) {
			op = deleteNode(g.path())
		}
		r.Ops = append(r.Ops, *op)
	}
	return r
}

// setWatches chooses what a client sends after a reconnect, though clients that have watches may
// send it too.
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
		Data:         paths(g.anyPath), Exist: paths(g.anyPath), Child: paths(g.anyPath),
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
	return authenticate("digest", one(g, "u:p", "v:q", "u:wrong", "blah"))
}
