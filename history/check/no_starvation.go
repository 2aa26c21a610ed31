package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

const reasonStarved = "a process that had queued was overtaken more often than the lock allows"

// A queuePlace is the place in the queue of a process that waits.
type queuePlace struct {
	process int32
	queued  int    // the index of the event from which overtakes count, 0 if they do not yet
	node    string // the node by which the process has queued
	// the process has created a node in this attempt, and its connection has kept its state since
	made        bool
	lateCreates int  // the number of nodes that earlier attempts may still create
	cancelled   bool // the process has cancelled the attempt, and need not get the lock
	shared      bool // the mode of the attempt
	overtaken   int  // the number of overtakes
}

// withoutNode returns the place of the process after the loss of its node.
func (p *queuePlace) withoutNode() queuePlace {
	return queuePlace{
		process: p.process, made: p.made, lateCreates: p.lateCreates,
		cancelled: p.cancelled, shared: p.shared,
	}
}

// NoStarvation decides [history.NoStarvation]: in the fair phase no queued process is overtaken
// more than Limits.Overtakings times before it is granted the lock.
//
// An event of the property is a grant after the FairPhase event. It overtakes each process that had
// queued before the LockCall of the grant, if the grant is out of turn: as many contenders as the
// lock has places ([history.Limits].Places) had queued before and still wait or hold the lock. A
// shared grant overtakes no process that waits in shared mode. A process queues when it creates an
// ephemeral node while it waits for the lock, except that a node which an earlier attempt may still
// create does not count.
//   - The process must queue again when the state of its connection changes, when its session ends,
//     when it forfeits its place (Forfeited), or when its node is deleted before the FairPhase
//     event. From that event on it keeps its place even if its node is deleted.
//   - Its place ends when its call returns, when it cancels the attempt, and when it crashes.
//
// The property does not cover grants before the FairPhase event, when the schedule may be unfair.
//
// The check takes time linear in the events, times the number of processes that wait.
func NoStarvation(events []history.Event, limits history.Limits) *history.Violation {
	return decide(history.NoStarvation, &starvationMonitor{limits: &limits}, events)
}

type starvationMonitor struct {
	limits *history.Limits
	places []queuePlace
	fair   bool
}

func (m *starvationMonitor) reset() { m.places, m.fair = m.places[:0], false }

func (m *starvationMonitor) copy(from monitor) {
	other := from.(*starvationMonitor)
	m.places, m.fair = append(m.places[:0], other.places...), other.fair
}

func (m *starvationMonitor) finish([]history.Event) *history.Violation { return nil }

// state does not fold in the indexes since which places count. Before the FairPhase event no
// overtake counts, and after it only grants of attempts that begin later.
func (m *starvationMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.places {
		p := &m.places[i]
		if s.ended(p.process) {
			continue
		}
		flags := bit(p.queued != 0, 0) | bit(p.made, 1) | bit(p.cancelled,
			2) | bit(p.shared, 3) | uint64(p.lateCreates)<<4
		sum += fold(fold(uint64(p.process), flags), s.text(p.node))
	}
	s.fold(sum, bit(m.fair, 0))
}

// freedom: no process is overtaken before the FairPhase event, and a place depends only on events
// of its process.
func (m *starvationMonitor) freedom(*queue, *history.Event) freedom { return anywhere }

