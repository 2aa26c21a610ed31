package simzk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// The model of the client does what the client does: the same steps give the same history, and the
// same answers to every call at the same step.
func TestModelledClientIsTheRealOne(t *testing.T) {
	if simzk.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := somePlay.Draw(rt, "play")
		model, real := performModelled(t, p), performReal(t, p)
		if found := difference(model, real); found != "" {
			rt.Fatal(found)
		}
	})
}

// A play is the steps of a run. All of them are drawn before the run begins.
type play struct {
	servers     int
	clients     int
	credentials int // that every client has before the first move
	version     simzk.Version
	extended    bool // TTL nodes are allowed
	moves       []move
}

// A move is a step of a run. It is left out where it is not possible.
type move struct {
	kind  moveKind
	which int // client, or server
	ask   ask // of a call
	also  ask // of another one at the same time
}

type moveKind string

const (
	noMove      moveKind = "nothing" // to which rapid shrinks a move
	callMove    moveKind = "call"
	callsMove   moveKind = "calls" // two at the same time
	serveMove   moveKind = "serve"
	deliverMove moveKind = "deliver"
	flowMove    moveKind = "flow" // serve and deliver all there is
	tickMove    moveKind = "tick"
	waitMove    moveKind = "wait" // let time pass ten times
	healMove    moveKind = "heal"
	// heal, and let the client get its session, if it comes to that in a second
	returnMove  moveKind = "return"
	cutMove     moveKind = "cut"
	loseMove    moveKind = "lose-reply"
	isolateMove moveKind = "isolate"
	crashMove   moveKind = "crash"
	disposeMove moveKind = "dispose"
	eventsMove  moveKind = "events" // read the client's channel of events
	resetMove   moveKind = "reset"
	applyMove   moveKind = "apply"
	killMove    moveKind = "kill-server"
	partMove    moveKind = "partition-server"
	mendMove    moveKind = "mend-server"
	deafenMove  moveKind = "partition-inbound"
	muteMove    moveKind = "partition-outbound"
	holdMove    moveKind = "stall-requests"
	keepMove    moveKind = "stall-replies"
	clockMove   moveKind = "fast-clock"
	lagMove     moveKind = "slow-clock"
	jumpMove    moveKind = "jump-clock"
	slowMove    moveKind = "slow-client"
	fastMove    moveKind = "fast-client"
	// of the server to which the client was connected last
	barMove     moveKind = "unreachable"
	linkMove    moveKind = "partition-link"        // of that server and the next
	severMove   moveKind = "partition-link-oneway" // by that server, of the next
	restoreMove moveKind = "restore-link"          // in the direction from that server
)

// moveKinds are the kinds of moves, as often as they are to be drawn.
var moveKinds = func() []moveKind {
	kinds := []moveKind{noMove}
	for _, k := range [...]struct {
		kind  moveKind
		times int
	}{
		{callMove, 10},
		{callsMove, 2},
		{flowMove, 3},
		{serveMove, 4},
		{deliverMove, 4},
		{tickMove, 5},
		{cutMove, 3},
		{healMove, 3},
		{returnMove, 3},
		{loseMove, 1},
		{waitMove, 1},
		{isolateMove, 1},
		{eventsMove, 1},
		{disposeMove, 1},
		{resetMove, 2},
		{applyMove, 3},
		{killMove, 1},
		{partMove, 1},
		{mendMove, 3},
		{deafenMove, 1},
		{muteMove, 1},
		{holdMove, 1},
		{keepMove, 1},
		{clockMove, 1},
		{lagMove, 1},
		{jumpMove, 1},
		{slowMove, 1},
		{fastMove, 1},
		{barMove, 1},
		{linkMove, 1},
		{severMove, 1},
		{restoreMove, 2},
	} {
		kinds = append(kinds, slices.Repeat([]moveKind{k.kind}, k.times)...)
	}
	return append(kinds, crashMove)
}()

const clientsMax, serversMax = 3, 3

