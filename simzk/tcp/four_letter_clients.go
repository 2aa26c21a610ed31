package tcp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

func writeConnections(w *strings.Builder, m *member) {
	for _, c := range m.sorted() {
		c.writeBrief(w)
		if t := &c.metrics; t.session != 0 {
			c.writeSession(w)
		}
		w.WriteString(")\n")
	}
	w.WriteString("\n")
}

// writeBrief writes what is told of any connection. The number in brackets says whether the server
// reads from it.
func (c *connection) writeBrief(w *strings.Builder) {
	reading := 0
	if c.metrics.session != 0 {
		reading = 1
	}
	fmt.Fprintf(w, " /%s[%d](queued=0,recved=%d,sent=%d", c.endpoint(), reading, c.received(),
		c.metrics.sent)
}

// received returns how many messages have come in. A connection without a session has mostly sent a
// word, which the tally does not count.
func (c *connection) received() int {
	if c.metrics.session == 0 {
		return max(1, c.metrics.received)
	}
	return c.metrics.received
}

func (c *connection) writeSession(w *strings.Builder) {
	t := &c.metrics
	fmt.Fprintf(w, ",sid=%s,lop=%s,est=%d,to=%d", hex(t.session), t.operation, c.made.UnixMilli(),
		t.timeout.Milliseconds())
	if t.xid >= 0 {
		fmt.Fprintf(w, ",lcxid=0x%x", t.xid)
	}
	var replied int64 // a clock of the server's own, as in a real one
	if !t.replied.IsZero() {
		replied = t.replied.Sub(c.member.server.started).Milliseconds()
	}
	fmt.Fprintf(w, ",lzxid=%s,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d", hex(t.zxid), replied,
		t.latency.last,
		t.latency.min, t.latency.whole(), t.latency.max)
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

// writeDump writes the sessions and the connections of the member. A follower knows of sessions
// only how long they last.
func writeDump(w *strings.Builder, m *member) {
	sessions := m.server.cluster.SessionList()
	w.WriteString("SessionTracker dump:\n")
	if m.state() == Follower {
		fmt.Fprintf(w, "Global Sessions(%d):\n", len(sessions))
		for _, s := range sessions {
			fmt.Fprintf(w, "%s\t%dms\n", hex(s.ID), s.Timeout.Milliseconds())
		}
	} else {
		var queue expiries
		for _, s := range sessions {
			queue.add(m.server.started.Add(s.Expires), hex(s.ID))
		}
		queue.write(w, "Session")
	}
	w.WriteString("ephemeral nodes dump:\n")
	writeEphemerals(w, sessions)
	w.WriteString("Connections dump:\n")
	var queue expiries
	for _, c := range m.sorted() {
		queue.add(c.expires(), fmt.Sprintf("ip: /%s sessionId: %s", c.endpoint(),
			hex(c.metrics.session)))
	}
	queue.write(w, "Connections")
}

// expires returns when a server would drop the connection if it heard nothing more, rounded as a
// real server does.
func (c *connection) expires() time.Time {
	at := c.made.Add(handshakeTime)
	if c.metrics.timeout != 0 {
		at = c.metrics.heard.Add(c.metrics.timeout)
	}
	return at.Truncate(handshakeTime).Add(handshakeTime)
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

// expiries are things that end at a time, as a server's queue of them is shown.
type expiries struct {
	times  []time.Time
	things map[time.Time][]string
	count  int
}

func (e *expiries) add(at time.Time, thing string) {
	at = at.UTC().Round(0)
	if e.things == nil {
		e.things = make(map[time.Time][]string)
	}
	if e.things[at] == nil {
		e.times = append(e.times, at)
	}
	e.things[at] = append(e.things[at], thing)
	e.count++
}

func (e *expiries) write(w *strings.Builder, name string) {
	fmt.Fprintf(w, "%s Sets (%d)/(%d):\n", name, len(e.times), e.count)
	slices.SortFunc(e.times, time.Time.Compare)
	for _, at := range e.times {
		fmt.Fprintf(w, "%d expire at %s:\n", len(e.things[at]),
			at.Format("Mon Jan 02 15:04:05 MST 2006"))
		for _, thing := range e.things[at] {
			fmt.Fprintf(w, "\t%s\n", thing)
		}
	}
}
