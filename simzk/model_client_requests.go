package simzk

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// collect transmits the requests that the process has submitted.
func (c *Conn) collect() {
	if !c.hasSubmitted.Load() {
		return
	}
	c.sendSubmitted()
	if !c.closing || c.crashed.Load() {
		return
	}
	switch c.phase {
	case dialing:
		c.terminate()
	case authenticating: // The client stops waiting for the server's reply.
		c.sendCredentials()
	}
}

func (c *Conn) sendSubmitted() {
	for _, r := range c.takeSubmitted() {
		c.send(r)
	}
}

// takeSubmitted returns the requests that the process has submitted since the last call, in an
// order that does not depend on the scheduling of goroutines. The slice is valid until the next
// call.
func (c *Conn) takeSubmitted() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasSubmitted.Store(false)
	requests := c.submitted
	c.submitted, c.recycled = c.recycled[:0], requests
	if len(requests) > 1 {
		slices.SortStableFunc(requests, func(a, b *call) int {
			return compareSimultaneous(&a.request,
				&b.request)
		})
	}
	return requests
}

// compareSimultaneous orders requests that a process sent at the same time, by their whole content.
func compareSimultaneous(a, b *request) int {
	if order := compareRequests(a, b); order != 0 {
		return order
	}
	return bytes.Compare(encoded(a), encoded(b))
}

// encoded returns a request's encoding without its xid.
func encoded(r *request) []byte {
	unnumbered := r.Request
	unnumbered.Xid = 0
	return operation.AppendRequest(nil, &unnumbered)
}

// send transmits a request, or queues it until there is a connection.
func (c *Conn) send(r *call) {
	c.closing = c.closing || r.Op == wire.OpCloseSession
	if c.phase == connected && !c.crashed.Load() || r.Op == wire.OpCreateSession {
		c.transmit(r)
	} else {
		c.unsent = append(c.unsent, r)
	}
}

func (c *Conn) transmit(r *call) {
	c.lastRequest++
	r.number = c.lastRequest
	c.sentHash = mix(c.sentHash, xxhash.Sum64String(r.Path)+uint64(rank(&r.request)))
	c.cluster.record(history.Event{
		At: c.cluster.now, Kind: history.Send, Process: c.process, Request: r.number,
		Op: r.verb(), Path: r.Path, Facts: c.cluster.sendFacts(&r.request, r.site()),
	})
	c.Link.transmit(&r.request)
	c.inFlight = append(c.inFlight, r)
}

// hasUnsentCall reports whether a call is unsent whose reply will raise the client's last zxid.
func (c *Conn) hasUnsentCall() bool {
	return slices.ContainsFunc(c.unsent, func(r *call) bool { return r.Op != wire.OpAuth })
}
