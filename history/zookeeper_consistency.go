package history

import (
	"fmt"
	"strings"
	"time"
)

// Ensemble is the property of a history that the ensemble in it kept ZooKeeper's promises, whatever
// the lock did. A lock that fails where it is broken was not at fault; a run in which it holds says
// something about a simulator too.
const ZooKeeperConsistency Property = "zookeeper-consistency"

// CheckZooKeeperConsistency decides [ZooKeeperConsistency]. It holds if
//   - the server handles a client's requests in the order in which they were sent, and the client
//     gets the answers in that order;
//   - an answer never tells of an older state than one before it in the same session (single system
//     image);
//   - an answer to a sync, while no server is cut off, tells of no older state than was committed
//     when it was asked for;
//   - transactions are committed in the order of their numbers, by a majority of the servers, each
//     of which has logged it, or by an election; no server applies one before it is committed, and
//     every server applies them in that order;
//   - a create is answered with success only if it was committed, and is carried out once;
//   - a session does not expire before its time while nothing is known of clocks or connections
//     that are not as they should be;
//   - with a session all its ephemeral nodes are deleted, in the same transaction; later it owns
//     none, and nothing is done in its name.
//
// See "Consistency Guarantees" and "ZooKeeper Sessions" in the ZooKeeper programmer's guide, and
// Junqueira, Reed and Serafini, "Zab: High-performance broadcast for primary-backup systems", DSN
// 2011. What is promised of watches [NoLostWatch] decides.
//
// It takes time linear in the events, times the number of ephemeral nodes that are live at once.
//
// No lock decides it: it is a check on the ensemble, in every history that is looked at. A search
// that merges states does not tell them apart by it.
func CheckZooKeeperConsistency(events []Event) *Violation {
	return decide(ZooKeeperConsistency, &consistencyMonitor{strict: true}, events)
}

func (c *consistencyMonitor) reset() {
	*c = consistencyMonitor{
		clients: c.clients[:0], sessions: c.sessions[:0],
		ephemerals: c.ephemerals[:0], strict: true,
	}
}

func (c *consistencyMonitor) copy(from monitor) {
	other, old := from.(*consistencyMonitor), *c
	*c = *other
	c.clients, c.sessions = append(old.clients[:0], other.clients...),
		append(old.sessions[:0], other.sessions...)
	c.ephemerals = append(old.ephemerals[:0], other.ephemerals...)
}

func (c *consistencyMonitor) finish(*queue, []Event) *Violation { return nil }
func (c *consistencyMonitor) state(*queue, *State)              {}

// visible: no lock decides it.
func (c *consistencyMonitor) visible(*queue, *Event) bool { return false }

func (c *consistencyMonitor) observe(_ *queue, log []Event, i int) *Violation {
	c.event = i
	c.check(&log[i])
	return c.violation
}

