package lock

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// noteQuiet notes the time if all events before it are handled.
func (s *Session) noteQuiet(events <-chan zk.Event) {
	if now := time.Now(); len(events) == 0 {
		s.quiet = now
	}
}

// readAt returns the time, or zero while events are read that may be older than the session.
func (s *Session) readAt() time.Time {
	if s.quiet.IsZero() {
		return time.Time{}
	}
	return time.Now()
}

// noteConnection notes when a connection began, and when the client had its session on it. If the
// event of the beginning was dropped, an earlier one errs on the safe side. The caller holds s.mu.
func (s *Session) noteConnection(e zk.Event, at time.Time) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateDisconnected, zk.StateExpired, zk.StateConnecting, zk.StateConnected:
		s.dialed, s.opening = at, true
	case zk.StateHasSession:
		s.noteOpened()
		s.opening = false
	}
}

// noteOpened makes the last connection one that has just opened. The caller holds s.mu.
func (s *Session) noteOpened() {
	s.proof.connected(connection{began: s.dialed, opened: time.Now()})
}

// resync recovers the status when events may be missing.
func (s *Session) resync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	s.suspend()
	s.dialed, s.opening = s.quiet, true
	if s.Client.State() == zk.StateHasSession {
		s.noteOpened()
		s.opening = false
		s.updateID(s.Client.SessionID())
	}
}
