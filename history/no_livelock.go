package history

import (
	"fmt"
	"time"
)

const reasonLivelock = "a process sends requests without end while nobody gets on"

// A spinning is what a process has sent since somebody last got on.
type spinning struct {
	process  int32
	requests int
	since    time.Duration
}

// CheckNoLivelock decides [NoLivelock]: nobody is busy in vain.
//
// It is judged from the Liveness event on. Somebody gets on when a call of Lock or Unlock returns, a process enters or
// leaves its critical section or finishes. The property holds if no process sends more than Bounds.RequestsPerSecond
// requests within a second of virtual time in which nobody gets on. A second begins with the first request after somebody
// got on, or after the last second is over.
//
// It takes time linear in the events, times the number of processes.
func CheckNoLivelock(events []Event, bounds Bounds) *Violation {
	return decide(NoLivelock, &livelockMonitor{bounds: &bounds}, events)
}

// A livelockMonitor remembers nothing before the Liveness event.
type livelockMonitor struct {
	bounds    *Bounds
	lively    bool
	spinnings []spinning
}

func (m *livelockMonitor) reset() { m.lively, m.spinnings = false, m.spinnings[:0] }

func (m *livelockMonitor) copy(from monitor) {
	other := from.(*livelockMonitor)
	m.lively, m.spinnings = other.lively, append(m.spinnings[:0], other.spinnings...)
}

func (m *livelockMonitor) finish(*queue, []Event) *Violation { return nil }

func (m *livelockMonitor) state(_ *queue, s *State) {
	for i := range m.spinnings {
		one := &m.spinnings[i]
		s.fold(uint64(uint32(one.process))<<32|uint64(uint32(one.requests)), uint64(one.since))
	}
}

// visible: before the Liveness event nothing counts.
func (m *livelockMonitor) visible(*queue, *Event) bool { return false }

func (m *livelockMonitor) observe(_ *queue, log []Event, i int) *Violation {
	e := &log[i]
	switch e.Kind {
	case Liveness:
		m.lively = true
	case LockReturn, UnlockReturn, Enter, Leave, Finished:
		m.spinnings = m.spinnings[:0]
	case Send:
		if !m.lively {
			break
		}
		var s *spinning
		if m.spinnings, s = spin(m.spinnings, e); s.requests > m.bounds.RequestsPerSecond {
			return &Violation{Property: NoLivelock, Event: i, Reason: reasonLivelock,
				Detail: fmt.Sprintf("c%d has sent %d requests since %v, the last one %s %s", e.Process, s.requests, s.since, e.Op, e.Path)}
		}
	}
	return nil
}

// spin counts a request.
func spin(spinnings []spinning, e *Event) ([]spinning, *spinning) {
	for n := range spinnings {
		s := &spinnings[n]
		if s.process != e.Process {
			continue
		}
		if e.At-s.since >= livelockWindow {
			s.requests, s.since = 0, e.At
		}
		s.requests++
		return spinnings, s
	}
	spinnings = append(spinnings, spinning{e.Process, 1, e.At})
	return spinnings, &spinnings[len(spinnings)-1]
}
