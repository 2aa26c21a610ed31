package simzk

import (
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// An End is the client's end of a link. The cluster calls its methods when its own caller performs
// a step; they may call the cluster.
type End interface {
	// Collect sends the requests that the process has submitted since the last call.
	Collect()
	// Deliver handles a message from the server.
	Deliver(Message)
	// Disconnected handles the end of the connection.
	Disconnected()
	// Connected reports whether there is a connection, with a session or during the handshake.
	Connected() bool
	// KnownSession returns the session that the client believes it has, or 0.
	KnownSession() int64
	// Pending returns the process's oldest request that is in flight, or nil.
	Pending() *wire.Request
	// Deadline returns the time of the client's next timed action, and false if there is none.
	Deadline() (time.Duration, bool)
	// Advance performs the timed actions that are due.
	Advance()
	// PingsStalled notes that the client's pings are no longer answered.
	PingsStalled()
	// PingsResumed notes that the client's pings are answered again.
	PingsResumed()
	// LatencyChanges notes that the latency of the link is about to change; see [Cluster.SlowLink].
	LatencyChanges()
	// Key returns 64 bits over the state of the client; see [Cluster.Key].
	Key() uint64
	// TearDown destroys the client at the end of a run; see [Link.TearDown].
	TearDown()
	// ShutDown closes the client at the end of a run; see [Link.ShutDown].
	ShutDown()
}

// A ModelEnd is the [End] of a client that acts only when the cluster calls it. The cluster can
// therefore pause such a client, hash its state, save it and restore it.
type ModelEnd interface {
	End
	// PingsShifted notes that the client has begun to ping earlier by a duration.
	PingsShifted(earlier time.Duration)
	// StateHash returns 64 bits over the state of the client; see [Cluster.StateHash].
	StateHash() uint64
	// CanSave reports whether Save applies to the client; see [Cluster.CanSave].
	CanSave() bool
	// Save returns the state of the client. It may reuse the memory of old, which is nil or what an
	// earlier Save of any client has returned. The cluster saves the requests in transit.
	Save(old any) any
	// Restore resets the client to a state that Save has returned.
	Restore(saved any)
}

// A LibraryEnd is the [End] of client libraries, which have goroutines and timers of their own. The
// cluster can pause and stop it.
type LibraryEnd interface {
	End
	// Paused notes that the process is paused: its clients learn nothing from the servers, not even
	// that time runs out while they wait for them.
	Paused()
	// Resumed notes that the process continues.
	Resumed()
	// Crashed notes that the process has stopped for the rest of the run.
	Crashed()
}

// AddClient adds the client of a process, and initializes its link. Processes are numbered from 1
// in the order of the calls. [Link.ServerIndex] is the first server on the client's list.
func (c *Cluster) AddClient(l *Link, end End) {
	processes := len(c.links) - c.further
	c.addLink(l, int32(processes+1), processes%c.Servers(), loopback[0].ID)
	l.pings = true
	l.setEnd(end)
	switch {
	case l.model == nil:
		c.hasRealClient = true
		return
	case c.used == len(c.ends):
		c.ends = append(c.ends, l.model)
	default:
		c.ends[c.used] = l.model
	}
	c.used++
}

// Recycled returns a [ModelEnd] that [Cluster.AddClient] has received before the last
// [Cluster.Reset], or nil. The caller may reuse its memory for the client that it adds next.
func (c *Cluster) Recycled() ModelEnd {
	if c.used == len(c.ends) {
		return nil
	}
	return c.ends[c.used]
}

// GrantSession opens a session for a new client that needs no handshake, and returns its id. Every
// server knows the session at once.
func (c *Cluster) GrantSession(l *Link) int64 {
	l.session = c.openSession(l, c.config.SessionTimeout)
	c.attach(l.session, l)
	c.replicateNow()
	return l.session.id
}

// OpenSession lets a new client connect and open its session, as if that had happened before the
// run. The history has no other trace of it than the session.
func (c *Cluster) OpenSession(l *Link) {
	log := c.history
	c.history = nil
	c.config.Settle()
	l.end.Advance()
	l.end.Collect()
	c.Serve(l)
	c.replicateNow()
	c.Deliver(l)
	c.history = log
	l.lastRequest, l.postedHash = 0, 0
	c.record(history.Event{
		At: c.now, Kind: history.SessionOpened, Process: l.process,
		Session: l.end.KnownSession(), Zxid: c.zxid, Name: c.timeout,
	})
}

// Dial connects the client to a server if it can reach that, and reports whether it can.
func (c *Cluster) Dial(l *Link, server int) bool {
	if !l.CanReach(server) {
		return false
	}
	l.server, l.held = server, c.servers[server].paused
	return true
}

// BeginPings notes that the client, which has its session, pings its server from now on. Until then
// the session has lived on, as if the client had, unless the answer to its handshake was held back.
func (c *Cluster) BeginPings(l *Link) {
	s := l.session
	if s == nil {
		return
	}
	first := c.now
	if s.silent || l.requestLatency > 0 {
		first += PingInterval(s.timeout) + l.requestLatency
	} // Otherwise the beginning counts as a ping.
	switch {
	case s.lastPing(c.now) <= s.contactAt:
	case !s.local && c.cutOff(l.server):
		c.settle(s, l.server)
	default:
		c.notePings(s)
	}
	s.pingStart = first
}

// Send numbers a request of a process, records it and sends it to the server. The caller is the
// line that has made the request, if it is known.
func (c *Cluster) Send(l *Link, r *Exchange, caller callsite.Site) {
	first := l.host()
	first.lastRequest++
	r.Number = first.lastRequest
	c.record(history.Event{
		At: c.now, Kind: history.Send, Process: r.maker(l), Connection: l.connection,
		Request: r.Number,
		Op:      r.verb(), Path: r.Path, Facts: c.sendFacts(r, caller),
	})
	l.transmit(r)
}

// recordDelivery records that a message reaches the client of a process.
func (c *Cluster) recordDelivery(l *Link, m *Message) {
	for _, w := range m.watches {
		c.record(history.Event{
			At: c.now, Kind: history.WatchEvent, Process: w.owner(), Connection: l.connection,
			Watch: w.number, Path: m.Path, Name: eventName(m.Event), Zxid: m.Zxid,
		})
	}
	if r := m.Reply; r != nil {
		c.record(history.Event{
			At: c.now, Kind: history.Reply, Process: r.maker(l), Connection: l.connection,
			Request: r.Number,
			Op:      r.verb(), Path: r.Result.Path, Zxid: m.Zxid, Err: r.Result.Code.String(),
			Facts: c.replyFacts(r),
		})
	}
}

// Record appends an event of a client to the history, with the time and the client's process.
func (c *Cluster) Record(l *Link, e history.Event) {
	if c.history != nil {
		e.At, e.Process, e.Connection = c.now, l.process, l.connection
		c.history.Append(e)
	}
}

// Settle waits until the goroutines that a step has woken are blocked; see [Config].
func (c *Cluster) Settle() { c.config.Settle() }

// MarkWoken notes that the step under way wakes a goroutine of a process; see [Cluster.Woken].
func (c *Cluster) MarkWoken() { c.woken = true }
