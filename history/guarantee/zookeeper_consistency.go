package guarantee

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// The reasons of violations of [history.ZooKeeperConsistency].
const (
	ReasonRequestOrder  = "a client's requests were handled out of order"
	ReasonLostCreate    = "a create was answered with success and never committed"
	ReasonReplyOrder    = "a client got its answers out of order"
	ReasonOlderState    = "a client saw an older state than before"
	ReasonStaleSync     = "a sync was answered from an old state"
	ReasonCommitOrder   = "transactions were committed out of order"
	ReasonAppliedEarly  = "a server applied a transaction before it was committed"
	ReasonNoMajority    = "a transaction was committed without a majority"
	ReasonApplyOrder    = "a server applied transactions out of order"
	ReasonEndedSession  = "something was done in the name of a session that has ended"
	ReasonCreatedTwice  = "a node was created that was there already"
	ReasonEphemeralLeft = "an ephemeral node outlived its session"
	ReasonExpiredEarly  = "a session expired before its time"
)

// ZooKeeperConsistency decides [history.ZooKeeperConsistency]: the ensemble keeps the consistency
// and session guarantees of ZooKeeper. That is:
//   - a server handles the requests of a connection in the order in which they were sent, and the
//     client receives the replies in that order;
//   - a reply never shows an older state than an earlier reply of the same session (single system
//     image);
//   - a reply to a sync shows no older state than was committed when the sync was sent;
//   - transactions commit in the order of their zxids, each after a majority of the servers has
//     logged it or after an election; no server applies a transaction before it commits, and every
//     server applies transactions in order;
//   - a successful reply to a create means that the create was committed exactly once;
//   - a session does not expire before its timeout, which every request except auth and sasl
//     restarts;
//   - all ephemeral nodes of a session are deleted in the transaction that ends it, and from then
//     on the session owns no node and nothing is done on its behalf.
//
// The events of the property are the requests, replies, transactions, session states and armed
// watches of a history.
//
// The property does not cover when sessions of a process with several connections expire, because
// the history does not name the session of a request. It does not cover the guarantees on syncs and
// expiry after a fault with Relaxes, nor those on watches: see [history.NoLostWatch]. No lock
// claims it, and a search that merges states does not distinguish states by it.
//
// Sources: "Consistency Guarantees" and "ZooKeeper Sessions" in the ZooKeeper programmer's guide;
// Junqueira, Reed and Serafini, "Zab: High-performance broadcast for primary-backup systems", DSN
// 2011.
//
// The check takes time linear in the events, times the number of live ephemeral nodes.
func ZooKeeperConsistency(events []history.Event) *history.Violation {
	var c Consistency
	for i := range events {
		if v := c.Observe(events, i); v != nil {
			return v
		}
	}
	return nil
}

// Reset makes the value that of an empty history.
func (c *Consistency) Reset() {
	*c = Consistency{
		clients: c.clients[:0], further: c.further[:0], sessions: c.sessions[:0],
		ephemerals: c.ephemerals[:0],
	}
}

// Copy makes the value a copy of another, in its own memory.
func (c *Consistency) Copy(other *Consistency) {
	old := *c
	*c = *other
	c.clients, c.sessions = append(old.clients[:0], other.clients...),
		append(old.sessions[:0], other.sessions...)
	c.ephemerals = append(old.ephemerals[:0], other.ephemerals...)
	c.further = append(old.further[:0], other.further...)
}

// Observe processes event i of the log, after all before it, and returns how it breaks a guarantee,
// or nil.
func (c *Consistency) Observe(log []history.Event, i int) *history.Violation {
	c.event = i
	if e := ofClient(&log[i]); e != nil {
		c.check(e)
	}
	return c.violation
}

// A clientView is the state of one process and its connections.
type clientView struct {
	sent, served, replied int32 // the last request
	lastZxid              int64 // the last transaction that a reply of the session showed
	syncZxid              int64 // the last transaction committed when the open sync was sent
	syncRequest           int32 // the open sync, or 0
	session               int64
	created, creates      int    // nodes created, and successful replies to creates
	lastServe             moment // when a server last served a request that keeps the session
	lastRead              moment // when one last served a read before the process crashed
	crashed               bool
	several               bool // the process has had several connections
}