var somePlay = rapid.Custom(func(t *rapid.T) *play {
	return &play{
		servers: rapid.SampledFrom([]int{1, 1, 1, serversMax}).Draw(t, "servers"),
		clients: rapid.IntRange(1, clientsMax).Draw(t, "clients"), credentials: rapid.IntRange(0,
			2).Draw(t, "credentials"),
		version:  rapid.SampledFrom([]simzk.Version{simzk.V38, simzk.V39}).Draw(t, "version"),
		extended: rapid.Bool().Draw(t, "extended"),
		moves:    rapid.SliceOfN(someMove, 20, 90).Draw(t, "moves"),
	}
})

var someMove = rapid.Custom(func(t *rapid.T) move {
	m := move{
		kind:  rapid.SampledFrom(moveKinds).Draw(t, "kind"),
		which: rapid.IntRange(0, max(clientsMax, serversMax)-1).Draw(t, "which"),
	}
	if m.kind == callMove || m.kind == callsMove {
		m.ask = someAsk.Draw(t, "ask")
	}
	if m.kind == callsMove {
		m.also = someAsk.Draw(t, "also")
	}
	return m
})

func (p *play) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d servers, %d clients with %d credentials, release %d, extended types %t",
		p.servers, p.clients, p.credentials, p.version, p.extended)
	for i, m := range p.moves {
		fmt.Fprintf(&b, "\n%d: c%d or s%d %s", i, m.which%p.clients+1, m.which%p.servers+1, m.kind)
		if m.kind == callMove || m.kind == callsMove {
			b.WriteString(" " + m.ask.String())
		}
		if m.kind == callsMove {
			b.WriteString(" and " + m.also.String())
		}
	}
	return b.String()
}

// An ask is a method of the client and its arguments.
type ask struct {
	method  string
	path    string
	data    []byte
	flags   int32
	version int32
	acl     []zk.ACL
	ttl     time.Duration
	scheme  string
	ops     []any
	delay   time.Duration // after which the process asks
}

func (a *ask) String() string {
	text := fmt.Sprintf("%s %q data %q flags %d version %d ACL %v ttl %v scheme %q after %v",
		a.method,
		a.path, a.data, a.flags,
		a.version, a.acl, a.ttl, a.scheme, a.delay)
	for _, op := range a.ops {
		text += fmt.Sprintf(" %T%+v", op, op)
	}
	return text
}

// The methods that are asked for, the more important ones more than once.
var methods = []string{
	"Get", "Exists", "Children", "Sync", "Create", "Create", "Create", "Set", "Set", "Delete",
	"Delete", "GetW", "GetW", "ExistsW",
	"ExistsW", "ChildrenW", "ChildrenW", protected, protected, protected, "AddAuth", "AddAuth",
	"GetACL", "SetACL", "Multi", "Multi",
	"CreateContainer", "CreateTTL", closing,
}

const (
	protected = "CreateProtectedEphemeralSequential"
	closing   = "Close"
)

// Most paths are of few nodes, so that calls meet. Some are refused by the client and some by the
// server, some only in part: /./a is a path for the one and not for the other. Over the last a
// search for a protected node panics.
var paths = slices.Concat(slices.Repeat([]string{"/a", "/b", "/a/x", "/a/y"}, 6),
	[]string{
		"/", "/a/", "/missing/x", "a", "", "//", "/a/.", "/./a", "/a\x00", "/\U0001F512",
		"/zookeeper", "/a/_c_x",
	})

var someData = rapid.SampledFrom([][]byte{nil, {}, []byte("x"), []byte("yy")})

// A version is mostly any, or one that nodes have.
var someVersion = rapid.SampledFrom([]int32{-1, -1, 0, 1, -2})

var someACL = rapid.SampledFrom([][]zk.ACL{
	zk.WorldACL(zk.PermAll), zk.WorldACL(zk.PermAll), zk.WorldACL(zk.PermAll),
	zk.WorldACL(zk.PermRead), zk.AuthACL(zk.PermAll),
	zk.DigestACL(zk.PermAll, "alice", "a"), append(zk.DigestACL(zk.PermAll, "alice", "a"),
		zk.WorldACL(zk.PermRead)...),
	nil,
	{{Perms: zk.PermAll, Scheme: "nonsense", ID: "x"}},
})

