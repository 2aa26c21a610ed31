// Package simzk is a simulated ZooKeeper whose every move is a decision of the caller.
//
// A [Cluster] holds the ensemble and the connections to it. It does nothing by itself: requests wait until
// [Cluster.Serve], replies and watch events until [Cluster.Deliver], time stands still until [Cluster.Advance]. Each
// connection is FIFO in both directions, as TCP is; between connections any order can be chosen.
//
// Lock code meets the cluster through a [Conn], which has the methods and the errors of *zk.Conn of
// github.com/go-zookeeper/zk v1.0.4.
package simzk

import (
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
)

// Config is what a cluster is made with.
type Config struct {
	SessionTimeout time.Duration // granted to every session; 4 s unless set
	TickTime       time.Duration // to which the ends of sessions are rounded; 2 s unless set

	// Settle is called between two wake-ups of one step, to let the process that was woken come to rest. Without it
	// the Go scheduler would have something to decide. Nil means that nothing needs to settle.
	Settle func()
}

// A Cluster is a simulated ensemble of one server, with its clients. Its methods must be called by one goroutine at a
// time, and only while every process is blocked; the methods of [Conn] that *zk.Conn has are the exception.
type Cluster struct {
	config   Config
	log      *history.Log
	activity chan struct{}

	tree     *Tree
	watches  watchTable
	sessions []*session // that live, by id
	conns    []*Conn

	now         time.Duration
	zxid        int64
	age         uint64 // grows with every message, so that messages can be compared by age
	lastWatch   int32
	lastSession int64
}

// firstSession makes session ids look like those of a server with id 1: the server's id is the highest byte.
const firstSession = 1 << 56

// New returns a cluster that writes what happens to the log.
func New(config Config, log *history.Log) *Cluster {
	if config.SessionTimeout == 0 {
		config.SessionTimeout = 4 * time.Second
	}
	if config.TickTime == 0 {
		config.TickTime = 2 * time.Second
	}
	if config.Settle == nil {
		config.Settle = func() {}
	}
	return &Cluster{
		config: config, log: log, activity: make(chan struct{}, 1),
		tree: NewTree(), watches: newWatchTable(), lastSession: firstSession,
	}
}

// Activity receives a value when a process has sent something since the last receive. A caller that lets time pass
// can thereby stop at the instant at which a process's own timer made it act, if it first receives what is old.
func (c *Cluster) Activity() <-chan struct{} { return c.activity }

// Notify makes [Cluster.Activity] receive, for a process that does something by itself other than calling the client.
func (c *Conn) Notify() {
	if len(c.cluster.activity) > 0 {
		return
	}
	select {
	case c.cluster.activity <- struct{}{}:
	default:
	}
}

// NextAge returns an age for something that, like a message, waits for its turn from now on.
func (c *Cluster) NextAge() uint64 {
	c.age++
	return c.age
}

// Tree returns the znodes. It must not be changed once a client is connected.
func (c *Cluster) Tree() *Tree { return c.tree }

// Now returns the virtual time since the cluster began.
func (c *Cluster) Now() time.Duration { return c.now }

// SessionTimeout returns the timeout that the ensemble grants every session.
func (c *Cluster) SessionTimeout() time.Duration { return c.config.SessionTimeout }

// Conns returns the clients in the order in which they connected.
func (c *Cluster) Conns() []*Conn { return c.conns }

// Sessions returns how many sessions live.
func (c *Cluster) Sessions() int { return len(c.sessions) }

// Collect takes the requests that processes have sent since the last call and puts them on their way. The order in
// which goroutines happened to send them has no influence: they are taken by process and then by content.
func (c *Cluster) Collect() {
	for _, conn := range c.conns {
		conn.collect()
	}
}

