package simzk

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Link is a client and its way to the ensemble: the requests that are under way to the server,
// the replies and events that are under way to the client, and what the server knows of the
// connection. Its methods must be called by the cluster's caller alone, except Notify.
type Link struct {
	cluster            *Cluster
	number             int64 // in the order in which links were made
	process            int32 // from 1; 0 of a client that is none of a run's processes
	end                clientEnd
	crashed            atomic.Bool
	guidCount          atomic.Uint64
	callsAfterShutDown atomic.Int32 // calls since [Link.ShutDown]

	linkState

	// The slices of the state begin here, and mostly need no more.
	inline struct {
		toServer [2]*request
		toClient [2]message
	}
}

// A linkState is all of a link that changes in a run, and that the cluster's caller alone uses; see
// [Snapshot].
type linkState struct {
	server int
	state  linkStatus
	// the client keeps its session alive while it is connected, by pings that are no steps
	pings   bool
	blocked uint64 // the servers that it cannot reach, one bit for each; see [Cluster.BlockClient]
	percent int    // at which its clock goes; see [Cluster.SetClientClock]
	stall          // what keeps the client, or its messages, from going on

	// What the server knows of the connection.
	session *session
	// an answer waits for the server to apply more, and all requests behind it wait too
	replyDelayed bool
	identities   []wire.Identity
	watches      watchList

	toServer    []*request
	toClient    []message
	lastRequest int32
	postedHash  uint64    // hash of all that the server has sent
	heldEvents  []message // events that sabotage keeps back
}

// A clientEnd is the client's end of a link.
type clientEnd interface {
	// collect puts what the process has asked for since the last call on its way.
	collect()
	// deliver hands the client what the server has sent.
	deliver(message)
	// broken tells the client that its connection is no more.
	disconnected()
	// connected tells whether there is a connection, with a session or on the way to one.
	connected() bool
	// believes returns the session that the client believes to have, 0 if none.
	knownSession() int64
	// pending returns the oldest request that has been sent and not been answered, or nil.
	pending() *wire.Request
	// deadline returns when the client will do something by itself, and false if it will not.
	deadline() (time.Duration, bool)
	// advance does what was due by now.
	advance()
	// unanswered tells the client that its pings are not answered any more.
	pingsStalled()
	// answered tells it that they are again.
	pingsResumed()
	// key returns 64 bits over all that decides what the client will do.
	key() uint64
	// tearDown ends the client at the end of a run.
	tearDown()
	// shutDown closes it at the end of a run.
	shutDown()
}

// addLink makes l a link to a server. The address is the client's.
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

// loopback is the identity of every simulated client. It must not be changed.
var loopback = []wire.Identity{{Scheme: "ip", ID: "127.0.0.1"}}

// ServerIndex returns the server, counted from 0, to which the client is connected, or was last.
func (l *Link) ServerIndex() int { return l.server }

// Process returns the number of the client's process.
func (l *Link) Process() int { return int(l.process) }

// Connected tells whether the client has a connection to a server, with a session or on the way to
// one.
func (l *Link) Connected() bool { return l.end.connected() && !l.crashed.Load() }

// Down tells whether the link is cut, or messages are held, and waits for [Cluster.Heal].
func (l *Link) Down() bool { return (l.state == down || l.stalled()) && !l.crashed.Load() }

// Isolated tells whether the client is cut off until its session has expired.
func (l *Link) Isolated() bool { return l.state == isolated && !l.crashed.Load() }

// Impatient tells whether the client will give its connection up unless it hears of the server in
// time. As a rule its pings see to that; not while messages are held, nor before it has its
// session.
func (l *Link) Impatient() bool {
	_, waits := l.end.deadline()
	return waits && l.Connected()
}

// Crashed tells whether the client's process has crashed. It may be called by any goroutine.
func (l *Link) Crashed() bool { return l.crashed.Load() }

// HasSession tells whether the client has a session that it knows and that lives.
func (l *Link) HasSession() bool {
	return l.cluster.sessionLives(l.end.knownSession()) && !l.crashed.Load()
}

// Unserved returns how many requests have been sent and not yet served.
func (l *Link) Unserved() int { return len(l.toServer) }

// Undelivered returns how many messages from the server have not yet reached the client.
func (l *Link) Undelivered() int { return len(l.toClient) }

// Servable returns the age of the oldest request that waits to be served, or false if there is
// none.
func (l *Link) Servable() (age uint64, ok bool) {
	if len(l.toServer) == 0 || l.replyDelayed || l.stallRequests || !l.cluster.canHandle(l.server, l.session,
		l.toServer[0]) {
		return 0, false
	}
	return l.toServer[0].age, true
}

// Deliverable returns the age of the oldest message that waits to be delivered, or false if there
// is none.
func (l *Link) Deliverable() (age uint64, ok bool) {
	if len(l.toClient) == 0 || l.stallReplies || l.paused {
		return 0, false
	}
	return l.toClient[0].age, true
}

// Attached tells whether the client's server knows it with its session.
func (l *Link) Attached() bool { return l.session != nil }

// Ended tells whether the client's server knows it with a session that has ended.
func (l *Link) Ended() bool { return l.session != nil && !l.cluster.sessionLives(l.session.id) }

