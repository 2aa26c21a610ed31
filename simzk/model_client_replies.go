package simzk

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/hash64"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// deliver handles a message from the server.
func (c *Conn) deliver(m message) {
	c.receivedHash = hash64.Mix(c.receivedHash, m.hash())
	c.received(c.cluster.Now())
	if m.reply == nil {
		c.handleEvent(m)
	} else {
		c.handleReply(m)
	}
	if c.pingsStopped && c.phase == connected {
		c.armReadDeadline(c.cluster.Now(), c.cluster.SessionTimeout())
	}
}

// handleReply handles a reply.
func (c *Conn) handleReply(m message) {
	i := slices.IndexFunc(c.inFlight, func(r *call) bool { return &r.request == m.reply })
	r := c.inFlight[i]
	c.inFlight = slices.Delete(c.inFlight, i, i+1)
	// The replies to these carry no zxid.
	if r.Op != wire.OpCreateSession && r.Op != wire.OpAuth {
		c.lastZxid = m.zxid
	}
	switch {
	case r.Op == wire.OpCreateSession:
		c.handshakeDone(r)
		return
	case r.Op == wire.OpCloseSession:
		c.terminate()
	case c.phase == authenticating:
		c.credentialsSent++
		c.sendCredentials()
	case r.Op == wire.OpAuth && r.result.Code == wire.OK:
		c.credentials = append(c.credentials, credential{r.Scheme, r.Data})
	case r.Watch:
		c.addWatcher(r)
	}
	c.completeCall(r)
	if c.rearmTiming == rearmAfterReply && r.Op != wire.OpAuth {
		c.rearmTiming = rearmOnSession
		c.rearm()
	}
}

// completeCall returns the server's reply to the goroutine that waits for it, if any.
func (c *Conn) completeCall(r *call) {
	c.mu.Lock()
	waits := c.removeWaiting(r)
	c.mu.Unlock()
	if waits {
		r.answer, r.err = &r.result, clientError(r.result.Code)
		c.wake(r)
	}
}

// wake unblocks the goroutine that waits for a call.
func (c *Conn) wake(r *call) {
	c.cluster.MarkWoken()
	if stub := c.stub; stub != nil {
		stub.completeCall(r)
		return
	}
	r.done <- struct{}{}
}

// failCalls fails calls with an error. It marks all of them as failed before it wakes the first
// caller, and lets each caller settle before it wakes the next.
func (c *Conn) failCalls(calls []*call, err error) {
	var woken []*call
	c.mu.Lock()
	for _, r := range calls {
		if c.removeWaiting(r) {
			r.answer, r.err = new(tree.Result), err
			woken = append(woken, r)
		}
	}
	c.mu.Unlock()
	for _, r := range calls {
		if r.number != 0 { // The history omits requests that were never sent.
			c.cluster.Record(c.Link, history.Event{
				Kind: history.Reply, Request: r.number, Op: operation.Verb(&r.Request),
				Path: r.Path, Err: err.Error(),
			})
		}
		c.receivedHash = hash64.Mix(c.receivedHash, uint64(r.number))
		if len(woken) > 0 && woken[0] == r {
			woken = woken[1:]
			c.wake(r)
		}
		c.cluster.Settle()
	}
}
