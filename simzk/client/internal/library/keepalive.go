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
	StoppedAt    time.Duration
	// Of the pings up to SettledAt, the last was answered, or will be, at AnsweredAt.
	SettledAt, AnsweredAt time.Duration
}

// readTimeout returns the client's read timeout.
func readTimeout(session time.Duration) time.Duration { return session * 2 / 3 }

// HandshakeTimeout returns the time that the client waits for the reply to its handshake.
func HandshakeTimeout(session time.Duration) time.Duration { return readTimeout(session) * 10 }

// StartPings notes that the client begins to ping. Until the first reply its deadline may still
// expire.
func (h *Keepalive) StartPings(now, session, roundTrip time.Duration) {
	h.PingStart = now
	h.relyOnPings(now + simzk.PingInterval(session) + roundTrip)
}

// relyOnPings clears the deadline if pings are answered and the next answer comes in time.
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

// StopPings notes that pings are not answered from now on, those in transit included. A client that
// does not ping yet already has a deadline. A round trip is shorter than the interval of pings.
func (h *Keepalive) StopPings(pings bool, now, session, roundTrip time.Duration) {
	h.PingsStopped, h.StoppedAt = true, now
	if pings && h.ReadDeadline == 0 {
		h.ReadDeadline = max(h.ReceivedAt, h.lastAnswer(now, session, roundTrip)) +
			readTimeout(session)
	}
}

// ChangeLatency notes that the latency of the link is about to change. The round trip is the one
// until now: what is in transit keeps its time.
func (h *Keepalive) ChangeLatency(pings bool, now, session, roundTrip time.Duration) {
	if !pings {
		return
	}
	h.ReceivedAt = max(h.ReceivedAt, h.lastAnswer(now, session, roundTrip))
	if sent := h.lastPing(now, session, roundTrip); sent > h.SettledAt {
		h.AnsweredAt = sent + roundTrip
	}
	h.SettledAt = now
}

// lastPing returns when the last ping was sent, or 0 if none was. Where messages take no time, the
// beginning counts as a ping.
func (h *Keepalive) lastPing(now, session, roundTrip time.Duration) time.Duration {
	if roundTrip > 0 && now < h.PingStart+simzk.PingInterval(session) {
		return 0
	}
	return simzk.LastPing(h.PingStart, now, session)
}

// lastAnswer returns when the last ping was answered, or 0 if none was since the latency changed
// during a ping.
func (h *Keepalive) lastAnswer(now, session, roundTrip time.Duration) time.Duration {
	sent := h.lastPing(now-roundTrip, session, roundTrip)
	switch {
	case sent > h.SettledAt || roundTrip == 0:
		return sent + roundTrip
	case h.AnsweredAt <= now:
		return h.AnsweredAt
	}
	return 0
}

// ResumePings notes that pings are answered again. A ping that waits is answered at once.
func (h *Keepalive) ResumePings(pings bool, now, session, roundTrip time.Duration) {
	unanswered := h.PingUnanswered(now, session) || roundTrip > 0 &&
		h.lastAnswer(now, session, roundTrip) > h.lastAnswer(h.StoppedAt, session, roundTrip)
	h.PingsStopped = false
	switch {
	case !pings:
	case unanswered:
		h.Received(now)
		h.SettledAt, h.AnsweredAt = now, now
	default:
		h.relyOnPings(max(h.lastAnswer(now, session, roundTrip), h.PingStart+roundTrip) +
			simzk.PingInterval(session))
	}
}

// PingUnanswered reports whether a ping waits for its reply. The client must be pinging.
func (h *Keepalive) PingUnanswered(now, session time.Duration) bool {
	return h.PingsStopped && simzk.LastPing(h.PingStart, now, session) > max(h.StoppedAt,
		h.PingStart)
}