// Serve lets the server handle the oldest request that has reached it from the client: the change is committed, the
// watches that it triggers are queued, then the reply. It panics if there is no request; see [Conn.Servable].
func (c *Cluster) Serve(conn *Conn) {
	r := conn.toServer[0]
	conn.toServer = slices.Delete(conn.toServer, 0, 1)
	if conn.session != nil {
		conn.session.touch(c.now, c.config)
	}
	switch {
	case r.op == OpConnect:
		c.serveConnect(conn, r)
	case conn.session == nil:
		// The session was closed by an earlier request, or has expired: the server does not answer any more.
	case r.op == OpClose:
		c.serveClose(conn, r)
	default:
		r.result = c.execute(conn, r)
		r.zxid = c.zxid
		c.served(conn, r)
	}
}

func (c *Cluster) served(conn *Conn, r *request) {
	c.log.Append(history.Event{At: c.now, Kind: history.Serve, Process: conn.process, Request: r.number,
		Op: r.op.String(), Path: r.path, Zxid: r.zxid, Err: r.result.Code.String()})
	c.post(conn, message{reply: r, zxid: r.zxid})
}

// post puts a message on its way to the client.
func (c *Cluster) post(conn *Conn, m message) {
	if conn.crashed.Load() {
		return
	}
	m.age = c.NextAge()
	conn.toClient = append(conn.toClient, m)
	conn.posted = mix(conn.posted, m.hash())
}

func (c *Cluster) execute(conn *Conn, r *request) Result {
	switch r.op {
	case OpCreate, OpDelete, OpSet:
		return c.commit(conn, r)
	case OpGet, OpGetWatch, OpExists, OpExistsWatch:
		result := c.tree.Get(r.path)
		switch {
		case r.op == OpGetWatch && result.Code == OK, r.op == OpExistsWatch && result.Code == OK:
			c.arm(conn, r, dataWatch)
		case r.op == OpExistsWatch:
			c.arm(conn, r, existWatch)
		}
		return result
	case OpChildren, OpChildrenWatch:
		result := c.tree.Children(r.path)
		if r.op == OpChildrenWatch && result.Code == OK {
			c.arm(conn, r, childWatch)
		}
		return result
	case OpSetWatches:
		c.rearm(conn, r)
	case OpSync:
		// With one server there is nothing to wait for: the reply's place in the queue is all that a sync asks.
		return Result{Path: r.path}
	}
	return Result{}
}

// commit carries out a write. A write that fails takes a transaction number too, as in ZooKeeper.
func (c *Cluster) commit(conn *Conn, r *request) Result {
	c.zxid++
	w := Write{Op: r.op, Zxid: c.zxid, Time: c.now, Path: r.path, Data: r.data, Version: r.version}
	if r.op == OpCreate {
		w.Sequential = r.flags&zk.FlagSequence != 0
		if r.flags&zk.FlagEphemeral != 0 {
			w.Owner = conn.session.id
		}
	}
	result := c.tree.Apply(w)
	if result.Code == OK {
		c.committed(r.op, conn.process, result)
	}
	return result
}

// committed records a change and fires the watches that it triggers: first those of the node, then its parent's.
func (c *Cluster) committed(op Op, process int32, result Result) {
	e := history.Event{At: c.now, Process: process, Path: result.Path, Zxid: c.zxid, Session: result.Stat.EphemeralOwner}
	switch op {
	case OpCreate:
		e.Kind = history.NodeCreated
		c.log.Append(e)
		c.fire(zk.EventNodeCreated, result.Path, c.watches.take(dataWatch, result.Path))
		parent := parentOf(result.Path)
		c.fire(zk.EventNodeChildrenChanged, parent, c.watches.take(childWatch, parent))
	case OpDelete:
		e.Kind = history.NodeDeleted
		c.log.Append(e)
		c.fire(zk.EventNodeDeleted, result.Path,
			append(c.watches.take(dataWatch, result.Path), c.watches.take(childWatch, result.Path)...))
		parent := parentOf(result.Path)
		c.fire(zk.EventNodeChildrenChanged, parent, c.watches.take(childWatch, parent))
	case OpSet:
		e.Kind = history.NodeChanged
		c.log.Append(e)
		c.fire(zk.EventNodeDataChanged, result.Path, c.watches.take(dataWatch, result.Path))
	}
}