var someAsk = rapid.Custom(func(t *rapid.T) ask {
	a := ask{method: rapid.SampledFrom(methods).Draw(t, "method"), version: -1}
	if a.method == closing {
		return a
	}
	a.delay = rapid.SampledFrom([]time.Duration{
		0, 0, 0, 0, 0, 0, 310 * time.Millisecond,
		time.Second,
	}).Draw(t, "delay")
	switch a.method {
	case "AddAuth":
		a.scheme = rapid.SampledFrom([]string{
			"digest", "digest", "digest", "ip",
			"nonsense",
		}).Draw(t,
			"scheme")
		a.data = rapid.SampledFrom([][]byte{[]byte("alice:a"), []byte("bob:b"), nil}).Draw(t,
			"credentials")
		return a
	case "Multi":
		a.ops = rapid.SliceOfN(someOperation, 0, 3).Draw(t, "operations")
		return a
	}
	a.path = rapid.SampledFrom(paths).Draw(t, "path")
	switch a.method {
	case "Create":
		a.flags = rapid.SampledFrom([]int32{0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, -1}).Draw(t, "flags")
	case "CreateContainer":
		a.flags = rapid.SampledFrom([]int32{4, 4, 0, 5, 7}).Draw(t, "flags")
	case "CreateTTL":
		a.flags = rapid.SampledFrom([]int32{5, 6, 4, 7}).Draw(t, "flags")
		a.ttl = rapid.SampledFrom([]time.Duration{
			time.Second, time.Microsecond,
			-time.Second,
		}).Draw(t,
			"ttl")
	case "Set", "Delete", "SetACL":
		a.version = someVersion.Draw(t, "version")
	}
	switch a.method {
	case "Create", "CreateContainer", "CreateTTL", protected:
		a.data, a.acl = someData.Draw(t, "data"), someACL.Draw(t, "ACL")
	case "Set":
		a.data = someData.Draw(t, "data")
	case "SetACL":
		a.acl = someACL.Draw(t, "ACL")
	}
	return a
})

// An operation of a multi; the last is none.
var someOperation = rapid.Custom(func(t *rapid.T) any {
	path := rapid.SampledFrom(paths).Draw(t, "path")
	switch rapid.SampledFrom([]string{
		"check", "create", "create", "set", "delete",
		"unknown",
	}).Draw(t,
		"operation") {
	case "check":
		return &zk.CheckVersionRequest{Path: path, Version: someVersion.Draw(t, "version")}
	case "create":
		return &zk.CreateRequest{
			Path: path, Data: someData.Draw(t, "data"), Acl: someACL.Draw(t, "ACL"),
			Flags: rapid.SampledFrom([]int32{0, 0, 0, 1, 2, 3, 4, 5, 7}).Draw(t, "flags"),
		}
	case "set":
		return &zk.SetDataRequest{
			Path: path, Data: someData.Draw(t, "data"),
			Version: someVersion.Draw(t, "version"),
		}
	case "delete":
		return &zk.DeleteRequest{Path: path, Version: someVersion.Draw(t, "version")}
	}
	return zk.DeleteRequest{Path: path}
})

