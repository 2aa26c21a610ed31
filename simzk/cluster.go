// Package simzk is a simulated ZooKeeper in which the caller decides every step.
//
// A [Cluster] holds the ensemble and the links to its clients. It does nothing by itself: requests
// wait until [Cluster.Serve], replies and watch events until [Cluster.Deliver], and time stops
// until [Cluster.Advance]. Each link is FIFO in both directions, as TCP is; the caller chooses the
// order between links.
//
// A client is the [End] of a [Link]. Package simzk/client has those of lock code. Other programs
// connect through a [Socket].
package simzk

import (
	"runtime"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/refusal"
	"github.com/interlock-sim/interlock/simzk/internal/memory"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Version is a release of ZooKeeper. Only differences that clients can observe are simulated.
type Version uint8

// The simulated releases.
const (
	V38 Version = iota // 3.8.0
	V39                // 3.9.4
)

// Config configures a cluster.
type Config struct {
	SessionTimeout time.Duration // granted to every model client; 4 s by default
	TickTime       time.Duration // session expiry is rounded to it; 2 s by default

	// MinSessionTimeout and MaxSessionTimeout bound the timeout that a client over the wire
	// negotiates; 2 and 20 ticks by default.
	MinSessionTimeout, MaxSessionTimeout time.Duration

	Version Version
	Servers int // number of servers; 1 by default
	// Members is the configuration of the ensemble, if it has one. It replaces Servers.
	Members       []Member
	Reconfig      bool   // allow reconfigurations
	LoneVoter     bool   // let a reconfig leave a single voter (standaloneEnabled=false)
	SuperDigest   string // user:digest of the superuser; none by default
	ExtendedTypes bool   // allow TTL nodes
	SequenceWraps bool   // see [tree.Rules]
	LocalSessions LocalSessions
	// FirstSession is added to session ids, to distinguish them from those of an earlier cluster.
	FirstSession int64
	// Lag makes servers other than the leader apply transactions only by [Cluster.Apply].
	Lag         bool
	EpochMillis int64 // start time of the cluster, in milliseconds since 1970
	Down        bool  // no server runs until [Cluster.StartServer]

	// Posted, unless nil, is called when a client's queue of messages becomes non-empty, so that a
	// caller with many clients need not poll them all; see [Link.Deliverable].
	Posted func(*Link)

	// Settle is called between two wake-ups of one step, and waits until the woken process is
	// blocked. Without it the result depends on the Go scheduler. Nil means that no process needs
	// to settle.
	Settle func()

	// Stacks returns the stacks of the goroutines of a process, innermost frame first. All of them
	// are blocked. With it, the [history.Facts] of a real client have the lines of calls that the
	// process makes on the client itself; see package client/real. It may be nil.
	Stacks func(process int) [][]runtime.Frame

	// Thread returns the number of the thread that runs the calling goroutine of a process, or 0 if
	// it is unknown. Nil means that no process has several threads.
	Thread func() int32

	// Owner returns the process that the calling goroutine belongs to; see [refusal.DemandOwn].
	Owner func() int
}

// A Cluster is a simulated ensemble with its clients. One goroutine at a time may call its methods,
// and only while every process is blocked; the methods of the clients are the exception.
type Cluster struct {
	config   Config
	history  *history.Log
	activity chan struct{}

	tree     *tree.Tree
	watches  watchTable
	sessions []*session // live sessions, by id
	opened   []*session // all sessions so far, in order of creation
	links    []*Link
	further  int // number of links that are not the first of their process
	servers  []server
	leader   int // index into servers, or noLeader
	epoch    int // number of leaders so far

	log // of an ensemble with lag

	now time.Duration
	phases
	zxid          int64
	configVersion int64  // the zxid of the ensemble's configuration, 0 without one
	age           uint64 // age of the newest message; messages are compared by age
	lastWatch     int32
	lastLink      int64
	lastSession   int64
	timeout       string // SessionTimeout as it appears in histories

	woken         bool // see [Cluster.Woken]
	hasRealClient bool // some client runs goroutines of its own

	pool
}

// A pool is the memory that [Cluster.Reset] reuses.
type pool struct {
	ends []ModelEnd // the first `used` are in use
	used int

	watchArena   memory.Arena[watch]
	execution    execution // of the request being served
	sessionArena memory.Arena[session]
}

// Arena sizes that suffice for most runs.
const (
	watchArenaSize   = 16
	sessionArenaSize = 8
)

// New returns a cluster that writes its history to the log, unless that is nil.
func New(config Config, log *history.Log) *Cluster {
	c := new(Cluster)
	c.Reset(config, log)
	return c
}

// Reset turns the cluster into a new one, as [New] returns it, and reuses its memory, which saves
// most of the cost of a cluster. Everything that belonged to the cluster becomes invalid, above all
// its model clients: no goroutine that uses one may remain.
func (c *Cluster) Reset(config Config, log *history.Log) {
	if config.SessionTimeout == 0 {
		config.SessionTimeout = 4 * time.Second
	}
	if config.TickTime == 0 {
		config.TickTime = 2 * time.Second
	}
	if config.MinSessionTimeout == 0 {
		config.MinSessionTimeout = 2 * config.TickTime
	}
	if config.MaxSessionTimeout == 0 {
		config.MaxSessionTimeout = 20 * config.TickTime
	}
	if config.Settle == nil {
		config.Settle = func() {}
	}
	old := *c
	*c = Cluster{
		config: config, history: log, activity: make(chan struct{}, 1),
		watches: old.watches.reset(),
		leader:  noLeader,
		servers: newServers(&config), timeout: old.timeout,
		sessions: old.sessions[:0], opened: old.opened[:0], links: old.links[:0],
		pool: pool{
			ends: old.ends, watchArena: old.watchArena.Reset(),
			sessionArena: old.sessionArena.Reset(),
		},
	}
	if config.SessionTimeout != old.config.SessionTimeout {
		c.timeout = config.SessionTimeout.String()
	}
	if c.tree = old.tree; c.tree == nil {
		c.tree = tree.New(c.rules())
	} else {
		c.tree.Reset(c.rules())
	}
	for i := range c.servers {
		if config.Lag {
			c.servers[i].tree = tree.New(c.rules())
		}
	}
	if !config.Down {
		c.lead(c.candidate())
		c.refreshConnectivity()
	}
}

func (c *Cluster) rules() tree.Rules {
	return tree.Rules{
		SequenceWraps: c.config.SequenceWraps, ExtendedTypes: c.config.ExtendedTypes,
		ExistsNeedsRead: c.config.Version >= V39, IPv6: c.config.Version >= V39,
	}
}

func (c *Cluster) record(e history.Event) {
	if c.history != nil {
		c.history.Append(e)
	}
}

// Activity receives a value when a process has sent something since the last receive. A caller that
// lets time pass can thereby stop when a timer of a process made it act, provided that it first
// drains the channel.
func (c *Cluster) Activity() <-chan struct{} { return c.activity }

// Woken reports whether the steps since the last call may have woken a goroutine of a process. If
// not, there is nothing to settle.
func (c *Cluster) Woken() bool {
	woken := c.woken || c.hasRealClient
	c.woken = false
	return woken
}

// NextAge returns the age of an item that is queued now, such as a message.
func (c *Cluster) NextAge() uint64 {
	c.age++
	return c.age
}

// RenumberAges gives every queued item a new age, in canonical order: by link, requests before
// replies, proposals last. A policy that goes by ages then depends on nothing that
// [Cluster.StateHash] leaves out.
func (c *Cluster) RenumberAges() {
	for _, l := range c.links {
		for _, r := range l.toServer {
			r.age = c.NextAge()
		}
		for i := range l.toClient {
			l.toClient[i].age = c.NextAge()
		}
	}
	for i := range c.proposals {
		c.proposals[i].age = c.NextAge()
	}
}

// Tree returns the znodes. In an ensemble with lag, these are the leader's once every proposal is
// committed.
func (c *Cluster) Tree() *tree.Tree { return c.tree }

// Prepare applies a write at all servers. It must be called before any client connects.
func (c *Cluster) Prepare(w *tree.Write) { c.prepare(func(t *tree.Tree) { t.Apply(w) }) }

// PrepareSequence sets the number of a node's next sequential child to n. It must be called before
// any client connects. It replaces n create transactions, so that a run can reach the end of the
// numbers.
func (c *Cluster) PrepareSequence(path string, n int32) {
	c.prepare(func(t *tree.Tree) { t.SetSequence(path, n) })
	c.zxid += int64(n)
	for i := range c.servers {
		c.servers[i].zxid = c.zxid
	}
}

func (c *Cluster) prepare(change func(*tree.Tree)) {
	change(c.tree)
	for i := range c.servers {
		if t := c.servers[i].tree; t != nil {
			change(t)
		}
	}
	c.prepared = append(c.prepared, change)
}

// Now returns the virtual time since the cluster's start.
func (c *Cluster) Now() time.Duration { return c.now }

// Zxid returns the id of the last transaction.
func (c *Cluster) Zxid() int64 { return c.zxid }

// SessionTimeout returns the timeout that the ensemble grants every model client.
func (c *Cluster) SessionTimeout() time.Duration { return c.config.SessionTimeout }

// Links returns the clients' links in order of creation.
func (c *Cluster) Links() []*Link { return c.links }

// Sessions returns the number of live sessions.
func (c *Cluster) Sessions() int { return len(c.sessions) }

// Collect transmits the requests that processes have submitted since the last call. It orders them
// by process and then by content, so that the Go scheduler has no influence.
func (c *Cluster) Collect() {
	for _, l := range c.links {
		if !l.paused {
			l.end.Collect()
		}
	}
}

// Deliver delivers to the client the oldest message that the server has sent it. It panics if there
// is none; see [Link.Deliverable].
func (c *Cluster) Deliver(l *Link) {
	m := l.toClient[0]
	l.toClient = slices.Delete(l.toClient, 0, 1)
	if m.Reply == nil && m.Event == 0 {
		c.closeConnection(l)
		return
	}
	if l.process != 0 {
		c.recordDelivery(l, &m)
	}
	l.end.Deliver(m)
}

// Deadline returns the time of the next timed event, such as a session's expiry, a client's
// reconnect or the arrival of a message, and false if there is none.
func (c *Cluster) Deadline() (at time.Duration, ok bool) {
	for _, s := range c.sessions {
		if expires, waits := c.timeoutOf(s); waits {
			at, ok = earlier(at, ok, expires)
		}
	}
	for i := range c.servers {
		if s := &c.servers[i]; s.giveUpAt > 0 {
			if notices, waits := s.notices(); waits {
				at, ok = earlier(at, ok, notices)
			}
		}
	}
	for _, l := range c.links {
		if acts, waits := l.deadline(); waits {
			at, ok = earlier(at, ok, acts)
		}
		if arrives, moves := l.arrival(); moves {
			at, ok = earlier(at, ok, arrives)
		}
	}
	return at, ok
}

func earlier(at time.Duration, ok bool, other time.Duration) (time.Duration, bool) {
	if ok {
		other = min(at, other)
	}
	return other, true
}

// Advance sets the time and processes the events due by then: sessions expire first, then clients
// dial. The caller must not skip a [Cluster.Deadline].
func (c *Cluster) Advance(now time.Duration) {
	c.now = now
	c.expirePeerTimeouts()
	c.expireSessions()
	for _, l := range c.links {
		l.advance()
	}
}

// expireSessions ends the sessions whose time is over.
func (c *Cluster) expireSessions() {
	for i := 0; i < len(c.sessions); {
		s := c.sessions[i]
		if at, waits := c.timeoutOf(s); !waits || at > c.now {
			i++
			continue
		}
		c.expire(s)
	}
}

// SetNow sets the time and processes no event. Sessions expire at multiples of the tick only, so a
// caller whose clients never dial by themselves needs [Cluster.Advance] once a tick, and SetNow in
// between.
func (c *Cluster) SetNow(now time.Duration) { c.now = now }

// Dispose deletes the containers and TTL nodes that are due, as a leader does once a minute.
func (c *Cluster) Dispose() {
	if c.leader == noLeader || c.servers[c.leader].paused {
		return
	}
	for _, path := range c.tree.Disposable(c.millis()) {
		c.zxid++
		w := &tree.Write{Op: wire.OpDeleteContainer, Zxid: c.zxid, Path: path}
		c.tree.Apply(w)
		c.propose(proposal{write: w})
	}
}

// Key returns 64 bits over the state of the ensemble and the clients. Given equal decisions, equal
// keys have equal futures, except that Key counts time only as far as sessions and reconnects
// depend on it.
func (c *Cluster) Key() uint64 {
	key := fold(c.tree.Hash(), uint64(c.zxid))
	for _, s := range c.sessions {
		key = fold(key, uint64(s.id))
		if at, waits := c.timeoutOf(s); waits {
			key = fold(key, uint64(at-c.now))
		}
		if s.local {
			key = fold(key, uint64(s.home))
		}
	}
	if c.phases != (phases{}) {
		key = fold(fold(key, uint64(c.expiryPhase)), uint64(c.relayPhase))
	}
	for i := range c.servers {
		if s := &c.servers[i]; s.clock != trueClock || s.wallOffset != 0 {
			key = fold(fold(key, uint64(i)), uint64(s.clock.percent)+uint64(s.wallOffset))
			key = fold(key, uint64(s.clock.read(c.now)-c.now))
		}
	}
	if c.config.Lag {
		key = c.ensembleKey(key)
	}
	for _, l := range c.links {
		key = fold(key, l.key())
	}
	return key
}

// DemandOwn refuses the calling goroutine if it belongs to another process than the client of the
// link. Any goroutine may call it.
func (l *Link) DemandOwn() { refusal.DemandOwn(l.cluster.config.Owner, int(l.process)) }

// Owner returns the process that the calling goroutine belongs to; see [Config.Owner]. It is 0 if
// that is unknown. Any goroutine may call it.
func (c *Cluster) Owner() int {
	if c.config.Owner == nil {
		return 0
	}
	return c.config.Owner()
}

// Threaded reports whether a process can have several threads.
func (c *Cluster) Threaded() bool { return c.config.Thread != nil }

// Thread returns the number of the thread that runs the calling goroutine of a process; see
// [Config.Thread]. Any goroutine may call it.
func (c *Cluster) Thread() int32 {
	if c.config.Thread == nil {
		return 0
	}
	return c.config.Thread()
}