func (c *Cluster) arm(conn *Conn, r *request, kind watchKind) {
	if !c.watches.armed(conn, kind, r.path) {
		c.watches.arm(c.register(conn, r.number, kind, r.path))
	}
}

// register numbers a watch. The request is that which asked for it, or 0 where the client knows of the watch already.
func (c *Cluster) register(conn *Conn, request int32, kind watchKind, path string) *watch {
	c.lastWatch++
	c.log.Append(history.Event{At: c.now, Kind: history.WatchArmed, Process: conn.process, Request: request,
		Watch: c.lastWatch, Path: path, Name: kind.String(), Session: conn.session.id})
	return &watch{number: c.lastWatch, conn: conn, path: path, kind: kind}
}

// fire queues one event for each connection among the watches: a connection with a data and a child watch on a node
// hears only once that the node is gone.
func (c *Cluster) fire(event zk.EventType, path string, watches []*watch) {
	for i, w := range watches {
		c.log.Append(history.Event{At: c.now, Kind: history.WatchFired, Process: w.conn.process, Watch: w.number,
			Path: path, Zxid: c.zxid, Name: eventName(event)})
		first := slices.IndexFunc(watches, func(other *watch) bool { return other.conn == w.conn })
		if w.conn.crashed.Load() {
			continue // A request that was served after the crash has set the watch: nobody hears of it.
		}
		if first < i {
			last := &w.conn.toClient[len(w.conn.toClient)-1]
			last.watches = append(last.watches, w)
			continue
		}
		c.post(w.conn, message{event: event, path: path, zxid: c.zxid, watches: watches[i : i+1 : i+1]})
	}
}

// rearm handles SetWatches, with which a client that has reconnected hands over the watches that it still waits for.
// What was triggered while it was away is told now, as far as the tree shows it: a node that was created and deleted
// again leaves no trace (ZooKeeper programmer's guide, "Watches"). A watch that a request ahead of this one has armed
// does not keep the server from telling.
func (c *Cluster) rearm(conn *Conn, r *request) {
	for _, old := range r.watches {
		stat, missing := zk.Stat{}, true
		if got := c.tree.Get(old.path); got.Code == OK {
			stat, missing = got.Stat, false
		}
		var event zk.EventType
		switch {
		case old.kind == existWatch && !missing:
			event = zk.EventNodeCreated
		case old.kind != existWatch && missing:
			event = zk.EventNodeDeleted
		case old.kind == dataWatch && stat.Mzxid > r.sinceZxid:
			event = zk.EventNodeDataChanged
		case old.kind == childWatch && stat.Pzxid > r.sinceZxid:
			event = zk.EventNodeChildrenChanged
		case c.watches.armed(conn, old.kind, old.path):
			continue // A request that went ahead of this one has armed it.
		}
		w := c.register(conn, 0, old.kind, old.path)
		if event == 0 {
			c.watches.arm(w)
			continue
		}
		c.fire(event, old.path, []*watch{w})
	}
}

func (c *Cluster) serveConnect(conn *Conn, r *request) {
	i, found := c.findSession(r.session)
	switch {
	case r.session == 0:
		conn.session = c.openSession(conn)
		conn.session.attach(conn, c.now)
	case found:
		conn.session = c.sessions[i]
		conn.session.attach(conn, c.now)
	}
	if conn.session != nil {
		r.session = conn.session.id
		if conn.crashed.Load() {
			conn.session.detach(c.now, c.config) // The server finds the connection closed right after the handshake.
		}
	} else {
		r.session = 0 // The session has expired; the client learns it from a session id of 0.
	}
	r.zxid = c.zxid
	c.served(conn, r)
}

func (c *Cluster) openSession(client *Conn) *session {
	c.lastSession++
	c.zxid++
	s := &session{id: c.lastSession, client: client}
	c.sessions = append(c.sessions, s)
	c.log.Append(history.Event{At: c.now, Kind: history.SessionOpened, Process: client.process, Session: s.id, Zxid: c.zxid})
	return s
}

