package simzk

import "time"

// A keepalive is what a client knows of how long it has not heard of its server. Its pings are no
// steps: as a rule they are answered at once.
type keepalive struct {
	receivedAt time.Duration // when the server was last heard of
	pingStart  time.Duration // when the client began to ping on this connection
	// when it gives the connection up unless it hears of the server; 0 while its pings see to that
	readDeadline time.Duration
	pingsStopped bool // pings are not answered
	stoppedAt    time.Duration
}

// readTimeout is how long the client waits until it has heard anything of the server.
func readTimeout(session time.Duration) time.Duration { return session * 2 / 3 }

// pingInterval is how long the client waits between two pings.
func pingInterval(session time.Duration) time.Duration { return readTimeout(session) / 2 }

// handshakeTimeout is how long the client waits for the answer to its handshake.
func handshakeTimeout(session time.Duration) time.Duration { return readTimeout(session) * 10 }

// lastPing returns when a client that has begun to ping at a time last did so, up to another
// time. The beginning counts as a ping.
func lastPing(since, upTo, sessionTimeout time.Duration) time.Duration {
	every := sessionTimeout / 3
	if every == 0 {
		return since
	}
	return since + (upTo-since)/every*every
}

// startPings notes that the client's pings begin. Until the answer to the first it may give the
// connection up all the same.
func (h *keepalive) startPings(now, session time.Duration) {
	h.pingStart = now
	h.relyOnPings(now + pingInterval(session))
}

// relyOnPings leaves it to the pings to keep the connection, if the next one is answered and comes soon
// enough.
func (h *keepalive) relyOnPings(next time.Duration) {
	if !h.pingsStopped && h.readDeadline >= next {
		h.readDeadline = 0
	}
}

// received notes that something of the server has arrived.
func (h *keepalive) received(now time.Duration) { h.receivedAt, h.readDeadline = now, 0 }

// armReadDeadline notes that the client has nothing but a while of patience from now on.
func (h *keepalive) armReadDeadline(now, session time.Duration) {
	h.readDeadline = now + readTimeout(session)
}

// stopPings notes that pings are not answered from now on. A client that does not ping yet has
// another reason to give up.
func (h *keepalive) stopPings(pings bool, now, session time.Duration) {
	h.pingsStopped, h.stoppedAt = true, now
	if pings && h.readDeadline == 0 {
		h.readDeadline = max(h.receivedAt, lastPing(h.pingStart, now, session)) +
			readTimeout(session)
	}
}

// resumePings notes that pings are answered again, and at once those that have waited.
func (h *keepalive) resumePings(pings bool, now, session time.Duration) {
	waits := h.pingUnanswered(now, session)
	h.pingsStopped = false
	switch {
	case !pings:
	case waits:
		h.received(now)
	default:
		h.relyOnPings(lastPing(h.pingStart, now, session) + pingInterval(session))
	}
}

// pingUnanswered tells whether a ping of a client that pings waits for its answer.
func (h *keepalive) pingUnanswered(now, session time.Duration) bool {
	return h.pingsStopped && lastPing(h.pingStart, now, session) > max(h.stoppedAt, h.pingStart)
}