// of asks the client and returns what it returned, as text, and the channel of the watch that was
// set.
func (a *ask) of(c simzk.Client) (text string, watch <-chan zk.Event) {
	var results []any
	var err error
	switch a.method {
	case "Create", "CreateContainer", "CreateTTL", protected, "Sync":
		var path string
		path, err = a.ofPath(c)
		results = []any{path}
	case "Delete":
		err = c.Delete(a.path, a.version)
	case "Get", "GetW":
		var data []byte
		var stat *zk.Stat
		if a.method == "Get" {
			data, stat, err = c.Get(a.path)
		} else {
			data, stat, watch, err = c.GetW(a.path)
		}
		results = []any{data, stat}
	case "Exists", "ExistsW":
		var exists bool
		var stat *zk.Stat
		if a.method == "Exists" {
			exists, stat, err = c.Exists(a.path)
		} else {
			exists, stat, watch, err = c.ExistsW(a.path)
		}
		results = []any{exists, stat}
	case "Children", "ChildrenW":
		var names []string
		var stat *zk.Stat
		if a.method == "Children" {
			names, stat, err = c.Children(a.path)
		} else {
			names, stat, watch, err = c.ChildrenW(a.path)
		}
		results = []any{names, stat}
	case "Set", "SetACL":
		var stat *zk.Stat
		if a.method == "Set" {
			stat, err = c.Set(a.path, a.data, a.version)
		} else {
			stat, err = c.SetACL(a.path, a.acl, a.version)
		}
		results = []any{stat}
	case "GetACL":
		acl, stat, e := c.GetACL(a.path)
		results, err = []any{acl, stat}, e
	case "AddAuth":
		err = c.AddAuth(a.scheme, a.data)
	case "Multi":
		var responses []zk.MultiResponse
		responses, err = c.Multi(a.ops...)
		results = multiText(responses)
	case closing:
		c.Close()
	}
	for _, r := range results {
		if stat, ok := r.(*zk.Stat); ok && stat != nil {
			r = *stat
		}
		text += fmt.Sprintf("%#v, ", r)
	}
	return fmt.Sprintf("%s%s, watch %t", text, errorText(err), watch != nil), watch
}

// ofPath asks for what returns a path.
func (a *ask) ofPath(c simzk.Client) (string, error) {
	switch a.method {
	case "Create":
		return c.Create(a.path, a.data, a.flags, a.acl)
	case "CreateContainer":
		return c.CreateContainer(a.path, a.data, a.flags, a.acl)
	case "CreateTTL":
		return c.CreateTTL(a.path, a.data, a.flags, a.acl, a.ttl)
	case protected:
		return c.CreateProtectedEphemeralSequential(a.path, a.data, a.acl)
	}
	return c.Sync(a.path)
}

func multiText(responses []zk.MultiResponse) []any {
	results := []any{responses == nil}
	for _, r := range responses {
		results = append(results, r.String, r.Stat, errorText(r.Error))
	}
	return results
}

// known are the errors that the client library exports.
var known = []error{
	zk.ErrConnectionClosed, zk.ErrUnknown, zk.ErrAPIError, zk.ErrNoNode, zk.ErrNoAuth,
	zk.ErrBadVersion,
	zk.ErrNoChildrenForEphemerals, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrSessionExpired,
	zk.ErrInvalidACL, zk.ErrInvalidFlags,
	zk.ErrAuthFailed, zk.ErrClosing, zk.ErrNothing, zk.ErrSessionMoved, zk.ErrReconfigDisabled,
	zk.ErrBadArguments,
	zk.ErrNoServer, zk.ErrInvalidPath, zk.ErrUnhandledFieldType, zk.ErrPtrExpected,
	zk.ErrShortBuffer,
}

// errorText tells all that a program can find out about an error.
func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	text := fmt.Sprintf("error %q", err)
	for i, k := range known {
		switch {
		case err == k:
			text += fmt.Sprintf(" == known[%d]", i)
		case errors.Is(err, k):
			text += fmt.Sprintf(" is known[%d]", i)
		}
	}
	return text
}

// A transcript is all that can be seen of a run.
type transcript struct {
	play   *play
	events []history.Event
	lines  []string // what clients were told, each behind the number of the step
}

// difference describes the first difference of two transcripts, or returns the empty string.
func difference(model, real *transcript) string {
	found := firstDifference(model.lines, real.lines)
	if found == "" {
		found = firstDifference(model.events, real.events)
	}
	if found == "" {
		return ""
	}
	return fmt.Sprintf("%s\n\n%v\n\nThe model's history:\n%s\n\nThe real client's history:\n%s",
		found,
		model.play,
		renderRecords(model.events), renderRecords(real.events))
}

func renderRecords(events []history.Event) string {
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = renderRecord(e)
	}
	return strings.Join(lines, "\n")
}

func firstDifference[T comparable](model, real []T) string {
	for i := range max(len(model), len(real)) {
		switch {
		case i >= len(model):
			return fmt.Sprintf("only the real client: %v", real[i])
		case i >= len(real):
			return fmt.Sprintf("only the model: %v", model[i])
		case model[i] != real[i]:
			return fmt.Sprintf("model: %v\nreal:  %v", model[i], real[i])
		}
	}
	return ""
}