// serveClose ends the session. The client hears of its own ephemeral nodes' deletion before the reply, if it watches
// them; only then are its watches gone.
func (c *Cluster) serveClose(conn *Conn, r *request) {
	c.endSession(conn.session, history.SessionClosed)
	conn.session = nil
	c.logGone(conn, c.watches.drop(conn))
	r.zxid = c.zxid
	c.served(conn, r)
}

// endSession deletes the session's ephemeral nodes and forgets the session, in one transaction.
func (c *Cluster) endSession(s *session, how history.Kind) {
	process := s.client.process
	c.zxid++
	for _, path := range c.tree.Ephemerals(s.id) {
		result := c.tree.Apply(Write{Op: OpDelete, Zxid: c.zxid, Time: c.now, Path: path, Version: -1})
		c.committed(OpDelete, process, result)
	}
	i, _ := c.findSession(s.id)
	c.sessions = slices.Delete(c.sessions, i, i+1)
	c.log.Append(history.Event{At: c.now, Kind: how, Process: process, Session: s.id, Zxid: c.zxid})
}

func (c *Cluster) findSession(id int64) (int, bool) {
	return slices.BinarySearchFunc(c.sessions, id, func(s *session, id int64) int {
		switch {
		case s.id < id:
			return -1
		case s.id > id:
			return 1
		}
		return 0
	})
}

// dropWatches forgets what the server would have told a connection that is no more.
func (c *Cluster) dropWatches(conn *Conn) {
	gone := c.watches.drop(conn)
	for _, m := range conn.toClient {
		gone = append(gone, m.watches...)
	}
	c.logGone(conn, gone)
}

func (c *Cluster) logGone(conn *Conn, watches []*watch) {
	for _, w := range watches {
		c.log.Append(history.Event{At: c.now, Kind: history.WatchGone, Process: conn.process, Watch: w.number, Path: w.path})
	}
}

// Deadline returns the earliest time at which something happens by itself, a session's end or a client's next try to
// connect, and false if there is none.
func (c *Cluster) Deadline() (at time.Duration, ok bool) {
	for _, s := range c.sessions {
		if s.conn == nil && (!ok || s.expires < at) {
			at, ok = s.expires, true
		}
	}
	for _, conn := range c.conns {
		if conn.phase == dialing && !conn.crashed.Load() && (!ok || conn.dialAt < at) {
			at, ok = conn.dialAt, true
		}
	}
	return at, ok
}

// Advance sets the time. What was due by then happens: sessions end first, then clients dial. The caller must not
// pass over a [Cluster.Deadline].
func (c *Cluster) Advance(now time.Duration) {
	c.now = now
	for i := 0; i < len(c.sessions); {
		s := c.sessions[i]
		if s.conn != nil || s.expires > now {
			i++
			continue
		}
		c.endSession(s, history.SessionExpired)
		s.client.sessionExpired(s)
	}
	for _, conn := range c.conns {
		if conn.phase == dialing && conn.dialAt <= now && !conn.crashed.Load() {
			conn.dial()
		}
	}
}

// Key returns 64 bits over all that decides what the ensemble and the connections will do: equal keys, equal futures
// given equal decisions, except that the time is counted only as far as sessions and reconnects depend on it.
func (c *Cluster) Key() uint64 {
	key := mix(c.tree.Hash(), uint64(c.zxid))
	for _, s := range c.sessions {
		key = mix(key, uint64(s.id))
		if s.conn == nil {
			key = mix(key, uint64(s.expires-c.now))
		}
	}
	for _, conn := range c.conns {
		key = mix(key, conn.key())
	}
	return key
}

// OwnsNodes tells whether a session of the client lives that has ephemeral nodes.
func (c *Cluster) OwnsNodes(conn *Conn) bool {
	for _, s := range c.sessions {
		if s.client == conn && len(c.tree.ephemerals[s.id]) > 0 {
			return true
		}
	}
	return false
}
