package tcp

import (
	"errors"
	"fmt"
	"time"
)

// A replication is how a member applies the transactions that the ensemble commits.
type replication struct {
	lag time.Duration
	// When the transactions that the member has not applied were committed, the oldest first.
	committed []time.Time
}

// Lag makes the member apply each transaction that much later than the leader commits it, so that
// its clients read stale data and get watch events late. It has no effect on a leader.
func (s *Server) Lag(server int, lag time.Duration) error {
	if lag < 0 {
		return fmt.Errorf("a lag must not be negative, as %v is", lag)
	}
	return s.change(server, func(m *member) error {
		if err := s.needsReplicas(); err != nil {
			return err
		}
		m.replication.lag = lag
		return nil
	})
}

// errNoReplicas is the error of faults that need members with data of their own.
var errNoReplicas = errors.New("the servers share their data: the fault needs an ensemble of " +
	"servers with a log of their own")

// needsReplicas returns an error unless the members have logs of their own.
func (s *Server) needsReplicas() error {
	if !s.replicates() {
		return errNoReplicas
	}
	return nil
}

// replicates reports whether the members have logs of their own.
func (s *Server) replicates() bool { return s.config.Cluster.Lag }

// replicate lets the members log what the leader proposes, and apply what is due. It reports
// whether there was anything. The caller holds the lock.
func (s *Server) replicate() (progress bool) {
	if !s.config.Cluster.Lag {
		return false
	}
	for i := range s.members {
		for _, ok := s.cluster.Loggable(i); ok; _, ok = s.cluster.Loggable(i) {
			s.cluster.Log(i)
			progress = true
		}
	}
	for i, m := range s.members {
		m.noteCommitted()
		for m.mayApply() {
			s.cluster.Apply(i)
			m.noteCommitted()
			progress = true
		}
	}
	return progress
}

// noteCommitted notes when the transactions were committed that the member has not applied.
func (m *member) noteCommitted() {
	r := &m.replication
	unapplied := m.server.cluster.Unapplied(m.index)
	if surplus := len(r.committed) - unapplied; surplus > 0 {
		r.committed = r.committed[surplus:]
	}
	for len(r.committed) < unapplied {
		r.committed = append(r.committed, time.Now())
	}
}

// mayApply reports whether the member can apply a transaction now.
func (m *member) mayApply() bool {
	due, waits := m.nextApply()
	return waits && time.Until(due) <= 0
}

// nextApply returns when the member applies its next transaction, and false if there is none.
func (m *member) nextApply() (due time.Time, waits bool) {
	if _, ok := m.server.cluster.Applicable(m.index); !ok || len(m.replication.committed) == 0 {
		return time.Time{}, false
	}
	return m.replication.committed[0].Add(m.replication.lag), true
}

// serveWaiting serves the requests that have waited for transactions. The caller holds the lock.
func (s *Server) serveWaiting() {
	for _, l := range s.cluster.Links() {
		s.serve(l)
	}
	s.unblocked.Broadcast()
}
