package simzk

import "time"

// A keepalive tracks when a client last received anything from its server. Pings are not steps, as
// usually they are answered at once.
type keepalive struct {
	receivedAt time.Duration // time of the last message
	pingStart  time.Duration // time of the first ping on this connection
	// When the client gives the connection up unless it receives something; 0 while pings prevent
	// that.
	readDeadline time.Duration
	pingsStopped bool // pings are not answered
	stoppedAt    time.Duration
}

// readTimeout returns the client's read timeout.
func readTimeout(session time.Duration) time.Duration { return session * 2 / 3 }

// pingInterval returns the interval of the client's pings.
func pingInterval(session time.Duration) time.Duration { return readTimeout(session) / 2 }

// handshakeTimeout returns the time that the client waits for the reply to its handshake.
func handshakeTimeout(session time.Duration) time.Duration { return readTimeout(session) * 10 }

// startPings notes that the client begins to ping. Until the first reply its deadline may still
// expire.
func (h *keepalive) startPings(now, session time.Duration) {
	h.pingStart = now
	h.relyOnPings(now + pingInterval(session))
}

// relyOnPings clears the deadline if pings are answered and the next one comes in time.
func (h *keepalive) relyOnPings(next time.Duration) {
	if !h.pingsStopped && h.readDeadline >= next {
		h.readDeadline = 0
	}
}

// received notes that a message from the server has arrived.
func (h *keepalive) received(now time.Duration) { h.receivedAt, h.readDeadline = now, 0 }

// armReadDeadline starts the read timeout.
func (h *keepalive) armReadDeadline(now, session time.Duration) {
	h.readDeadline = now + readTimeout(session)
}

// stopPings notes that pings are not answered from now on. A client that does not ping yet already
// has a deadline.
func (h *keepalive) stopPings(pings bool, now, session time.Duration) {
	h.pingsStopped, h.stoppedAt = true, now
	if pings && h.readDeadline == 0 {
		h.readDeadline = max(h.receivedAt, lastPing(h.pingStart, now, session)) +
			readTimeout(session)
	}
}

// resumePings notes that pings are answered again. A ping that waits is answered at once.
func (h *keepalive) resumePings(pings bool, now, session time.Duration) {
	unanswered := h.pingUnanswered(now, session)
	h.pingsStopped = false
	switch {
	case !pings:
	case unanswered:
		h.received(now)
	default:
		h.relyOnPings(lastPing(h.pingStart, now, session) + pingInterval(session))
	}
}

// pingUnanswered reports whether a ping waits for its reply. The client must be pinging.
func (h *keepalive) pingUnanswered(now, session time.Duration) bool {
	return h.pingsStopped && lastPing(h.pingStart, now, session) > max(h.stoppedAt, h.pingStart)
}
