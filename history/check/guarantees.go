package check

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/guarantee"
)

// Package guarantee, which is below this one, decides the guarantees of the service. The rows of
// the table reach it through these monitors. They depend on no queue, and give every event the
// freedom to move: events between processes and their locks do not matter, and no process changes
// the order of what it is told.

// A watchMonitor decides [history.NoLostWatch].
type watchMonitor struct{ guarantee.Watches }

func (m *watchMonitor) reset()                                 { m.Reset() }
func (m *watchMonitor) freedom(*queue, *history.Event) freedom { return anywhere }
func (m *watchMonitor) state(_ *queue, s *State)               { s.key = m.State(s.key, s.text) }

func (m *watchMonitor) copy(from monitor) { m.Copy(&from.(*watchMonitor).Watches) }

func (m *watchMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	return m.Observe(log, i)
}

func (m *watchMonitor) finish([]history.Event) *history.Violation { return m.Finish() }

// A consistencyMonitor decides [history.ZooKeeperConsistency]. It has no state for a search,
// because no lock claims the property.
type consistencyMonitor struct {
	stateless
	guarantee.Consistency
}

func (m *consistencyMonitor) reset() { m.Reset() }

func (m *consistencyMonitor) copy(from monitor) {
	m.Copy(&from.(*consistencyMonitor).Consistency)
}

func (m *consistencyMonitor) freedom(*queue, *history.Event) freedom { return anywhere }

func (m *consistencyMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	return m.Observe(log, i)
}