// A connectionView is the state of a further connection of a process: requests, lastZxid and sync.
type connectionView struct {
	process, connection int32
	clientView
}

// A moment is the time of an event.
type moment struct {
	at    time.Duration
	event int
}

type sessionView struct {
	id      int64
	process int32
	timeout time.Duration
	ended   bool
	opened  time.Duration
}

type ephemeralView struct {
	path    string
	session int64
}

// A Consistency decides [history.ZooKeeperConsistency] event by event. The zero value is that of an
// empty history. It is not safe for concurrent use.
type Consistency struct {
	event          int
	violation      *history.Violation
	clients        []clientView
	further        []connectionView
	sessions       []sessionView
	ephemerals     []ephemeralView
	logged         [maxServers]int64 // the last transaction that each server has logged
	applied        [maxServers]int64
	servers        int   // the highest number of a server so far
	committed      int64 // the last transaction
	highestApplied int64 // the last transaction that a server has applied
	// an event other than SessionOpened has occurred: from then on majorities count
	started bool
	relaxed bool // a fault has relaxed the guarantees of the ensemble
}

// maxServers is an upper bound of the number of servers in a history.
const maxServers = 64

func (c *Consistency) fail(reason string, evidence history.Evidence, format string,
	values ...any,
) {
	c.violation = &history.Violation{
		Property: history.ZooKeeperConsistency, Event: c.event, Reason: reason,
		Detail: fmt.Sprintf(format, values...), Evidence: evidence,
	}
}

// of returns the evidence of a failure that concerns the process of an event and its znode.
func of(e *history.Event) history.Evidence {
	return history.Evidence{Process: e.Process, Path: e.Path}
}

// disorder returns the evidence of a failure in which an event shows a transaction after another.
func disorder(e *history.Event, after int64) history.Evidence {
	return history.Evidence{Process: e.Process, Zxid: e.Zxid, After: after}
}

func (c *Consistency) client(process int32) *clientView {
	for int(process) >= len(c.clients) {
		c.clients = append(c.clients, clientView{})
	}
	return &c.clients[process]
}

// connection returns the state of the connection of a request or a reply.
func (c *Consistency) connection(e *history.Event) *clientView {
	if e.Connection == 0 {
		return c.client(e.Process)
	}
	c.client(e.Process).several = true
	for i := range c.further {
		if f := &c.further[i]; f.process == e.Process && f.connection == e.Connection {
			return &f.clientView
		}
	}
	c.further = append(c.further, connectionView{e.Process, e.Connection, clientView{}})
	return &c.further[len(c.further)-1].clientView
}

func (c *Consistency) check(e *history.Event) {
	if e.Server > 0 && e.Server < maxServers {
		c.servers = max(c.servers, int(e.Server))
	}
	c.started = c.started || e.Kind != history.SessionOpened
	switch e.Kind {
	case history.Send, history.Serve, history.Reply, history.SessionState:
		c.checkRequest(e, c.connection(e))
	case history.NodeCreated, history.NodeDeleted, history.NodeChanged, history.SessionOpened,
		history.SessionExpired, history.SessionClosed:
		c.checkCommit(e)
	case history.Logged, history.Applied:
		c.checkServer(e)
	case history.Leading:
		for i := range c.logged {
			// The followers synchronize with the new leader.
			c.logged[i] = max(c.logged[i], e.Zxid)
		}
	case history.Fault:
		c.relaxed = c.relaxed || e.Relaxes
	case history.Crashed:
		c.client(e.Process).crashed = true
	case history.WatchArmed:
		if s := c.session(e.Session); s != nil && s.ended && e.Server == 0 {
			c.fail(ReasonEndedSession, of(e),
				"c%d set watch %d in session %#x", e.Process, e.Watch, e.Session)
		}
	}
}

func (c *Consistency) checkRequest(e *history.Event, client *clientView) {
	switch e.Kind {
	case history.Send:
		client.sent = e.Request
		if e.Op == "sync" && client.syncRequest == 0 {
			client.syncZxid, client.syncRequest = c.committed, e.Request
		}
	case history.SessionState:
		if e.Name == "expired" || e.Session != client.session {
			client.lastZxid = 0 // A new session may begin with any state.
		}
		client.session = e.Session
	case history.Serve:
		c.checkServe(e, client)
	case history.Reply:
		c.checkReply(e, client)
	}
}

