// Package simzk is a simulated ZooKeeper whose every move is a decision of the caller.
//
// A [Cluster] holds the ensemble and the links to its clients. It does nothing by itself: requests
// wait until [Cluster.Serve], replies and watch events until [Cluster.Deliver], time stands still
// until [Cluster.Advance]. Each link is FIFO in both directions, as TCP is; between links any order
// can be chosen.
//
// Lock code meets the cluster through a modelled client, [Conn], which has the methods and the
// errors of *zk.Conn of github.com/go-zookeeper/zk v1.0.4, or through that client itself, over
// connections in memory: [RealConn]. Other programs meet it through a [Socket].
package simzk

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Version is a release of ZooKeeper, as far as releases differ for clients.
type Version uint8

// The releases that are simulated.
const (
	V38 Version = iota // 3.8.0
	V39                // 3.9.4
)

// Config is what a cluster is made with.
type Config struct {
	SessionTimeout time.Duration // granted to every modelled client; 4 s unless set
	TickTime       time.Duration // to which the ends of sessions are rounded; 2 s unless set

	// The bounds within which a client over the wire gets the timeout that it asks for; 2 and 20
	// ticks unless set.
	MinSessionTimeout, MaxSessionTimeout time.Duration

	Version Version
	Servers int // how many; 1 unless set
	// the servers, where the ensemble is to have a configuration; Servers does not count then
	Members       []Member
	Reconfig      bool   // reconfigs are allowed
	LoneVoter     bool   // a reconfig may leave a single voter (standaloneEnabled=false)
	SuperDigest   string // user:digest of the superuser; nobody is unless set
	ExtendedTypes bool   // TTL nodes are allowed
	SequenceWraps bool   // see [tree.Rules]
	// added to the ids of sessions, so that those of an earlier cluster are not taken for its own
	FirstSession int64
	Lag          bool  // servers other than the leader apply transactions only by [Cluster.Apply]
	EpochMillis  int64 // the time at which the cluster begins, in milliseconds since 1970
	Down         bool  // no server runs until [Cluster.StartServer]

	// Posted, unless nil, is called when a message waits for a client that none has waited for, so
	// that a caller with many clients need not look at all of them; see [Link.Deliverable].
	Posted func(*Link)

	// Settle is called between two wake-ups of one step, to let the process that was woken come to
	// rest. Without it the Go scheduler would have something to decide. Nil means that nothing
	// needs to settle.
	Settle func()
}

// A Cluster is a simulated ensemble with its clients. Its methods must be called by one goroutine
// at a time, and only while every process is blocked; the methods of the clients are the exception.
type Cluster struct {
	config   Config
	history  *history.Log
	activity chan struct{}

	tree     *tree.Tree
	watches  watchTable
	sessions []*session // that live, by id
	opened   []*session // that there have been, in the order in which they began
	links    []*Link
	servers  []server
	leader   int // index of a server; of the only one, if there is but one
	epoch    int // how many leaders there have been

	log // of an ensemble with lag

	now           time.Duration
	zxid          int64
	configVersion int64  // the zxid of the ensemble's configuration, 0 without one
	age           uint64 // grows with every message, so that messages can be compared by age
	lastWatch     int32
	lastLink      int64
	lastSession   int64
	timeout       string // of modelled clients' sessions, as a history has it

	woken         bool // see Stirred
	hasRealClient bool // it has a client whose goroutines are its own

	mutation      mutation
	endedSessions []*session // that have ended; only where sabotage brings them back

	pool
}

// A pool is what a cluster that is made anew takes over from what it was before.
type pool struct {
	conns []*Conn // modelled clients, of which the first are in use
	used  int     // how many

	watchArena   arena[watch]
	sessionArena arena[session]
}

// How many of these most runs make at most.
const (
	watchArenaSize   = 16
	sessionArenaSize = 8
)

// New returns a cluster that writes what happens to the log, unless that is nil.
func New(config Config, log *history.Log) *Cluster {
	c := new(Cluster)
	c.Reset(config, log)
	return c
}