func performModelled(t *testing.T, p *play) *transcript {
	return perform(t, p, func(c *simzk.Cluster) (simzk.Client, *simzk.Link) {
		conn := c.Connect()
		return conn, conn.Link
	})
}

func performReal(t *testing.T, p *play) *transcript {
	defer simzk.Determinize()()
	return perform(t, p, func(c *simzk.Cluster) (simzk.Client, *simzk.Link) {
		conn, err := c.ConnectReal()
		if err != nil {
			panic(err)
		}
		return conn, conn.Link()
	})
}

// perform runs a play in a bubble of its own. What panics there must not cross the bubble's edge by
// itself: the testing package would end the program.
func perform(t *testing.T, p *play, join func(*simzk.Cluster) (simzk.Client,
	*simzk.Link),
) *transcript {
	result := &transcript{play: p}
	var thrown any
	synctest.Test(t, func(*testing.T) {
		defer func() { thrown = recover() }()
		s := newPerformance(p, join)
		defer func() {
			s.finish()
			result.lines, result.events = s.lines, s.log.Events()
		}()
		for s.step = range p.moves {
			s.perform(&p.moves[s.step])
		}
	})
	if thrown != nil {
		panic(thrown)
	}
	return result
}

// A performance is a run of a play inside its bubble.
type performance struct {
	cluster *simzk.Cluster
	log     *history.Log
	actors  []*actor
	began   time.Time
	step    int
	read    int // how many events of the log have been read
	lines   []string

	mu sync.Mutex // held while calls say what they returned
}

// An actor is a client and what is known of it.
type actor struct {
	client simzk.Client
	link   *simzk.Link
	calls  []*started
	state  string // as it was shown last
	over   bool   // its channel of events was seen closed

	hasSession   bool
	credentials  int // that the server has accepted, so that the client sends them again
	acknowledged int // how many of them on this connection
	closing      bool
}

// A started call is one that runs, or has run, in a goroutine of its own.
type started struct {
	ask    *ask
	number int
	watch  <-chan zk.Event // nil once it is closed, too

	outcome string // what it returned; empty until then
	shown   bool
}

func newPerformance(p *play, join func(*simzk.Cluster) (simzk.Client, *simzk.Link)) *performance {
	s := &performance{log: new(history.Log), began: time.Now()}
	s.cluster = simzk.New(simzk.Config{
		Settle: synctest.Wait, Version: p.version, ExtendedTypes: p.extended,
		Servers: p.servers, Lag: p.servers > 1,
	}, s.log)
	s.cluster.Prepare(&tree.Write{Op: wire.OpCreate, Path: "/a", ACL: tree.Open})
	for range p.clients {
		a := new(actor)
		a.client, a.link = join(s.cluster)
		a.client.Events()
		s.actors = append(s.actors, a)
		for i := range p.credentials {
			s.call(a, &ask{method: "AddAuth", scheme: "digest", data: fmt.Appendf(nil, "carol:%d",
				i)})
			s.observe()
			s.flow()
		}
	}
	return s
}