// Stays tells whether the client's connection has a session that lives, or will get one from the
// server as that is now.
func (l *Link) Stays() bool {
	return l.session != nil && !l.Ended() || l.handshakeNext() && (l.toServer[0].session == 0 ||
		l.cluster.sessionLives(l.toServer[0].session))
}

// handshakeNext tells whether the next request of the client is a handshake that the server will not
// turn down.
func (l *Link) handshakeNext() bool {
	if len(l.toServer) == 0 {
		return false
	}
	r := l.toServer[0]
	return r.Op == wire.OpCreateSession && !r.reopens && r.lastZxid <= l.cluster.zxidOf(l.server)
}

// Waits tells whether the client's server will answer nothing that the client asks for before it
// has applied all that is proposed by now. That is so if its first request that is not answered is
// one whose answer tells of a transaction, or of a sync.
func (l *Link) Waits() bool {
	return l.replyDelayed || len(l.toServer) > 0 && l.cluster.mustAwaitApply(l, l.toServer[0]) ||
		l.handshakeNext() &&
			l.toServer[0].session == 0
}

// Delayed reports whether the answer to a request that the client's server has handled waits until
// the server has applied more.
func (l *Link) Delayed() bool { return l.replyDelayed }

// EventNext tells whether the message that the client gets next is a watch event.
func (l *Link) EventNext() bool { return len(l.toClient) > 0 && l.toClient[0].event != 0 }

// Pending returns the oldest request of the process that has been sent and not been answered, or
// nil. It is good until the next step.
func (l *Link) Pending() *wire.Request { return l.end.pending() }

// OwnsNodes tells whether a session of the client lives that has ephemeral nodes.
func (l *Link) OwnsNodes() bool {
	for _, s := range l.cluster.sessions {
		if s.owner == l && l.cluster.tree.OwnsNodes(s.id) {
			return true
		}
	}
	return false
}

// TearDown ends the client at the end of a run: every goroutine that waits for it, and every one
// that asks it for something later, ends.
func (l *Link) TearDown() {
	l.toServer, l.toClient = nil, nil
	l.end.tearDown()
}

// ShutDown closes the client at the end of a run, of a process whose calls have all returned. Calls
// to the client return zk.ErrConnectionClosed, those under way and all later ones, so that a
// goroutine of the process can find out that it is no longer needed. A goroutine that calls the
// client again and again blocks for good after overdueMax calls.
func (l *Link) ShutDown() {
	l.toServer, l.toClient = nil, nil
	l.end.shutDown()
}

// overdueMax is the number of calls that a process may make after [Link.ShutDown]. A loop without a
// pause would otherwise keep virtual time from passing.
const maxCallsAfterShutDown = 1000

// countCallAfterShutDown counts a call after [Link.ShutDown].
func (l *Link) countCallAfterShutDown() {
	if l.callsAfterShutDown.Add(1) > maxCallsAfterShutDown {
		select {}
	}
}

// Notify makes [Cluster.Activity] receive, for a process that does something by itself other than
// calling the client. It may be called by any goroutine.
func (l *Link) Notify() {
	if len(l.cluster.activity) > 0 {
		return
	}
	select {
	case l.cluster.activity <- struct{}{}:
	default:
	}
}

// nextGUID returns what the client's next protected node is to be known by. It may be called by any
// goroutine.
func (l *Link) nextGUID() []byte {
	half := mix(uint64(l.process), l.guidCount.Add(1))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, half), mix(half, half))
}

// transmit puts a request on its way to the server.
func (l *Link) transmit(r *request) {
	r.age = l.cluster.NextAge()
	l.toServer = append(l.toServer, r)
}

// post puts a message on its way to the client.
func (l *Link) post(m message) {
	if l.crashed.Load() {
		return
	}
	m.age = l.cluster.NextAge()
	l.toClient = append(l.toClient, m)
	l.postedHash = mix(l.postedHash, m.hash())
	if posted := l.cluster.config.Posted; posted != nil && len(l.toClient) == 1 {
		posted(l)
	}
}

// authenticate adds an identity to those of the connection.
func (l *Link) authenticate(id wire.Identity) {
	if !slices.Contains(l.identities, id) {
		l.identities = append(slices.Clip(l.identities), id)
	}
}

// sessionEnded is what changes for the client's link, not what the client notices, when its session
// ends.
func (l *Link) sessionEnded(s *session) {
	if l.state == isolated && l.end.knownSession() == s.id {
		l.state = up
	}
}

func (l *Link) key() uint64 {
	key := fold(l.end.key(), l.postedHash)
	key = fold(key, uint64(len(l.toServer))<<32|uint64(len(l.toClient))<<8|uint64(l.state))
	if l.stall != (stall{}) || l.percent != 0 {
		key = fold(key, l.stall.key(l.cluster.now)<<8|uint64(l.percent))
	}
	if l.blocked != 0 {
		key = mix(key, l.blocked)
	}
	// From which transaction on a client asks what it has missed, which is all that these numbers
	// decide.
	for _, r := range l.toServer {
		if r.Watches != nil {
			key = fold(key, uint64(r.Watches.RelativeZxid))
		}
	}
	for i := range l.toClient {
		key = fold(key, uint64(l.toClient[i].zxid))
	}
	if len(l.identities) > 1 {
		for _, id := range l.identities {
			key = fold(key, uint64(len(id.ID)))
		}
	}
	return key
}
