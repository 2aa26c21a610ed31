package simzk

import "time"

// A keepalive is what a client knows of how long it has not heard of its server. Its pings are no
// steps: as a rule they are answered at once.
type keepalive struct {
	heardAt    time.Duration // when the server was last heard of
	pingsSince time.Duration // when the client began to ping on this connection
	// when it gives the connection up unless it hears of the server; 0 while its pings see to that
	silentUntil time.Duration
	mute        bool // pings are not answered
	muteSince   time.Duration
}

// readTimeout is how long the client waits until it has heard anything of the server.
func readTimeout(session time.Duration) time.Duration { return session * 2 / 3 }

// pingPause is how long the client waits between two pings.
func pingPause(session time.Duration) time.Duration { return readTimeout(session) / 2 }

// handshakeTimeout is how long the client waits for the answer to its handshake.
func handshakeTimeout(session time.Duration) time.Duration { return readTimeout(session) * 10 }

// pingBefore returns when a client that has begun to ping at a time last did so, up to another
// time. The beginning counts as a ping.
func pingBefore(since, upTo, sessionTimeout time.Duration) time.Duration {
	every := sessionTimeout / 3
	if every == 0 {
		return since
	}
	return since + (upTo-since)/every*every
}

// ping notes that the client's pings begin. Until the answer to the first it may give the
// connection up all the same.
func (h *keepalive) ping(now, session time.Duration) {
	h.pingsSince = now
	h.rest(now + pingPause(session))
}

// rest leaves it to the pings to keep the connection, if the next one is answered and comes soon
// enough.
func (h *keepalive) rest(next time.Duration) {
	if !h.mute && h.silentUntil >= next {
		h.silentUntil = 0
	}
}

// heard notes that something of the server has arrived.
func (h *keepalive) heard(now time.Duration) { h.heardAt, h.silentUntil = now, 0 }

// wait notes that the client has nothing but a while of patience from now on.
func (h *keepalive) wait(now, session time.Duration) { h.silentUntil = now + readTimeout(session) }

// fallSilent notes that pings are not answered from now on. A client that does not ping yet has
// another reason to give up.
func (h *keepalive) fallSilent(pings bool, now, session time.Duration) {
	h.mute, h.muteSince = true, now
	if pings && h.silentUntil == 0 {
		h.silentUntil = max(h.heardAt, pingBefore(h.pingsSince, now, session)) +
			readTimeout(session)
	}
}

// speak notes that pings are answered again, and at once those that have waited.
func (h *keepalive) speak(pings bool, now, session time.Duration) {
	waits := h.pingWaits(now, session)
	h.mute = false
	switch {
	case !pings:
	case waits:
		h.heard(now)
	default:
		h.rest(pingBefore(h.pingsSince, now, session) + pingPause(session))
	}
}

// pingWaits tells whether a ping of a client that pings waits for its answer.
func (h *keepalive) pingWaits(now, session time.Duration) bool {
	return h.mute && pingBefore(h.pingsSince, now, session) > max(h.muteSince, h.pingsSince)
}