func (s *performance) perform(m *move) {
	a, server := s.actors[m.which%len(s.actors)], m.which%s.cluster.Servers()
	next := (server + 1) % s.cluster.Servers()
	switch m.kind {
	case callMove:
		s.call(a, &m.ask)
	case callsMove:
		s.call(a, &m.ask)
		// Who would know which of the two came first?
		if m.ask.method != closing && m.also.method != closing {
			s.call(a, &m.also)
		}
	case serveMove:
		s.serve(a)
	case deliverMove:
		s.deliver(a)
	case flowMove:
		s.flow()
	case tickMove:
		s.tick()
	case waitMove:
		for range 10 {
			s.tick()
			s.observe()
		}
	case healMove:
		s.heal(a)
	case returnMove:
		s.heal(a)
		s.tick()
		s.observe()
		s.serve(a)
		s.deliver(a)
	case cutMove:
		s.strike(faults.Cut, a)
	case loseMove:
		s.strike(faults.LoseReply, a)
	case isolateMove:
		s.strike(faults.Expire, a)
	case crashMove:
		s.strike(faults.Crash, a)
	case disposeMove:
		s.cluster.Dispose()
	case eventsMove:
		s.readEvents(a)
	case resetMove:
		s.strike(faults.Reset, a)
	case applyMove:
		s.apply(server)
	case killMove:
		s.strikeAt(faults.KillServer, server)
	case partMove:
		s.strikeAt(faults.PartitionServer, server)
	case mendMove:
		s.mend(server)
	case deafenMove:
		s.strikeAt(faults.PartitionInbound, server)
	case muteMove:
		s.strikeAt(faults.PartitionOutbound, server)
	case holdMove:
		s.strike(faults.StallRequests, a)
	case keepMove:
		s.strike(faults.StallReplies, a)
	case clockMove:
		s.strikeAt(faults.FastClock, server)
	case lagMove:
		s.strikeAt(faults.SlowClock, server)
	case jumpMove:
		s.strikeAt(faults.JumpClock, server)
	case slowMove:
		s.strike(faults.SlowClient, a)
	case fastMove:
		s.strike(faults.FastClient, a)
	case barMove:
		if at := a.link.ServerIndex(); faults.PossibleTo(faults.Unreachable, s.cluster, a.link,
			at) &&
			!a.undecided() {
			faults.ApplyTo(faults.Unreachable, s.cluster, a.link, at)
		}
	case linkMove:
		s.sever(faults.PartitionLink, min(server, next), max(server, next))
	case severMove:
		s.sever(faults.PartitionLinkOneway, server, next)
	case restoreMove:
		if s.cluster.LinkPartitioned(server, next) && !s.undecided() {
			s.cluster.HealLink(server, next)
		}
	}
	s.observe()
}

