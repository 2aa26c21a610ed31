package history

import (
	"fmt"
	"slices"
	"time"
)

const reasonLivelock = "a process sends requests without end while nobody gets on"

// A spinning is when a process has sent requests since somebody last got on, as far as that is less
// than a second ago.
type spinning struct {
	process int32
	sent    []time.Duration // the oldest first
}

// CheckNoLivelock decides [NoLivelock]: no process sends requests without end while nobody gets on.
//
// It is judged from the Liveness event on. Somebody gets on when a call of Lock or Unlock returns,
// a process enters or leaves its critical section or finishes. The property holds if no process
// sends more than Bounds.RequestsPerSecond requests within any second of virtual time in which
// nobody gets on.
//
// It takes time linear in the events, times the number of processes, and times the requests in a
// second.
func CheckNoLivelock(events []Event, bounds Limits) *Violation {
	return decide(NoLivelock, &livelockMonitor{bounds: &bounds}, events)
}

// A livelockMonitor remembers nothing before the Liveness event.
type livelockMonitor struct {
	bounds    *Limits
	fair      bool
	spinnings []spinning
}

func (m *livelockMonitor) reset() { m.fair, m.spinnings = false, m.spinnings[:0] }

func (m *livelockMonitor) copy(from monitor) {
	other := from.(*livelockMonitor)
	m.fair, m.spinnings = other.fair, m.spinnings[:0]
	for i := range other.spinnings {
		s := m.add(other.spinnings[i].process)
		s.sent = append(s.sent, other.spinnings[i].sent...)
	}
}

// add adds a process, in the memory of one that was there before.
func (m *livelockMonitor) add(process int32) *spinning {
	n := len(m.spinnings)
	m.spinnings = slices.Grow(m.spinnings, 1)[:n+1]
	s := &m.spinnings[n]
	s.process, s.sent = process, s.sent[:0]
	return s
}

func (m *livelockMonitor) finish(*queue, []Event) *Violation { return nil }

func (m *livelockMonitor) state(_ *queue, s *State) {
	for i := range m.spinnings {
		one := &m.spinnings[i]
		s.fold(uint64(uint32(one.process))<<32|uint64(len(one.sent)), 0)
		for _, at := range one.sent {
			s.fold(uint64(at), 0)
		}
	}
}

// visible: before the Liveness event nothing counts.
func (m *livelockMonitor) visible(*queue, *Event) bool { return false }

func (m *livelockMonitor) observe(_ *queue, log []Event, i int) *Violation {
	e := &log[i]
	switch e.Kind {
	case FairPhase:
		m.fair = true
	case LockReturn, UnlockReturn, Enter, Leave, Finished:
		m.spinnings = m.spinnings[:0]
	case Send:
		if !m.fair {
			break
		}
		if sent := m.spin(e); len(sent) > m.bounds.RequestsPerSecond {
			return &Violation{
				Property: NoLivelock, Event: i, Reason: reasonLivelock,
				Detail: fmt.Sprintf("c%d has sent %d requests since %v, the last one %s %s",
					e.Process,
					len(sent), sent[0], e.Op, e.Path),
			}
		}
	}
	return nil
}

// spin takes note of a request, and returns when its process has sent requests in the last second.
func (m *livelockMonitor) spin(e *Event) []time.Duration {
	var s *spinning
	if n := slices.IndexFunc(m.spinnings,
		func(one spinning) bool { return one.process == e.Process }); n >= 0 {
		s = &m.spinnings[n]
	} else {
		s = m.add(e.Process)
	}
	old := 0
	for old < len(s.sent) && e.At-s.sent[old] >= livelockWindow {
		old++
	}
	s.sent = append(slices.Delete(s.sent, 0, old), e.At)
	return s.sent
}
