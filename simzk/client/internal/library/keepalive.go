package library

import (
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// A Keepalive tracks when a client last received anything from its server. Pings are not steps, as
// usually they are answered at once.
type Keepalive struct {
	ReceivedAt time.Duration // time of the last message
	PingStart  time.Duration // time of the first ping on this connection
	// When the client gives the connection up unless it receives something; 0 while pings prevent
	// that.
	ReadDeadline time.Duration
	PingsStopped bool // pings are not answered
	stoppedAt    time.Duration
}

// readTimeout returns the client's read timeout.
func readTimeout(session time.Duration) time.Duration { return session * 2 / 3 }

// HandshakeTimeout returns the time that the client waits for the reply to its handshake.
func HandshakeTimeout(session time.Duration) time.Duration { return readTimeout(session) * 10 }

// StartPings notes that the client begins to ping. Until the first reply its deadline may still
// expire.
func (h *Keepalive) StartPings(now, session time.Duration) {
	h.PingStart = now
	h.relyOnPings(now + simzk.PingInterval(session))
}

// relyOnPings clears the deadline if pings are answered and the next one comes in time.
func (h *Keepalive) relyOnPings(next time.Duration) {
	if !h.PingsStopped && h.ReadDeadline >= next {
		h.ReadDeadline = 0
	}
}

// Received notes that a message from the server has arrived.
func (h *Keepalive) Received(now time.Duration) { h.ReceivedAt, h.ReadDeadline = now, 0 }

// ArmReadDeadline starts the read timeout.
func (h *Keepalive) ArmReadDeadline(now, session time.Duration) {
	h.ReadDeadline = now + readTimeout(session)
}

// StopPings notes that pings are not answered from now on. A client that does not ping yet already
// has a deadline.
func (h *Keepalive) StopPings(pings bool, now, session time.Duration) {
	h.PingsStopped, h.stoppedAt = true, now
	if pings && h.ReadDeadline == 0 {
		h.ReadDeadline = max(h.ReceivedAt, simzk.LastPing(h.PingStart, now, session)) +
			readTimeout(session)
	}
}

// ResumePings notes that pings are answered again. A ping that waits is answered at once.
func (h *Keepalive) ResumePings(pings bool, now, session time.Duration) {
	unanswered := h.PingUnanswered(now, session)
	h.PingsStopped = false
	switch {
	case !pings:
	case unanswered:
		h.Received(now)
	default:
		h.relyOnPings(simzk.LastPing(h.PingStart, now, session) + simzk.PingInterval(session))
	}
}

// PingUnanswered reports whether a ping waits for its reply. The client must be pinging.
func (h *Keepalive) PingUnanswered(now, session time.Duration) bool {
	return h.PingsStopped && simzk.LastPing(h.PingStart, now, session) > max(h.stoppedAt,
		h.PingStart)
}