func (m *starvationMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	p := findPlace(m.places, e.Process)
	switch e.Kind {
	case history.FairPhase:
		m.fair = true
		for p := range m.places {
			if m.places[p].queued != 0 {
				m.places[p].queued = i
			}
		}
	case history.LockCall:
		late := 0
		if p >= 0 {
			late = m.places[p].lateCreates
		}
		m.places = append(withoutPlace(m.places, e.Process), queuePlace{
			process:     e.Process,
			lateCreates: late,
			shared:      e.Shared(),
		})
	case history.NodeCreated:
		if p >= 0 && e.Session != 0 {
			m.places[p].queue(e, i)
		}
	case history.NodeDeleted:
		if p >= 0 && m.places[p].node == e.Path && !m.fair {
			m.places[p] = m.places[p].withoutNode()
		}
	// A pause from before the FairPhase event can end the session after it.
	case history.SessionExpired, history.SessionClosed, history.Forfeited:
		if p >= 0 {
			m.places[p] = m.places[p].withoutNode()
		}
	case history.SessionState:
		if p >= 0 {
			m.places[p] = queuePlace{
				process: e.Process, lateCreates: m.places[p].lateCreates,
				cancelled: m.places[p].cancelled, shared: m.places[p].shared,
			}
		}
	case history.Fault:
		if p >= 0 && e.Name == cancelName {
			m.places[p].cancelled = true
			m.places[p] = m.places[p].withoutNode()
		}
	case history.Crashed:
		m.places = withoutPlace(m.places, e.Process)
	case history.LockReturn:
		return m.returned(q, e, i)
	}
	return nil
}

// returned records the end of an attempt.
func (m *starvationMonitor) returned(q *queue, e *history.Event, i int) *history.Violation {
	p := overtake(m.places, q, e, m.limits)
	if p != nil && m.fair && p.overtaken > m.limits.Overtakings {
		return &history.Violation{
			Property: history.NoStarvation, Event: i, Reason: reasonStarved,
			Detail: fmt.Sprintf("c%d, which has waited since event %d, was overtaken %d times, "+
				"now by c%d",
				p.process, p.queued, p.overtaken, e.Process),
			Evidence: history.Evidence{
				Process: p.process, Other: e.Process, Events: []int{p.queued}, Count: p.overtaken,
				Limit: int64(m.limits.Overtakings),
			},
		}
	}
	if !m.fair {
		for p := range m.places {
			m.places[p].overtaken = 0
		}
	}
	m.places = withoutReturned(m.places, e)
	return nil
}

// queue records a node that the process has created.
func (p *queuePlace) queue(e *history.Event, index int) {
	switch {
	case p.lateCreates > 0:
		p.lateCreates--
		return
	case p.queued == 0 && !p.cancelled:
		p.queued, p.node = index, e.Path
	}
	p.made = true
}

// withoutReturned returns the places without that of a process whose call has returned. If a node
// that the process has requested may still be created, it leaves a place that expects the node.
func withoutReturned(places []queuePlace, e *history.Event) []queuePlace {
	if p := findPlace(places, e.Process); p >= 0 && e.Err != "" && !places[p].made {
		places[p] = queuePlace{process: e.Process, lateCreates: places[p].lateCreates + 1}
		return places
	}
	return withoutPlace(places, e.Process)
}

// overtake counts a grant against all processes that it overtakes, and returns the place that was
// overtaken most often, or nil.
func overtake(places []queuePlace, q *queue, e *history.Event,
	limits *history.Limits,
) *queuePlace {
	o := q.OpenAttempt(e.Process)
	if e.Err != "" || o < 0 || limits.Places > 1 &&
		contendersBefore(places, q, q.Open[o].Call) < limits.Places {
		return nil
	}
	var most *queuePlace
	for p := range places {
		if places[p].queued != 0 && places[p].queued < q.Open[o].Call &&
			!(places[p].shared && e.Shared()) {
			places[p].overtaken++
			if most == nil || places[p].overtaken > most.overtaken {
				most = &places[p]
			}
		}
	}
	return most
}

// contendersBefore returns the number of processes that had queued before a LockCall, and that wait
// or hold the lock.
func contendersBefore(places []queuePlace, q *queue, call int) (before int) {
	for p := range places {
		before += int(bit(places[p].queued != 0 && places[p].queued < call, 0))
	}
	for n := range q.Nodes {
		m := &q.Nodes[n]
		before += int(bit(m.Holder != 0 && m.Deleted == 0 && m.Created < call, 0))
	}
	return before
}

func findPlace(places []queuePlace, process int32) int {
	for p := range places {
		if places[p].process == process {
			return p
		}
	}
	return -1
}

func withoutPlace(places []queuePlace, process int32) []queuePlace {
	if p := findPlace(places, process); p >= 0 {
		return append(places[:p], places[p+1:]...)
	}
	return places
}
