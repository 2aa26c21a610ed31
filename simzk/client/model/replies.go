package model

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// deliver handles a message from the server.
func (c *Conn) deliver(m simzk.Message) {
	c.receivedHash = hash64.Mix(c.receivedHash, m.Hash())
	c.keepalive.Received(c.cluster.Now())
	if m.Reply == nil {
		c.handleEvent(m)
	} else {
		c.handleReply(m)
	}
	if c.keepalive.PingsStopped && c.phase == library.Connected {
		c.keepalive.ArmReadDeadline(c.cluster.Now(), c.cluster.SessionTimeout())
	}
}

// handleReply handles a reply.
func (c *Conn) handleReply(m simzk.Message) {
	i := slices.IndexFunc(c.inFlight, func(r *call) bool { return &r.Exchange == m.Reply })
	r := c.inFlight[i]
	c.inFlight = slices.Delete(c.inFlight, i, i+1)
	// The replies to these carry no zxid.
	if r.Op != wire.OpCreateSession && r.Op != wire.OpAuth {
		c.lastZxid = m.Zxid
	}
	switch {
	case r.Op == wire.OpCreateSession:
		c.handshakeDone(r)
		return
	case r.Op == wire.OpCloseSession:
		c.terminate()
	case c.phase == library.Authenticating:
		c.credentialsSent++
		c.sendCredentials()
	case r.Op == wire.OpAuth && r.Result.Code == wire.OK:
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
		r.answer, r.err = &r.Result, clientError(r.Result.Code)
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
		if r.Number != 0 { // The history omits requests that were never sent.
			c.cluster.Record(c.Link, history.Event{
				Kind: history.Reply, Request: r.Number, Op: operation.Verb(&r.Request),
				Path: r.Path, Err: err.Error(),
			})
		}
		c.receivedHash = hash64.Mix(c.receivedHash, uint64(r.Number))
		if len(woken) > 0 && woken[0] == r {
			woken = woken[1:]
			c.wake(r)
		}
		c.cluster.Settle()
	}
}
