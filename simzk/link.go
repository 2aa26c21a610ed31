package simzk

import (
	"slices"
	"sync/atomic"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Link is a client and its connection to the ensemble: the requests and the messages in transit,
// and the server's state of the connection. Only the cluster's caller may call its methods, except
// Notify.
type Link struct {
	cluster *Cluster
	number  int64 // in order of creation
	process int32 // from 1; 0 if the client is not a process of the run
	end     End
	model   ModelEnd // end, if it is one
	crashed atomic.Bool

	// Of a process with several connections; see [Cluster.AddConnection].
	first      *Link   // nil if this is the first
	further    []*Link // of the first
	connection int32   // from 2; 0 for the first

	linkState

	// Initial backing arrays of the queues, which rarely grow.
	inline struct {
		toServer [2]*Exchange
		toClient [2]Message
	}
}

// A linkState is the mutable part of a link, which only the cluster's caller uses; see [Snapshot].
type linkState struct {
	server int
	state  linkStatus
	// The client pings its server while it is connected. Pings are not steps.
	pings bool
	// Bit i is set if the client cannot reach server i; see [Cluster.BlockClient].
	blocked uint64
	percent int // the client's clock rate; see [Cluster.SetClientClock]
	stall
	slowness

	// The server's state of the connection.
	session *session
	// A reply waits until the server has applied more, and all later requests wait too.
	replyDelayed bool
	identities   []wire.Identity
	watches      watchList

	toServer    []*Exchange
	toClient    []Message
	lastRequest int32
	postedHash  uint64 // hash of all messages from the server
}

// addLink initializes l as a link to a server. The address is the client's.
func (c *Cluster) addLink(l *Link, process int32, server int, address string) *Link {
	c.lastLink++
	l.cluster, l.number, l.process, l.server, l.identities = c, c.lastLink, process, server,
		loopback
	if address != loopback[0].ID {
		l.identities = []wire.Identity{{Scheme: "ip", ID: address}}
	}
	l.toServer, l.toClient = l.inline.toServer[:0], l.inline.toClient[:0]
	c.links = append(c.links, l)
	return l
}

// loopback is the identity of every simulated client. It must not be modified.
var loopback = []wire.Identity{{Scheme: "ip", ID: "127.0.0.1"}}

// End returns the client's end of the link.
func (l *Link) End() End { return l.end }

// ServerIndex returns the index of the client's current or last server.
func (l *Link) ServerIndex() int { return l.server }

// Process returns the number of the client's process.
func (l *Link) Process() int { return int(l.process) }

// Connected reports whether the client has a connection, with a session or during the handshake.
func (l *Link) Connected() bool { return l.end.Connected() && !l.crashed.Load() }

// Down reports whether the link is cut or stalled until [Cluster.Heal], or the answer to a
// handshake waits for that.
func (l *Link) Down() bool {
	return (l.state == down || l.stalled() || l.Opening()) && !l.crashed.Load()
}

// Isolated reports whether the client is cut off until its session has expired.
func (l *Link) Isolated() bool { return l.state == isolated && !l.crashed.Load() }

// MayTimeOut reports whether the client will close its connection unless it receives a message in
// time. Pings usually prevent that, but not while messages are stalled, nor before the client has
// its session.
func (l *Link) MayTimeOut() bool {
	_, waits := l.end.Deadline()
	return waits && l.Connected()
}

// Crashed reports whether the client's process has crashed. Any goroutine may call it.
func (l *Link) Crashed() bool { return l.crashed.Load() }

// HasSession reports whether the session that the client believes it has is alive.
func (l *Link) HasSession() bool {
	return l.cluster.sessionLives(l.end.KnownSession()) && !l.crashed.Load()
}

// Unserved returns the number of requests that are sent and not yet served.
func (l *Link) Unserved() int { return len(l.toServer) }

// Undelivered returns the number of messages from the server that are not yet delivered.
func (l *Link) Undelivered() int { return len(l.toClient) }

// Servable returns the age of the oldest request that can be served, or false if there is none.
func (l *Link) Servable() (age uint64, ok bool) {
	if len(l.toServer) == 0 || l.replyDelayed || l.stallRequests || l.held ||
		l.toServer[0].arrives > l.cluster.now ||
		!l.cluster.canHandle(l.server, l.session,
			l.toServer[0]) {
		return 0, false
	}
	return l.toServer[0].age, true
}

// Syncs reports whether the oldest request that is not served yet is a sync, at the only server.
func (l *Link) Syncs() bool {
	return len(l.toServer) > 0 && l.toServer[0].Op == wire.OpSync && len(l.cluster.servers) == 1
}

// Deliverable returns the age of the oldest message that can be delivered, or false if there is
// none.
func (l *Link) Deliverable() (age uint64, ok bool) {
	if len(l.toClient) == 0 || l.stallReplies || l.paused || l.opening ||
		l.toClient[0].arrives > l.cluster.now {
		return 0, false
	}
	return l.toClient[0].age, true
}

// Attached reports whether the client's server associates the connection with a session.
func (l *Link) Attached() bool { return l.session != nil }

// Ended reports whether the client's server associates the connection with a session that has
// ended.
func (l *Link) Ended() bool { return l.session != nil && !l.cluster.sessionLives(l.session.id) }

// WillHaveSession reports whether the client's connection has a live session, or will get one from
// the server in its present state.
func (l *Link) WillHaveSession() bool {
	return l.session != nil && !l.Ended() || l.handshakeNext() && (l.toServer[0].Session == 0 ||
		l.cluster.sessionLives(l.toServer[0].Session))
}

// handshakeNext reports whether the client's next request is a handshake that the server will
// accept.
func (l *Link) handshakeNext() bool {
	if len(l.toServer) == 0 {
		return false
	}
	r := l.toServer[0]
	return r.Op == wire.OpCreateSession && !r.reopens && r.LastZxid <= l.cluster.zxidOf(l.server)
}

// AwaitsApply reports whether the client's server will send no further reply before it has applied
// every present proposal. That holds if the reply to the first open request depends on a
// transaction or a sync.
func (l *Link) AwaitsApply() bool {
	return l.replyDelayed || len(l.toServer) > 0 && l.cluster.mustAwaitApply(l, l.toServer[0]) ||
		l.handshakeNext() && !l.cluster.HasLocalSessions() &&
			l.toServer[0].Session == 0
}

// Delayed reports whether the reply to a request that the client's server has handled waits until
// the server has applied more.
func (l *Link) Delayed() bool { return l.replyDelayed }

// EventNext reports whether the client's next message is a watch event.
func (l *Link) EventNext() bool { return len(l.toClient) > 0 && l.toClient[0].Event != 0 }

// Pending returns the process's oldest request in flight, or nil. It is valid until the next step.
func (l *Link) Pending() *wire.Request { return l.end.Pending() }

// OwnsNodes reports whether a live session of the client has ephemeral nodes.
func (l *Link) OwnsNodes() bool {
	for _, s := range l.cluster.sessions {
		if s.owner.host() == l && l.cluster.tree.OwnsNodes(s.id) {
			return true
		}
	}
	return false
}

// TearDown destroys the client at the end of a run. Every goroutine that waits for the client
// exits, and so does every goroutine that calls it later.
func (l *Link) TearDown() {
	l.each((*Link).empty)
	l.end.TearDown()
}

// ShutDown closes the client at the end of a run, after all calls of the process have returned.
// Present and later calls to the client return zk.ErrConnectionClosed, so that a goroutine of the
// process can find out that it should exit.
func (l *Link) ShutDown() {
	l.each((*Link).empty)
	l.end.ShutDown()
}

// empty drops all messages in transit.
func (l *Link) empty() { l.toServer, l.toClient = nil, nil }

// Notify makes [Cluster.Activity] receive a value, for a process that acts other than by calling
// the client. Any goroutine may call it.
func (l *Link) Notify() {
	if len(l.cluster.activity) > 0 {
		return
	}
	select {
	case l.cluster.activity <- struct{}{}:
	default:
	}
}

// transmit sends a request to the server.
func (l *Link) transmit(r *Exchange) {
	r.age, r.arrives = l.cluster.NextAge(), l.cluster.now+l.requestLatency
	l.toServer = append(l.toServer, r)
}

// post sends a message to the client.
func (l *Link) post(m Message) {
	if l.crashed.Load() {
		return
	}
	m.age, m.arrives = l.cluster.NextAge(), l.cluster.now+l.replyLatency
	l.toClient = append(l.toClient, m)
	l.postedHash = mix(l.postedHash, m.Hash())
	if posted := l.cluster.config.Posted; posted != nil && len(l.toClient) == 1 {
		posted(l)
	}
}

// authenticate adds an identity to the connection.
func (l *Link) authenticate(id wire.Identity) {
	if !slices.Contains(l.identities, id) {
		l.identities = append(slices.Clip(l.identities), id)
	}
}

// sessionEnded updates the link when a session of its client ends. The client does not notice.
func (l *Link) sessionEnded(s *session) {
	switch first := l.host(); {
	case l.state != isolated:
	case len(first.further) > 0:
		if !first.hasLiveSession() {
			first.each(func(l *Link) { l.state = up })
		}
	case l.end.KnownSession() == s.id:
		l.state = up
	}
}

func (l *Link) key() uint64 {
	key := fold(l.end.Key(), l.postedHash)
	key = fold(key, uint64(len(l.toServer))<<32|uint64(len(l.toClient))<<8|uint64(l.state))
	if l.stall != (stall{}) || l.percent != 0 {
		key = fold(key, l.stall.key(l.cluster.now)<<8|uint64(l.percent))
	}
	if l.slowness != (slowness{}) {
		key = l.slownessKey(key)
	}
	if l.blocked != 0 {
		key = mix(key, l.blocked)
	}
	// The zxid from which a client asks for missed events: the only effect of these numbers.
	for _, r := range l.toServer {
		if r.Watches != nil {
			key = fold(key, uint64(r.Watches.RelativeZxid))
		}
	}
	for i := range l.toClient {
		key = fold(key, uint64(l.toClient[i].Zxid))
	}
	if len(l.identities) > 1 {
		for _, id := range l.identities {
			key = fold(key, uint64(len(id.ID)))
		}
	}
	return key
}
