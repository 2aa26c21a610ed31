package lock

import (
	"sync"
	"time"
)

// A proof knows since when the session of a client is certain to be alive. A write that succeeds
// does not tell: the leader carries it out without prolonging the session. What prolongs it are the
// reports of the client's server, and a partition between servers delays them. But the connection
// of two servers keeps the order of messages. Before its server replies to a first write, it has
// received the pings that the leader sent earlier; it answers them, with its report, before it
// forwards a second write that was sent after that reply.
//
// Hence a write counts from when it was sent, once a second one has succeeded: see
// docs/internals/lease.md. A sync serves as a first one, but not as a second, since a deposed
// leader carries it out.
//
// Locks on the same [Session] share a proof. Its methods may be called concurrently.
type proof struct {
	mu       sync.Mutex
	session  int64     // to which the times belong
	answered time.Time // when the last first write was sent; zero if there was none
	proven   time.Time // when the last of those was sent that a second write has followed
}

// write sends a write, and notes what its success proves.
func (p *proof) write(client Client, send func() error) error { return p.note(client, true, send) }

// sync sends a sync, and notes its success as that of a first write.
func (p *proof) sync(client Client, path string) error {
	return p.note(client, false, func() error { return syncWith(client, path) })
}

func (p *proof) note(client Client, second bool, send func() error) error {
	session, sentAt := client.SessionID(), time.Now()
	first, _ := p.times(session)
	err := send()
	if err != nil || session == 0 || session != client.SessionID() {
		return err // It may have been carried out under another session.
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != session {
		p.session, p.answered, p.proven = session, time.Time{}, time.Time{}
	}
	p.answered = later(p.answered, sentAt)
	if second {
		p.proven = later(p.proven, first)
	}
	return nil
}

// times returns the times of a session, which are zero if nothing is known of it.
func (p *proof) times(session int64) (answered, proven time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session != p.session {
		return time.Time{}, time.Time{}
	}
	return p.answered, p.proven
}

// confirm sends a write that succeeds only if the session is alive, after a sync if no first write
// was answered within a part of the timeout. Then a success proves about as much as the timeout
// allows.
func (p *proof) confirm(client Client, path string, timeout time.Duration, send func() error) error {
	if answered, _ := p.times(client.SessionID()); time.Since(answered) >= timeout/recentPart {
		if err := p.sync(client, path); err != nil {
			return err
		}
	}
	return p.write(client, send)
}

// recentPart is the divisor of the session timeout that gives the age at which knowledge is no
// longer recent.
const recentPart = 20

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