func (c *Consistency) checkServe(e *history.Event, client *clientView) {
	process := c.client(e.Process)
	if keepsSession(e.Op) {
		client.lastServe = moment{e.At, c.event}
	}
	if !client.crashed && (strings.HasPrefix(e.Op, "get") || strings.HasPrefix(e.Op, "exists") ||
		strings.HasPrefix(e.Op, "children")) {
		client.lastRead = moment{e.At, c.event}
	}
	switch {
	case e.Request <= client.served || e.Request > client.sent:
		c.fail(ReasonRequestOrder, of(e),
			"c%d's request %d was handled after its request %d", e.Process, e.Request,
			client.served)
	case e.Op == "create" && e.Err == "":
		if process.creates++; process.creates > process.created {
			c.fail(ReasonLostCreate, of(e),
				"c%d's request %d, transaction %s", e.Process, e.Request,
				history.FormatZxid(e.Zxid))
		}
	case e.Op == "create" && !process.several: // Another connection's create may be committed.
		process.created = process.creates // Nodes that other requests have created do not count.
	}
	client.served = e.Request
}

// keepsSession reports whether a request of the operation proves to a server that the client lives.
// ZooKeeper answers auth and sasl before they reach its sessions.
func keepsSession(op string) bool { return op != "auth" && op != "sasl" }

func (c *Consistency) checkReply(e *history.Event, client *clientView) {
	synced := e.Request == client.syncRequest
	if synced {
		client.syncRequest = 0
	}
	if e.Zxid == 0 {
		return // The client library made the reply.
	}
	switch {
	case e.Request <= client.replied:
		c.fail(ReasonReplyOrder, of(e),
			"c%d got the answer to its request %d after that to its request %d", e.Process,
			e.Request,
			client.replied)
	case e.Op == "connect" || e.Op == "auth": // These replies show no transaction.
		if client.replied = e.Request; e.Op == "connect" && c.client(e.Process).several {
			client.lastZxid = 0 // From now on another client may use the connection.
		}
		return
	case e.Zxid < client.lastZxid:
		c.fail(ReasonOlderState, disorder(e, client.lastZxid),
			"c%d saw transaction %s after it had seen %s",
			e.Process, history.FormatZxid(e.Zxid), history.FormatZxid(client.lastZxid))
	case synced && e.Err == "" && !c.relaxed && e.Zxid < client.syncZxid:
		c.fail(ReasonStaleSync, disorder(e, client.syncZxid),
			"c%d sent a sync when transaction %s was committed, and the reply shows %s",
			e.Process, history.FormatZxid(client.syncZxid), history.FormatZxid(e.Zxid))
	}
	client.replied, client.lastZxid = e.Request, e.Zxid
}

func (c *Consistency) session(id int64) *sessionView {
	for i := range c.sessions {
		if c.sessions[i].id == id {
			return &c.sessions[i]
		}
	}
	return nil
}

func (c *Consistency) checkCommit(e *history.Event) {
	switch {
	case e.Zxid < c.committed:
		c.fail(ReasonCommitOrder, disorder(e, c.committed),
			"transaction %s after %s", history.FormatZxid(e.Zxid), history.FormatZxid(c.committed))
		return
	case e.Zxid > c.committed && e.Zxid <= c.highestApplied:
		c.fail(ReasonAppliedEarly,
			disorder(e, c.highestApplied), "transaction %s",
			history.FormatZxid(e.Zxid))
		return
	case e.Zxid > c.committed && c.started && !c.hasMajority(e.Zxid):
		c.fail(ReasonNoMajority, disorder(e, 0), "transaction %s",
			history.FormatZxid(e.Zxid))
		return
	}
	c.committed = e.Zxid
	switch e.Kind {
	case history.SessionOpened:
		timeout, _ := time.ParseDuration(e.Name)
		c.sessions = append(c.sessions, sessionView{
			id: e.Session, process: e.Process, timeout: timeout,
			opened: e.At,
		})
		c.client(e.Process).session = e.Session
	case history.SessionExpired, history.SessionClosed:
		c.checkSessionEnd(e)
	case history.NodeCreated:
		c.checkCreated(e)
	case history.NodeDeleted:
		for i := range c.ephemerals {
			if c.ephemerals[i].path == e.Path {
				c.ephemerals[i] = c.ephemerals[len(c.ephemerals)-1]
				c.ephemerals = c.ephemerals[:len(c.ephemerals)-1]
				break
			}
		}
	}
}

