package model

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// collect transmits the requests that the process has submitted.
func (c *Conn) collect() {
	c.sendSubmitted()
	if !c.closing || c.Crashed() {
		return
	}
	switch c.phase {
	case library.Dialing:
		c.terminate()
	case library.Authenticating: // The client stops waiting for the server's reply.
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
	if len(requests) > 1 && !scheduler.Enabled { // Otherwise the schedule decides the order.
		slices.SortStableFunc(requests, func(a, b *call) int {
			return cmp.Or(library.CompareSimultaneous(&a.Request, &b.Request),
				cmp.Compare(a.Thread, b.Thread))
		})
	}
	return requests
}

// send transmits a request, or queues it until there is a connection.
func (c *Conn) send(r *call) {
	c.closing = c.closing || r.Op == wire.OpCloseSession
	if c.phase == library.Connected && !c.Crashed() || r.Op == wire.OpCreateSession {
		c.transmit(r)
	} else {
		c.unsent = append(c.unsent, r)
	}
}

func (c *Conn) transmit(r *call) {
	c.sentHash = hash64.Mix(c.sentHash, xxhash.Sum64String(r.Path)+uint64(library.Rank(&r.Request))+
		uint64(r.Thread)<<32)
	c.cluster.Send(c.Link, &r.Exchange, r.site())
	c.inFlight = append(c.inFlight, r)
}

// hasUnsentCall reports whether a call is unsent whose reply will raise the client's last zxid.
func (c *Conn) hasUnsentCall() bool {
	return slices.ContainsFunc(c.unsent, func(r *call) bool { return r.Op != wire.OpAuth })
}
