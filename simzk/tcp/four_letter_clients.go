package tcp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

func writeConnections(w *strings.Builder, m *member) {
	for _, c := range m.sortedConnections() {
		c.writeSummary(w)
		if t := &c.metrics; t.session != 0 {
			c.writeSession(w)
		}
		w.WriteString(")\n")
	}
	w.WriteString("\n")
}

// writeSummary writes the fields of every connection. The number in brackets is 1 if the server
// reads from the connection.
func (c *connection) writeSummary(w *strings.Builder) {
	reading := 0
	if c.metrics.session != 0 {
		reading = 1
	}
	fmt.Fprintf(w, " /%s[%d](queued=0,recved=%d,sent=%d", c.endpoint(), reading, c.received(),
		c.metrics.sent)
}

// received returns the number of received messages. A connection without a session has usually sent
// a four-letter word, which metrics do not count.
func (c *connection) received() int {
	if c.metrics.session == 0 {
		return max(1, c.metrics.received)
	}
	return c.metrics.received
}

func (c *connection) writeSession(w *strings.Builder) {
	t := &c.metrics
	fmt.Fprintf(w, ",sid=%s,lop=%s,est=%d,to=%d", hex(t.session), t.operation, c.opened.UnixMilli(),
		t.timeout.Milliseconds())
	if t.xid >= 0 {
		fmt.Fprintf(w, ",lcxid=0x%x", t.xid)
	}
	var replied int64 // since the server's start, as in a real server
	if !t.lastReplied.IsZero() {
		replied = t.lastReplied.Sub(c.member.server.started).Milliseconds()
	}
	fmt.Fprintf(w, ",lzxid=%s,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d", hex(t.zxid), replied,
		t.latency.last,
		t.latency.min, t.latency.truncatedAverage(), t.latency.max)
}

func resetConnections(w *strings.Builder, m *member) {
	for c := range m.connections {
		c.metrics.reset()
	}
	w.WriteString("Connection stats reset.\n")
}

func resetStatistics(w *strings.Builder, m *member) {
	m.statistics = statistics{}
	w.WriteString("Server stats reset.\n")
}

// sessions returns the sessions that are local to the member, and those that the ensemble knows.
func (m *member) sessions() (local, global []simzk.SessionInfo) {
	for _, s := range m.server.cluster.SessionList() {
		switch s.Home {
		case -1:
			global = append(global, s)
		case m.index:
			local = append(local, s)
		}
	}
	return local, global
}

// writeDump writes the sessions and the member's connections. Of the sessions that are not local to
// it, a follower knows only the timeouts.
func writeDump(w *strings.Builder, m *member) {
	local, global := m.sessions()
	w.WriteString("SessionTracker dump:\n")
	name := "Session"
	if m.server.cluster.HasLocalSessions() {
		m.writeSessions(w, "Local Session", local)
		name = "Global Session"
	}
	if m.state() == Follower {
		fmt.Fprintf(w, "Global Sessions(%d):\n", len(global))
		for _, s := range global {
			fmt.Fprintf(w, "%s\t%dms\n", hex(s.ID), s.Timeout.Milliseconds())
		}
	} else {
		m.writeSessions(w, name, global)
	}
	w.WriteString("ephemeral nodes dump:\n")
	writeEphemerals(w, global)
	w.WriteString("Connections dump:\n")
	var queue expiryQueue
	for _, c := range m.sortedConnections() {
		queue.add(c.expires(), fmt.Sprintf("ip: /%s sessionId: %s", c.endpoint(),
			hex(c.metrics.session)))
	}
	queue.write(w, "Connections")
}

// writeSessions writes sessions by the time of their expiry.
func (m *member) writeSessions(w *strings.Builder, name string, sessions []simzk.SessionInfo) {
	var queue expiryQueue
	for _, s := range sessions {
		queue.add(m.server.started.Add(s.Expires), hex(s.ID))
	}
	queue.write(w, name)
}

// expires returns the time at which a server drops the connection if it receives nothing more: a
// multiple of the time for handshakes, as in a real server (NIOServerCnxnFactory).
func (c *connection) expires() time.Time {
	every := c.member.server.config.Handshake
	at := c.opened.Add(every)
	if c.metrics.timeout != 0 {
		at = c.metrics.lastReceived.Add(c.metrics.timeout)
	}
	return at.Truncate(every).Add(every)
}

func writeEphemerals(w *strings.Builder, sessions []simzk.SessionInfo) {
	owners := slices.DeleteFunc(slices.Clone(sessions),
		func(s simzk.SessionInfo) bool { return len(s.Ephemeral) == 0 })
	fmt.Fprintf(w, "Sessions with Ephemerals (%d):\n", len(owners))
	for _, s := range owners {
		fmt.Fprintf(w, "%s:\n", hex(s.ID))
		for _, path := range s.Ephemeral {
			fmt.Fprintf(w, "\t%s\n", path)
		}
	}
}

// An expiryQueue groups entries by expiry time, as servers print their expiry queues.
type expiryQueue struct {
	times   []time.Time
	entries map[time.Time][]string
	count   int
}

func (e *expiryQueue) add(at time.Time, entry string) {
	at = at.UTC().Round(0)
	if e.entries == nil {
		e.entries = make(map[time.Time][]string)
	}
	if e.entries[at] == nil {
		e.times = append(e.times, at)
	}
	e.entries[at] = append(e.entries[at], entry)
	e.count++
}

func (e *expiryQueue) write(w *strings.Builder, name string) {
	fmt.Fprintf(w, "%s Sets (%d)/(%d):\n", name, len(e.times), e.count)
	slices.SortFunc(e.times, time.Time.Compare)
	for _, at := range e.times {
		fmt.Fprintf(w, "%d expire at %s:\n", len(e.entries[at]),
			at.Format("Mon Jan 02 15:04:05 MST 2006"))
		for _, entry := range e.entries[at] {
			fmt.Fprintf(w, "\t%s\n", entry)
		}
	}
}
