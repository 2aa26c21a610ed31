package history

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
)

const reasonStarved = "a process that had queued was overtaken more often than the lock allows"

// A queuePlace is that of a process which waits.
type queuePlace struct {
	process int32
	queued  int    // the index of the event since which overtakings count, 0 if they do not yet
	node    string // by which it has queued
	// it has made a node in this attempt, and its connection has kept its state since
	made bool
	// so many of the next nodes may be those of attempts before, which were given up before they
	// had made one
	lateCreates int
	cancelled   bool // the process has given this attempt up, and need not get the lock any more
	overtaken   int
}

// withoutNode is the place of a process whose node is gone.
func (p *queuePlace) withoutNode() queuePlace {
	return queuePlace{
		process: p.process, made: p.made, lateCreates: p.lateCreates,
		cancelled: p.cancelled,
	}
}

// CheckNoStarvation decides [NoStarvation]: whoever waits is overtaken only so often.
//
// It is judged from the Liveness event on, for before it the order may be unfair. A process has
// queued when it has made an ephemeral node while it waits for the lock; its place counts anew
// whenever the state of its connection changes or its session ends, and where it has lost its node
// before the order became fair. Not for its own are taken the nodes that attempts before may have
// asked for, which were given up without one. Once the order is fair one that leaves the queue
// keeps its claim to a place. It is overtaken when the lock is granted to a process that called
// Lock after it had queued. The property holds if nobody is overtaken more often than
// Bounds.Overtakings before it has the lock, gives up, its call fails, or it crashes.
//
// It takes time linear in the events, times the number of processes that wait.
func CheckNoStarvation(events []Event, bounds Limits) *Violation {
	return decide(NoStarvation, &starvationMonitor{limits: &bounds}, events)
}

type starvationMonitor struct {
	limits *Limits
	places []queuePlace
	fair   bool
}

func (m *starvationMonitor) reset() { m.places, m.fair = m.places[:0], false }

func (m *starvationMonitor) copy(from monitor) {
	other := from.(*starvationMonitor)
	m.places, m.fair = append(m.places[:0], other.places...), other.fair
}

func (m *starvationMonitor) finish(*queue, []Event) *Violation { return nil }

// state holds of a place not since when it counts: until the Liveness event comes no overtaking
// counts, and from then on those count that have begun later.
func (m *starvationMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.places {
		p := &m.places[i]
		if s.ended(p.process) {
			continue
		}
		flags := bit(p.queued != 0, 0) | bit(p.made, 1) | bit(p.cancelled,
			2) | uint64(p.lateCreates)<<3
		sum += fold(fold(uint64(p.process), flags), xxhash.Sum64String(p.node))
	}
	s.fold(sum, bit(m.fair, 0))
}

// visible: before the Liveness event nobody is overtaken, and places depend on what each process
// does itself.
func (m *starvationMonitor) visible(*queue, *Event) bool { return false }

func (m *starvationMonitor) observe(q *queue, log []Event, i int) *Violation {
	e := &log[i]
	p := findPlace(m.places, e.Process)
	switch e.Kind {
	case FairPhase:
		m.fair = true
		for p := range m.places {
			if m.places[p].queued != 0 {
				m.places[p].queued = i
			}
		}
	case LockCall:
		late := 0
		if p >= 0 {
			late = m.places[p].lateCreates
		}
		m.places = append(withoutPlace(m.places, e.Process), queuePlace{
			process:     e.Process,
			lateCreates: late,
		})
	case NodeCreated:
		if p >= 0 && e.Session != 0 {
			m.places[p].queue(e, i)
		}
	case NodeDeleted:
		if p >= 0 && m.places[p].node == e.Path && !m.fair {
			m.places[p] = m.places[p].withoutNode()
		}
	// A pause that began before the Liveness event can cost the session after it.
	case SessionExpired, SessionClosed:
		if p >= 0 {
			m.places[p] = m.places[p].withoutNode()
		}
	case SessionState:
		if p >= 0 {
			m.places[p] = queuePlace{
				process: e.Process, lateCreates: m.places[p].lateCreates,
				cancelled: m.places[p].cancelled,
			}
		}
	case Fault:
		if p >= 0 && e.Name == cancelName {
			m.places[p].cancelled = true
			m.places[p] = m.places[p].withoutNode()
		}
	case Crashed:
		m.places = withoutPlace(m.places, e.Process)
	case LockReturn:
		return m.returned(q, e, i)
	}
	return nil
}

// returned takes note of an attempt that has ended.
func (m *starvationMonitor) returned(q *queue, e *Event, i int) *Violation {
	if p := overtake(m.places, q, e); p != nil && m.fair && p.overtaken > m.limits.Overtakings {
		return &Violation{
			Property: NoStarvation, Event: i, Reason: reasonStarved,
			Detail: fmt.Sprintf("c%d, which has waited since event %d, was overtaken %d times, "+
				"now by c%d",
				p.process, p.queued, p.overtaken, e.Process),
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

// queue takes note of a node that the process has made.
func (p *queuePlace) queue(e *Event, index int) {
	switch {
	case p.lateCreates > 0:
		p.lateCreates--
		return
	case p.queued == 0 && !p.cancelled:
		p.queued, p.node = index, e.Path
	}
	p.made = true
}

// withoutReturned returns the places without that of a process whose call has returned, unless a
// node that it has asked for may yet come.
func withoutReturned(places []queuePlace, e *Event) []queuePlace {
	if p := findPlace(places, e.Process); p >= 0 && e.Err != "" && !places[p].made {
		places[p] = queuePlace{process: e.Process, lateCreates: places[p].lateCreates + 1}
		return places
	}
	return withoutPlace(places, e.Process)
}

// overtake counts a grant against all whom it overtakes, and returns the one that was overtaken
// most often, or nil. Nobody queues before its own call.
func overtake(places []queuePlace, q *queue, e *Event) *queuePlace {
	o := q.openAttempt(e.Process)
	if e.Err != "" || o < 0 {
		return nil
	}
	var most *queuePlace
	for p := range places {
		if places[p].queued != 0 && places[p].queued < q.open[o].call {
			places[p].overtaken++
			if most == nil || places[p].overtaken > most.overtaken {
				most = &places[p]
			}
		}
	}
	return most
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