// hasMajority reports whether a majority of the servers, which includes the leader, has logged a
// transaction. The number of servers is known only from the events so far.
func (c *Consistency) hasMajority(zxid int64) bool {
	if c.servers < 2 {
		return true
	}
	known := 1
	for _, logged := range c.logged[:min(c.servers+1, maxServers)] {
		if logged >= zxid {
			known++
		}
	}
	return known > c.servers/2
}

func (c *Consistency) checkCreated(e *history.Event) {
	client := c.client(e.Process)
	if client.created++; e.Session == 0 {
		return
	}
	if s := c.session(e.Session); s != nil && s.ended {
		c.fail(ReasonEndedSession, of(e),
			"c%d created %s in session %#x", e.Process, e.Path, e.Session)
		return
	}
	for i := range c.ephemerals {
		if c.ephemerals[i].path == e.Path {
			c.fail(ReasonCreatedTwice, of(e), "c%d created %s", e.Process,
				e.Path)
			return
		}
	}
	c.ephemerals = append(c.ephemerals, ephemeralView{e.Path, e.Session})
}

func (c *Consistency) checkSessionEnd(e *history.Event) {
	for i := range c.ephemerals {
		if c.ephemerals[i].session == e.Session {
			c.fail(ReasonEphemeralLeft, history.Evidence{
				Process: e.Process, Path: c.ephemerals[i].path,
			}, "%s of session %#x of c%d",
				c.ephemerals[i].path, e.Session, e.Process)
			return
		}
	}
	s := c.session(e.Session)
	if s == nil {
		return
	}
	s.ended = true
	client := c.client(s.process)
	lastMessage := client.lastServe
	if c.servers > 0 {
		// With several servers only reads bound the time of the last message of the client. Other
		// requests may have arrived long before they were served. Handshakes, and requests of a
		// crashed process, may be served after the end of the session was proposed. The end itself
		// may be the first event to show that there are several servers.
		lastMessage = client.lastRead
		if lastMessage.at <= s.opened {
			return // The time of the last message is unknown.
		}
	}
	var heard []int
	if lastMessage.at < s.opened {
		lastMessage = moment{at: s.opened}
	} else if lastMessage != (moment{}) {
		heard = []int{lastMessage.event}
	}
	if e.Kind == history.SessionExpired && !c.relaxed && client.session == s.id &&
		!client.several && e.At < lastMessage.at+s.timeout {
		c.fail(ReasonExpiredEarly, history.Evidence{
			Process: s.process, Events: heard,
		},
			"session %#x of c%d ended %s after its last message, and its timeout is %s", s.id,
			s.process, history.FormatSpan(e.At-lastMessage.at), history.FormatSpan(s.timeout))
	}
}

func (c *Consistency) checkServer(e *history.Event) {
	if e.Server < 1 || e.Server >= maxServers {
		return
	}
	c.logged[e.Server] = max(c.logged[e.Server], e.Zxid)
	if e.Kind == history.Logged {
		return
	}
	if e.Zxid <= c.applied[e.Server] {
		c.fail(ReasonApplyOrder, disorder(e, c.applied[e.Server]),
			"s%d applied transaction %s after %s",
			e.Server, history.FormatZxid(e.Zxid), history.FormatZxid(c.applied[e.Server]))
		return
	}
	c.applied[e.Server] = e.Zxid
	c.highestApplied = max(c.highestApplied, e.Zxid)
}

// ofClient returns the event as one of the client of its process, which is the same for all
// threads. It returns nil for an event that another thread has too.
func ofClient(e *history.Event) *history.Event {
	if e.Process < history.ThreadNumber(1, 2) {
		return e
	}
	return clientOfThread(e)
}

// clientOfThread is ofClient for an event of a thread other than the first.
func clientOfThread(e *history.Event) *history.Event {
	if e.StrikesThreads() {
		return nil
	}
	process, _ := history.ProcessOf(e.Process)
	client := *e
	client.Process = process
	return &client
}
