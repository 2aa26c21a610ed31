package lock

import (
	"sync"
	"time"
)

// A proof knows since when the session of a client is certain to be alive. A write that succeeds
// does not tell for how long: the leader carries it out without prolonging the session. What
// prolongs it are the reports of the client's server, and a partition between servers delays them.
// But the connection of two servers keeps the order of messages. Before its server passes on the
// reply to a request, it has received the pings that the leader had sent; it answers them, with its
// report, before it forwards the client's next request.
//
// Hence a pair of requests that the leader answers, the second one sent after the reply to the
// first, proves that the session was prolonged at about the time when the first was sent. The first
// is a write or a sync, the second a write. See docs/internals/lease.md.
//
// All locks on a [Session] share its proof. Its methods may be called concurrently.
type proof struct {
	mu       sync.Mutex
	timeout  time.Duration // by which the client pings
	validity time.Duration // of a lease: a third of the session timeout
	session  int64         // to which the times belong
	slow     chan struct{} // see slowOpening; nil unless somebody listens
	trip     time.Duration // how long the last request took, if the link is slow; or 0
	sendTimes
	connection
}

// A connection is the last one on which the client has its session. Its times are zero if they are
// unknown.
type connection struct {
	began  time.Time // before the client asked for its session; zero if that is long ago
	opened time.Time // when it had the answer, after which it pings
}

// The sendTimes are when requests that have succeeded were sent. A time is zero if there was none.
type sendTimes struct {
	asked  time.Time // the last write or sync
	proven time.Time // the first request of the last pair
}

// write sends a write, and notes its success.
func (p *proof) write(client Client, send func() error) error { return p.note(client, true, send) }

// sync sends a sync, and notes its success.
func (p *proof) sync(client Client, path string) error {
	return p.note(client, false, func() error { return syncWith(client, path) })
}

func (p *proof) note(client Client, second bool, send func() error) error {
	session, sentAt := client.SessionID(), time.Now()
	before := p.times(session)
	if err := send(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteTrip(time.Since(sentAt))
	if session == 0 || session != client.SessionID() {
		return nil // It may have been carried out under another session.
	}
	if p.session != session {
		p.session, p.sendTimes = session, sendTimes{}
	}
	p.asked = later(p.asked, sentAt)
	if second {
		p.proven = later(p.proven, before.asked)
	}
	return nil
}

// times returns what is known of a session.
func (p *proof) times(session int64) sendTimes {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session != p.session {
		return sendTimes{}
	}
	return p.sendTimes
}

// provenAt returns when the first request of the last pair was sent, or an earlier time if the
// connection is young. The leader prolongs the session when it is asked for it, and the client does
// not ping before it has the answer. So a pair of a young connection proves no more than that the
// session was prolonged after the connection began.
//
// A lease is valid from then on. The leader may have heard nothing of the session since a young
// connection began. So the lease then ends 7/8 of the timeout after that, because the clock may
// lose a tenth, or later if only a late ping can keep the connection young.
func (p *proof) provenAt(session int64) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session != p.session {
		return time.Time{}
	}
	age := max(p.timeout*7/12, p.proven.Sub(p.opened))
	limit := p.began.Add(age*3/2 - p.validity)
	if p.isYoung() && limit.Before(p.proven) {
		return limit
	}
	return p.proven
}

// isYoung reports whether the connection was young when the first request of the last pair was
// sent. It is for two thirds of the timeout: a third up to the client's first ping, a twelfth by
// which that may be late, and a quarter up to the server's report.
func (p *proof) isYoung() bool { return p.proven.Before(p.opened.Add(p.timeout * 2 / 3)) }

// unstable reports whether a lease could end before it is confirmed by a later pair, because the
// connection took too long to open. The shortest lease is that of a pair 7/12 after the connection
// was opened: 7/8 - 7/12 - the time to open. It must be half as long as any other, and on a slow
// link last for three round trips.
func (p *proof) unstable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isYoung() && p.openedSlowly()
}

// openedSlowly reports whether the last connection took so long to open that a lease could end
// while it is young.
func (p *proof) openedSlowly() bool {
	return p.opened.Sub(p.began) > p.timeout*7/24-max(p.validity/2, 3*p.trip)
}

// settling reports whether a pair that is sent now would still be unstable.
func (p *proof) settling() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.opened.Add(p.timeout*2/3)) && p.openedSlowly()
}

// youngFor returns for how long the connection will still be young, but at most a sixth of the
// timeout, as the client may connect again meanwhile.
func (p *proof) youngFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, min(time.Until(p.opened.Add(p.timeout*2/3)), p.timeout/6))
}

// setTimeout sets the timeout by which the client pings, and bounds leases by it.
func (p *proof) setTimeout(timeout time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timeout, p.validity = timeout, min(p.validity, validity(timeout))
}

// connected notes a connection on which the client has its session.
func (p *proof) connected(one connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connection = one
	if p.slow != nil && p.openedSlowly() {
		close(p.slow)
		p.slow = nil
	}
}

// slowOpening returns a channel that is closed when a connection has taken too long to open.
func (p *proof) slowOpening() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow == nil {
		p.slow = make(chan struct{})
	}
	return p.slow
}

// precede sends a sync, the first request of a pair, unless one was sent recently. On a slow link
// the last write was, so each write of a chain is the second request of one pair and the first of
// the next.
func (p *proof) precede(client Client, path string) error {
	if p.continues(client.SessionID()) {
		return nil
	}
	return p.sync(client, path)
}

// continues reports whether a write that is sent now is the second request of a pair.
func (p *proof) continues(session int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	within := 3 * p.validity / recentPart
	if p.trip > 0 {
		within = p.validity / chainTrips
	}
	return session == p.session && time.Since(p.asked) < within
}

// chainTrips is the number of round trips for which a lease must last in a chain: from when one
// write is sent until the second after it is answered.
const chainTrips = 3

// noteTrip notes how long a request took. The caller holds p.mu.
//
// A link is slow if a lease needs a chain. After the grant a lease lasts for at least a sixth of
// the timeout. On a faster link a holder waits for half of that, and has the time to read two nodes
// and to confirm by a pair in the other half. A chain leaves less time, so it goes on until several
// trips have been twice as fast. A request that takes too long for a chain tells nothing: it may
// have waited for a connection.
func (p *proof) noteTrip(trip time.Duration) {
	if trip > p.validity/chainTrips {
		return
	}
	switch trip = max(trip, p.trip/2); {
	case trip <= 3*p.validity/100:
		p.trip = 0
	case trip > 3*p.validity/50, p.trip > 0:
		p.trip = trip
	}
}

// slowTrip returns how long a round trip takes if the link is slow, or 0.
func (p *proof) slowTrip() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trip
}

// delay returns the delay before the next confirmation of what lasts until the deadline: half of
// the time that is left, but at most the given one, and at least 1/60 of the timeout, from which a
// keeper takes up to a tenth off. Without that
// limit there would be no end of confirmations that do not move the deadline, as on a connection
// that was slow to open.
//
// On a slow link it is half of the time for which a write can still continue the chain, and it and
// the next can be answered before the deadline, and at least 1/600 of the timeout.
func (p *proof) delay(deadline time.Time, most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trip > 0 {
		chained, left := p.validity/chainTrips-time.Since(p.asked), time.Until(deadline)
		return max(min(chained, left-2*p.trip)/2, p.validity/200)
	}
	return max(min(most, time.Until(deadline)/2), p.validity/20)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