// Reset makes the cluster what [New] returns, in the memory that it has: whoever makes many
// clusters one after the other saves most of what one costs. Everything that belonged to it is
// void, above all its modelled clients, so no goroutine may be left that uses one.
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
		servers: newServers(&config), mutation: currentMutation, timeout: old.timeout,
		sessions: old.sessions[:0], opened: old.opened[:0], links: old.links[:0],
		pool: pool{
			conns: old.conns, watchArena: old.watchArena.reset(),
			sessionArena: old.sessionArena.reset(),
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
// lets time pass can thereby stop at the instant at which a process's own timer made it act, if it
// first receives what is old.
func (c *Cluster) Activity() <-chan struct{} { return c.activity }

// Woken tells whether what was done since it was last asked may have woken a goroutine of a
// process. Where it has not, there is nothing that has to come to rest.
func (c *Cluster) Woken() bool {
	stirred := c.woken || c.hasRealClient
	c.woken = false
	return stirred
}

// NextAge returns an age for something that, like a message, waits for its turn from now on.
func (c *Cluster) NextAge() uint64 {
	c.age++
	return c.age
}

// RenumberAges gives all that is under way new ages, in canonical order: by link, requests before
// replies, and the proposals last. A policy that goes by ages then depends on nothing that
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

// Tree returns the znodes, of several servers as the leader will have them once all that is
// proposed is committed.
func (c *Cluster) Tree() *tree.Tree { return c.tree }

// Prepare carries out a write at all servers, before any client is connected.
func (c *Cluster) Prepare(w *tree.Write) { c.prepare(func(t *tree.Tree) { t.Apply(w) }) }

// PrepareSequence makes n the number that the next sequential child of a node gets, before any
// client is connected. It stands in for n creations by a transaction each, so that a run can come
// to the end of the numbers.
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

// Now returns the virtual time since the cluster began.
func (c *Cluster) Now() time.Duration { return c.now }

// Zxid returns the number of the last transaction.
func (c *Cluster) Zxid() int64 { return c.zxid }

// SessionTimeout returns the timeout that the ensemble grants every modelled client.
func (c *Cluster) SessionTimeout() time.Duration { return c.config.SessionTimeout }

// Links returns the clients' links in the order in which they were made.
func (c *Cluster) Links() []*Link { return c.links }

// Sessions returns how many sessions live.
func (c *Cluster) Sessions() int { return len(c.sessions) }

// Collect takes the requests that processes have sent since the last call and puts them on their
// way. The order in which goroutines happened to send them has no influence: they are taken by
// process and then by content.
func (c *Cluster) Collect() {
	for _, l := range c.links {
		if !l.paused {
			l.end.collect()
		}
	}
}

// Deliver hands the client the oldest message that the server has sent it. It panics if there is
// none; see [Link.Deliverable].
func (c *Cluster) Deliver(l *Link) {
	next := 0
	if c.mutation == reordersReplies {
		next = len(l.toClient) - 1
	}
	m := l.toClient[next]
	l.toClient = slices.Delete(l.toClient, next, next+1)
	if m.reply == nil && m.event == 0 {
		c.closeConnection(l)
		return
	}
	l.end.deliver(m)
}

// Deadline returns the earliest time at which something happens by itself, a session's end or a
// client's next try to connect, and false if there is none.
func (c *Cluster) Deadline() (at time.Duration, ok bool) {
	for _, s := range c.sessions {
		if s.timingOut() && c.leader != noLeader {
			at, ok = earlier(at, ok, c.leaderClock().timeOf(s.expires))
		}
	}
	for i := range c.servers {
		if s := &c.servers[i]; s.giveUpAt > 0 {
			at, ok = earlier(at, ok, s.giveUpAt)
		}
	}
	for _, l := range c.links {
		if acts, waits := l.deadline(); waits {
			at, ok = earlier(at, ok, acts)
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

// Advance sets the time. What was due by then happens: sessions end first, then clients dial. The
// caller must not pass over a [Cluster.Deadline].
func (c *Cluster) Advance(now time.Duration) {
	c.now = now
	c.expirePeerTimeouts()
	for i := 0; i < len(c.sessions) && c.leader != noLeader; {
		s := c.sessions[i]
		if !s.timingOut() || c.leaderClock().timeOf(s.expires) > now {
			i++
			continue
		}
		c.expire(s)
	}
	for _, l := range c.links {
		l.advance()
	}
}

// Keep sets the time and does nothing of what is due. Sessions end at multiples of the tick only,
// so a caller none of whose clients dials by itself needs [Cluster.Advance] but once a tick, and
// this in between.
func (c *Cluster) Keep(now time.Duration) { c.now = now }

// Dispose deletes the containers and TTL nodes that are due, as a leader does once a minute.
func (c *Cluster) Dispose() {
	if c.leader == noLeader {
		return
	}
	for _, path := range c.tree.Disposable(c.millis()) {
		c.zxid++
		w := &tree.Write{Op: wire.OpDeleteContainer, Zxid: c.zxid, Path: path}
		c.tree.Apply(w)
		c.propose(proposal{write: w})
	}
}

// Key returns 64 bits over all that decides what the ensemble and the clients will do: equal keys,
// equal futures given equal decisions, except that the time is counted only as far as sessions and
// reconnects depend on it.
func (c *Cluster) Key() uint64 {
	key := fold(c.tree.Hash(), uint64(c.zxid))
	for _, s := range c.sessions {
		key = fold(key, uint64(s.id))
		if s.timingOut() && c.leader != noLeader {
			key = fold(key, uint64(c.leaderClock().timeOf(s.expires)-c.now))
		}
	}
	for i := range c.servers {
		if s := &c.servers[i]; s.clock != trueClock || s.wallOffset != 0 {
			key = fold(fold(key, uint64(s.clock.percent)+uint64(s.wallOffset)),
				uint64(s.clock.read(c.now)-c.now))
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
