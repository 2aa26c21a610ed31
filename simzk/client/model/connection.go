package model

import (
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// disconnected handles the loss of the connection: every call in flight has an unknown outcome.
func (c *Conn) disconnected() {
	if !c.connected() {
		return
	}
	c.collectAtDisconnect()
	c.keepalive.ReadDeadline, c.keepalive.PingsStopped = 0, false
	if c.rearmTiming == rearmAfterReply {
		c.rearmTiming = rearmOnSession
	}
	if c.closing {
		c.terminate()
		return
	}
	// The cause may be no step of the process itself, and the process may read the clock.
	c.receivedHash = hash64.Mix(c.receivedHash, uint64(c.cluster.Now()))
	c.setState(zk.StateDisconnected, "disconnected")
	inFlight := c.inFlight
	c.inFlight = nil
	c.failCalls(inFlight, zk.ErrConnectionClosed)
	c.redial()
}

// collectAtDisconnect takes the requests submitted before the connection broke. The client has
// written them to the connection, or queued them for the next one.
func (c *Conn) collectAtDisconnect() {
	for _, r := range c.takeSubmitted() {
		c.closing = c.closing || r.Op == wire.OpCloseSession
		if c.phase == library.Connected {
			c.inFlight = append(c.inFlight, r)
		} else {
			c.unsent = append(c.unsent, r)
		}
	}
}

// redial turns to the next server on the client's list. Once it has tried all of them (with a
// single server, always), it fails the unsent calls and pauses.
func (c *Conn) redial() {
	c.phase = library.Dialing
	for {
		c.host = (c.host + 1) % c.cluster.Servers()
		c.setState(zk.StateConnecting, "connecting")
		if c.host == c.lastHost {
			c.dialAt = c.cluster.Now() + library.ReconnectDelay
			unsent := c.unsent
			c.unsent = nil
			c.failCalls(unsent, zk.ErrNoServer)
			if c.closing {
				c.terminate()
			}
			return
		}
		if c.dial() {
			return
		}
	}
}

// dial tries to connect to the current server, and reports whether it succeeded.
func (c *Conn) dial() bool {
	if !c.cluster.Dial(c.Link, c.host) {
		// An attempt takes time. Calls that the process makes meanwhile join the unsent ones.
		c.sendSubmitted()
		return false
	}
	c.phase, c.keepalive.ReadDeadline = library.Connecting, c.cluster.Now()+
		library.HandshakeTimeout(c.cluster.SessionTimeout())
	c.setState(zk.StateConnected, "connected")
	c.send(&call{Exchange: simzk.Exchange{
		Request: wire.Request{Op: wire.OpCreateSession}, Session: c.SessionID(),
		LastZxid: c.lastZxid, Timeout: c.cluster.SessionTimeout(),
	}})
	return true
}

// handshakeDone handles the server's reply to the handshake.
func (c *Conn) handshakeDone(r *call) {
	if r.Session == 0 {
		c.setSession(0)
		c.lastZxid = 0
		c.setState(zk.StateExpired, "expired")
		c.invalidateWatches(zk.ErrSessionExpired)
		if c.closing {
			c.terminate()
			return
		}
		c.setState(zk.StateDisconnected, "disconnected")
		c.redial()
		return
	}
	c.lastHost = c.host
	c.setSession(r.Session)
	c.setState(zk.StateHasSession, "has-session")
	c.rearm()
	c.credentialsSent = 0
	c.sendCredentials()
}

// sendCredentials sends the next credential that this connection lacks. After the last one, or at
// once if the client is closing, it sends all unsent calls. The client does not ping before that,
// so a slow server loses it.
func (c *Conn) sendCredentials() {
	if c.credentialsSent < len(c.credentials) && !c.closed.Load() {
		c.phase = library.Authenticating
		c.keepalive.ArmReadDeadline(c.cluster.Now(), c.cluster.SessionTimeout())
		next := &c.credentials[c.credentialsSent]
		c.transmit(&call{Exchange: simzk.Exchange{Request: wire.Request{
			Op: wire.OpAuth, Scheme: next.scheme,
			Data: next.data,
		}}})
		return
	}
	c.phase = library.Connected
	c.keepalive.StartPings(c.cluster.Now(), c.cluster.SessionTimeout(), c.RoundTrip())
	c.cluster.BeginPings(c.Link)
	unsent := c.unsent
	c.unsent = nil
	for _, r := range unsent {
		c.transmit(r)
	}
}

func (c *Conn) setState(state zk.State, name string) {
	c.status.Store(int32(state))
	if stub := c.stub; stub != nil {
		stub.addInput(Input{Kind: StateSet, State: state})
	}
	c.cluster.Record(c.Link, history.Event{
		Kind: history.SessionState, Name: name, Session: c.SessionID(),
	})
	if c.stateRead.Load() {
		c.cluster.MarkWoken() // Code may read the state when it wakes for another reason.
	}
	c.receivedHash = hash64.Mix(c.receivedHash, uint64(state))
	c.emit(zk.Event{Type: zk.EventSession, State: state, Server: library.HostName(c.host)})
	c.cluster.Settle()
}

func (c *Conn) setSession(id int64) {
	c.sessionID.Store(id)
	if stub := c.stub; stub != nil {
		stub.addInput(Input{Kind: SessionSet, Session: id})
	}
}

// emit sends an event to the client's event channel, or drops it if the channel is full.
func (c *Conn) emit(event zk.Event) {
	if stub := c.stub; stub != nil {
		stub.addInput(Input{Kind: Emitted, Event: event})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == nil || c.eventsClosed {
		return
	}
	c.cluster.MarkWoken()
	select {
	case c.events <- event:
	default:
	}
}

// closeEvents closes the event channel.
func (c *Conn) closeEvents() {
	if stub := c.stub; stub != nil {
		stub.addInput(Input{Kind: EventsEnded})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events != nil && !c.eventsClosed {
		c.cluster.MarkWoken()
		close(c.events)
	}
	c.eventsClosed = true
}