// A clientView is what is known of one process and its connections.
type clientView struct {
	sent, served, replied int32 // the last request
	lastZxid              int64 // the last transaction that a reply told of, in the session
	syncZxid              int64 // what was committed when a sync was asked for
	syncRequest           int32 // the request by which it was, 0 while none is under way
	session               int64
	// nodes that it has created, and creates that were answered with success
	created, creates int
	lastServe        time.Duration // when a server last answered a request
	lastRead         time.Duration // when one last answered a read of the process while it lived
	crashed          bool
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

type consistencyMonitor struct {
	event          int
	violation      *Violation
	clients        []clientView
	sessions       []sessionView
	ephemerals     []ephemeralView
	logged         [maxServers]int64 // the last transaction that each server has logged
	applied        [maxServers]int64
	servers        int   // the highest number of a server so far
	committed      int64 // the last transaction
	highestApplied int64 // the last transaction that a server has applied
	// something other than a session's beginning has happened; what comes before a run is committed
	// at once
	started bool
	// nothing has happened yet to clocks, or to what servers hear of each other and of clients
	strict bool
}

// maxServers is more than any history has servers.
const maxServers = 64

func (c *consistencyMonitor) fail(reason, format string, values ...any) {
	c.violation = &Violation{
		Property: ZooKeeperConsistency, Event: c.event, Reason: reason,
		Detail: fmt.Sprintf(format, values...),
	}
}

func (c *consistencyMonitor) client(process int32) *clientView {
	for int(process) >= len(c.clients) {
		c.clients = append(c.clients, clientView{})
	}
	return &c.clients[process]
}

func (c *consistencyMonitor) check(e *Event) {
	if e.Server > 0 && e.Server < maxServers {
		c.servers = max(c.servers, int(e.Server))
	}
	c.started = c.started || e.Kind != SessionOpened
	switch e.Kind {
	case Send, Serve, Reply, SessionState:
		c.checkRequest(e, c.client(e.Process))
	case NodeCreated, NodeDeleted, NodeChanged, SessionOpened, SessionExpired, SessionClosed:
		c.checkCommit(e)
	case Logged, Applied:
		c.checkServer(e)
	case Leading:
		for i := range c.logged {
			// Whoever follows the new leader has all that it has.
			c.logged[i] = max(c.logged[i], e.Zxid)
		}
	case Fault:
		c.strict = c.strict && !e.Relaxes
	case Crashed:
		c.client(e.Process).crashed = true
	case WatchArmed:
		if s := c.session(e.Session); s != nil && s.ended && e.Server == 0 {
			c.fail("something was done in the name of a session that has ended",
				"c%d set watch %d in session %#x", e.Process, e.Watch, e.Session)
		}
	}
}

func (c *consistencyMonitor) checkRequest(e *Event, client *clientView) {
	switch e.Kind {
	case Send:
		client.sent = e.Request
		if e.Op == "sync" && client.syncRequest == 0 {
			client.syncZxid, client.syncRequest = c.committed, e.Request
		}
	case SessionState:
		if e.Name == "expired" || e.Session != client.session {
			client.lastZxid = 0 // The client library begins anew.
		}
		client.session = e.Session
	case Serve:
		c.checkServe(e, client)
	case Reply:
		c.checkReply(e, client)
	}
}

func (c *consistencyMonitor) checkServe(e *Event, client *clientView) {
	client.lastServe = e.At
	if !client.crashed && (strings.HasPrefix(e.Op, "get") || strings.HasPrefix(e.Op, "exists") ||
		strings.HasPrefix(e.Op, "children")) {
		client.lastRead = e.At
	}
	switch {
	case e.Request <= client.served || e.Request > client.sent:
		c.fail("a client's requests were handled out of order",
			"c%d's request %d was handled after its request %d", e.Process, e.Request,
			client.served)
	case e.Op == "create" && e.Err == "":
		if client.creates++; client.creates > client.created {
			c.fail("a create was answered with success and never committed",
				"c%d's request %d, transaction %s", e.Process, e.Request, zxidName(e.Zxid))
		}
	case e.Op == "create":
		client.created = client.creates // What other requests have created does not count.
	}
	client.served = e.Request
}

func (c *consistencyMonitor) checkReply(e *Event, client *clientView) {
	synced := e.Request == client.syncRequest
	if synced {
		client.syncRequest = 0
	}
	if e.Zxid == 0 {
		return // The client library answers by itself.
	}
	switch {
	case e.Request <= client.replied:
		c.fail("a client got its answers out of order",
			"c%d got the answer to its request %d after that to its request %d", e.Process,
			e.Request,
			client.replied)
	case e.Op == "connect" || e.Op == "auth": // These tell the client of no transaction.
		client.replied = e.Request
		return
	case e.Zxid < client.lastZxid:
		c.fail("a client saw an older state than before",
			"c%d saw transaction %s after it had seen %s",
			e.Process, zxidName(e.Zxid), zxidName(client.lastZxid))
	case synced && e.Err == "" && c.strict && e.Zxid < client.syncZxid:
		c.fail("a sync was answered from an old state",
			"c%d asked when transaction %s was committed, and the answer tells of %s",
			e.Process, zxidName(client.syncZxid), zxidName(e.Zxid))
	}
	client.replied, client.lastZxid = e.Request, e.Zxid
}

func (c *consistencyMonitor) session(id int64) *sessionView {
	for i := range c.sessions {
		if c.sessions[i].id == id {
			return &c.sessions[i]
		}
	}
	return nil
}

func (c *consistencyMonitor) checkCommit(e *Event) {
	switch {
	case e.Zxid < c.committed:
		c.fail("transactions were committed out of order", "transaction %s after %s",
			zxidName(e.Zxid),
			zxidName(c.committed))
		return
	case e.Zxid > c.committed && e.Zxid <= c.highestApplied:
		c.fail("a server applied a transaction before it was committed", "transaction %s",
			zxidName(e.Zxid))
		return
	case e.Zxid > c.committed && c.started && !c.hasMajority(e.Zxid):
		c.fail("a transaction was committed without a majority", "transaction %s", zxidName(e.Zxid))
		return
	}
	c.committed = e.Zxid
	switch e.Kind {
	case SessionOpened:
		timeout, _ := time.ParseDuration(e.Name)
		c.sessions = append(c.sessions, sessionView{
			id: e.Session, process: e.Process, timeout: timeout,
			opened: e.At,
		})
		c.client(e.Process).session = e.Session
	case SessionExpired, SessionClosed:
		c.checkSessionEnd(e)
	case NodeCreated:
		c.checkCreated(e)
	case NodeDeleted:
		for i := range c.ephemerals {
			if c.ephemerals[i].path == e.Path {
				c.ephemerals[i] = c.ephemerals[len(c.ephemerals)-1]
				c.ephemerals = c.ephemerals[:len(c.ephemerals)-1]
				break
			}
		}
	}
}

// hasMajority tells whether a majority of the servers has logged a transaction, the leader being
// one of them. How many servers there are shows only as they do something.
func (c *consistencyMonitor) hasMajority(zxid int64) bool {
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

func (c *consistencyMonitor) checkCreated(e *Event) {
	client := c.client(e.Process)
	if client.created++; e.Session == 0 {
		return
	}
	if s := c.session(e.Session); s != nil && s.ended {
		c.fail("something was done in the name of a session that has ended",
			"c%d created %s in session %#x", e.Process, e.Path, e.Session)
		return
	}
	for i := range c.ephemerals {
		if c.ephemerals[i].path == e.Path {
			c.fail("a node was created that was there already", "c%d created %s", e.Process, e.Path)
			return
		}
	}
	c.ephemerals = append(c.ephemerals, ephemeralView{e.Path, e.Session})
}

func (c *consistencyMonitor) checkSessionEnd(e *Event) {
	for i := range c.ephemerals {
		if c.ephemerals[i].session == e.Session {
			c.fail("an ephemeral node outlived its session", "%s of session %#x of c%d",
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
	heard := client.lastServe
	if c.servers > 0 {
		// Other requests may have been heard long before they are answered, and those of a process
		// that has crashed and handshakes answered when the session's end was proposed already.
		// That may be the first that shows that there are several servers.
		heard = client.lastRead
		if heard <= s.opened {
			return // When it was asked for does not show.
		}
	}
	heard = max(s.opened, heard)
	if e.Kind == SessionExpired && c.strict && client.session == s.id && e.At < heard+s.timeout {
		c.fail("a session expired before its time",
			"session %#x of c%d ended %v after the server had "+
				"heard of it, and its timeout is %v",
			s.id, s.process, e.At-heard, s.timeout)
	}
}

func (c *consistencyMonitor) checkServer(e *Event) {
	if e.Server < 1 || e.Server >= maxServers {
		return
	}
	c.logged[e.Server] = max(c.logged[e.Server], e.Zxid)
	if e.Kind == Logged {
		return
	}
	if e.Zxid <= c.applied[e.Server] {
		c.fail("a server applied transactions out of order", "s%d applied transaction %s after %s",
			e.Server, zxidName(e.Zxid), zxidName(c.applied[e.Server]))
		return
	}
	c.applied[e.Server] = e.Zxid
	c.highestApplied = max(c.highestApplied, e.Zxid)
}