// call starts a call, if that is possible.
func (s *performance) call(a *actor, ask *ask) {
	if !a.link.Crashed() && !a.takes(ask) {
		return
	}
	c := &started{ask: ask, number: len(a.calls)}
	a.calls = append(a.calls, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	a.closing = a.closing || ask.method == closing
	go s.run(a, c)
}

// takes tells whether a client has room for a call, and it can be told what the client will make of
// it:
//
//   - After Close, but while the client still has a connection, a call fails, and yet its request
//     may be sent: queueRequest selects among two channels that are both ready. A protected create
//     that Close has interrupted makes such a call.
//   - A client that is closed between its handshake and the answer sends its watches again or does
//     not, by the same select.
//   - Calls of the same content are told apart by nothing but the order in which they are made, and
//     that gets lost with a connection: flushRequests goes through a map. Of protected creates even
//     the GUIDs would have to be told apart.
func (a *actor) takes(ask *ask) bool {
	running := a.running()
	if len(running) >= callsMax {
		return false
	}
	interrupted := slices.ContainsFunc(running,
		func(c *started) bool { return c.ask.method == protected })
	if ask.method == closing {
		return !interrupted && !(a.client.State() == zk.StateConnected && a.watches())
	}
	if a.closing && a.link.Connected() || ask.method == protected && interrupted {
		return false
	}
	return !slices.ContainsFunc(running,
		func(c *started) bool { return c.ask.String() == ask.String() })
}

// callsMax is how many calls of a client may run at once.
const callsMax = 3

func (s *performance) run(a *actor, c *started) {
	outcome, watch := "ended", (<-chan zk.Event)(nil)
	defer func() {
		if r := recover(); r != nil {
			outcome = fmt.Sprintf("panic: %v", r)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		c.outcome, c.watch = outcome, watch
	}()
	time.Sleep(c.ask.delay)
	s.mu.Lock()
	tooLate := a.closing && c.ask.method != closing && c.ask.delay > 0
	s.mu.Unlock()
	if tooLate {
		outcome = "did not ask" // See takes for why.
		return
	}
	outcome, watch = c.ask.of(a.client)
}

func (a *actor) running() []*started {
	return slices.DeleteFunc(slices.Clone(a.calls), func(c *started) bool { return c.shown })
}

// watches tells whether any watch of the client has not told yet.
func (a *actor) watches() bool {
	return slices.ContainsFunc(a.calls, func(c *started) bool { return c.watch != nil })
}

func (s *performance) serve(a *actor) bool {
	_, ok := a.link.Servable()
	if ok {
		s.cluster.Serve(a.link)
	}
	return ok
}

func (s *performance) deliver(a *actor) bool {
	_, ok := a.link.Deliverable()
	if ok {
		s.cluster.Deliver(a.link)
	}
	return ok
}

func (s *performance) flow() {
	for moved := true; moved; {
		moved = false
		for _, a := range s.actors {
			for _, step := range [...]func(*actor) bool{s.serve, s.deliver} {
				moved = step(a) || moved
				s.observe()
			}
		}
		for server := range s.cluster.Servers() {
			moved = s.apply(server) || moved
			s.observe()
		}
	}
}

func (s *performance) heal(a *actor) {
	if a.link.Down() {
		s.cluster.Heal(a.link)
	}
	for server := range s.cluster.Servers() {
		s.cluster.UnblockClient(a.link, server)
	}
}

func (s *performance) sever(kind faults.Kind, from, to int) {
	if faults.PossibleBetween(kind, s.cluster, from, to) && !s.undecided() {
		faults.ApplyBetween(kind, s.cluster, from, to)
	}
}

func (s *performance) strike(kind faults.Kind, a *actor) {
	if faults.Possible(kind, a.link) && (kind == faults.Crash || !a.undecided()) {
		faults.Apply(kind, faults.DefaultSeverity(), s.cluster, a.link)
	}
}

// apply lets a server log a proposal or apply a transaction. Either may be the end of a session,
// and so of a connection.
func (s *performance) apply(server int) bool {
	if s.undecided() {
		return false
	}
	if _, ok := s.cluster.Loggable(server); ok {
		s.cluster.Log(server)
		return true
	}
	_, ok := s.cluster.Applicable(server)
	if ok {
		s.cluster.Apply(server)
	}
	return ok
}

func (s *performance) strikeAt(kind faults.Kind, server int) {
	if faults.PossibleAt(kind, s.cluster, server) && !s.undecided() {
		faults.ApplyAt(kind, faults.DefaultSeverity(), s.cluster, server)
	}
}

func (s *performance) mend(server int) {
	if s.undecided() {
		return
	}
	s.cluster.HealServer(server)
	if !s.cluster.Up(server) {
		s.cluster.StartServer(server)
	}
}

// undecided tells whether it would be a matter of luck what becomes of calls if the connection were
// lost now: while the client sends its credentials again, calls wait in its queue, and sendLoop,
// which comes next, selects between that queue and the channel that says that the connection is no
// more. It fails the first in the queue with ErrConnectionClosed, or none. The rest goes to the
// next server, or fails with ErrNoServer if all have been tried, and that makes no difference to
// the client's own wish for its watches only if there is no other server.
func (a *actor) undecided() bool {
	return !a.link.Crashed() && !a.closing && a.link.Connected() && a.hasSession &&
		a.acknowledged < a.credentials &&
		(len(a.running()) > 0 || a.link.Several() && a.watches())
}

func (s *performance) undecided() bool { return slices.ContainsFunc(s.actors, (*actor).undecided) }

// tick lets time pass to the cluster's next deadline, or until a process acts by itself, but for no
// more than a second.
func (s *performance) tick() {
	if s.undecided() {
		return // The client might give up the connection.
	}
	pause := time.Second
	if deadline, ok := s.cluster.Deadline(); ok {
		pause = min(pause, deadline-s.cluster.Now())
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-s.cluster.Activity(): // What is old.
	default:
	}
	select {
	case <-timer.C:
	case <-s.cluster.Activity():
	}
	synctest.Wait()
	s.cluster.Advance(time.Since(s.began))
}

// observe lets every process come to rest, sends what they have to say, and notes what they were
// told.
func (s *performance) observe() {
	synctest.Wait()
	s.cluster.Collect()
	synctest.Wait()
	s.readLog()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.actors {
		if a.link.Crashed() {
			continue // Nobody hears of it any more.
		}
		s.show(i, a)
		if state := fmt.Sprintf("%v, session %x", a.client.State(),
			a.client.SessionID()); state != a.state {
			a.state = state
			s.notef(i, "is in state %s", state)
		}
	}
}

// notef adds a line to the transcript.
func (s *performance) notef(actor int, format string, values ...any) {
	s.lines = append(s.lines, fmt.Sprintf("%d: c%d ", s.step, actor+1)+fmt.Sprintf(format,
		values...))
}

// show notes what calls have returned and what watches have told.
func (s *performance) show(i int, a *actor) {
	for _, c := range a.calls {
		if c.outcome != "" && !c.shown {
			c.shown = true
			s.notef(i, "call %d %s: %s", c.number, c.ask.method, c.outcome)
		}
		for c.shown && c.watch != nil {
			e, told, open := receive(c.watch)
			if !told {
				break
			}
			if !open {
				c.watch = nil
			}
			s.notef(i, "watch %d %s, open %t", c.number, eventText(e), open)
		}
	}
}

// receive receives from a channel, if there is anything to receive.
func receive(events <-chan zk.Event) (e zk.Event, told, open bool) {
	select {
	case e, open = <-events:
		return e, true, open
	default:
		return zk.Event{}, false, true
	}
}

func eventText(e zk.Event) string {
	return fmt.Sprintf("%v %v %q %s %q", e.Type, e.State, e.Path, errorText(e.Err), e.Server)
}

// readLog follows what the history tells of the clients' credentials.
func (s *performance) readLog() {
	for _, e := range s.log.Events()[s.read:] {
		a := s.actors[max(1, e.Process)-1]
		switch {
		case e.Process == 0:
		case e.Kind == history.SessionState:
			a.hasSession, a.acknowledged = e.Name == "has-session", 0
		case e.Kind != history.Reply || e.Op != wire.OpAuth.String() || e.Err != "":
		case a.hasSession && a.acknowledged < a.credentials:
			a.acknowledged++
		default:
			a.credentials++
			a.acknowledged++
		}
	}
	s.read = s.log.Len()
}

// readEvents notes what waits in the client's channel of events.
func (s *performance) readEvents(a *actor) {
	if a.link.Crashed() || a.over {
		return
	}
	var events []zk.Event
	for {
		e, told, open := receive(a.client.Events())
		a.over = !open
		if !told || !open {
			break
		}
		events = append(events, e)
	}
	full := len(events) == cap(a.client.Events())
	for begin := 0; begin < len(events); {
		end := begin + 1
		if events[begin].Type == zk.EventNotWatching {
			end = unsortedEnd(events, begin)
			unsort(events[begin:end], full && end == len(events))
		}
		begin = end
	}
	for _, e := range events {
		s.notef(a.link.Process()-1, "event %s", eventText(e))
	}
	if a.over {
		s.notef(a.link.Process()-1, "has no more events")
	}
}

// unsortedEnd returns the end of the events that tell one after the other that watches will not
// fire.
func unsortedEnd(events []zk.Event, begin int) int {
	n := slices.IndexFunc(events[begin:],
		func(e zk.Event) bool { return e.Type != zk.EventNotWatching })
	if n < 0 {
		return len(events)
	}
	return begin + n
}

// unsort takes away the order of events that the client tells in that of a map (invalidateWatches).
// Where not all of them found room in the channel, it is a matter of luck too which have.
func unsort(events []zk.Event, cutShort bool) {
	for i := range events {
		if cutShort {
			events[i].Path = "one of them"
		}
	}
	slices.SortFunc(events, func(a, b zk.Event) int { return strings.Compare(a.Path, b.Path) })
}

// finish ends the run, and notes what calls and watches have come to by then.
func (s *performance) finish() {
	s.step++
	for _, a := range s.actors {
		s.readEvents(a)
	}
	for _, a := range s.actors {
		a.link.TearDown()
	}
	time.Sleep(time.Minute) // Whoever sleeps has to find out that all is over.
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.actors {
		s.show(i, a)
	}
}
