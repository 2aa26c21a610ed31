package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
)

const reasonLivelock = "a process sends requests without end while no process progresses"

// A requestWindow holds when a process has sent requests in the last second, since any process last
// progressed.
type requestWindow struct {
	process int32
	sent    []time.Duration // the oldest first
}

// NoLivelock decides [history.NoLivelock]: in the fair phase no process sends more than
// Limits.RequestsPerSecond requests within a second of virtual time in which no process progresses.
//
// An event of the property is a Send after the FairPhase event. A process progresses when its call
// of Lock or Unlock returns, when it enters or leaves its critical section, or when it finishes.
//
// The property does not cover events before the FairPhase event, nor a process that sends nothing;
// see [Progress].
//
// The check takes time linear in the events, times the number of processes, and times the requests
// in a second.
func NoLivelock(events []history.Event, limits history.Limits) *history.Violation {
	return decide(history.NoLivelock, &livelockMonitor{limits: &limits}, events)
}

// A livelockMonitor has no state before the FairPhase event.
type livelockMonitor struct {
	limits  *history.Limits
	fair    bool
	windows []requestWindow
}

func (m *livelockMonitor) reset() { m.fair, m.windows = false, m.windows[:0] }

func (m *livelockMonitor) copy(from monitor) {
	other := from.(*livelockMonitor)
	m.fair, m.windows = other.fair, m.windows[:0]
	for i := range other.windows {
		s := m.add(other.windows[i].process)
		s.sent = append(s.sent, other.windows[i].sent...)
	}
}

// add adds a window for a process, and reuses the memory of a removed one.
func (m *livelockMonitor) add(process int32) *requestWindow {
	n := len(m.windows)
	m.windows = slices.Grow(m.windows, 1)[:n+1]
	s := &m.windows[n]
	s.process, s.sent = process, s.sent[:0]
	return s
}

func (m *livelockMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *livelockMonitor) state(_ *queue, s *State) {
	for i := range m.windows {
		one := &m.windows[i]
		s.fold(uint64(uint32(one.process))<<32|uint64(len(one.sent)), 0)
		for _, at := range one.sent {
			s.fold(uint64(at), 0)
		}
	}
}

// freedom: nothing before the FairPhase event matters.
func (m *livelockMonitor) freedom(*queue, *history.Event) freedom { return anywhere }

func (m *livelockMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	switch e.Kind {
	case history.FairPhase:
		m.fair = true
	case history.LockReturn, history.UnlockReturn, history.Enter, history.Leave, history.Finished:
		m.windows = m.windows[:0]
	case history.Send:
		if !m.fair {
			break
		}
		if sent := m.countRequest(e); len(sent) > m.limits.RequestsPerSecond {
			return &history.Violation{
				Property: history.NoLivelock, Event: i, Reason: reasonLivelock,
				Detail: fmt.Sprintf("c%d has sent %d requests since %.3fs, the last one %s %s",
					e.Process,
					len(sent), sent[0].Seconds(), e.Op, e.Path),
				Evidence: history.Evidence{
					Process: e.Process, Count: len(sent), Limit: int64(m.limits.RequestsPerSecond),
				},
			}
		}
	}
	return nil
}

// countRequest records a request, and returns when its process has sent requests in the last
// second.
func (m *livelockMonitor) countRequest(e *history.Event) []time.Duration {
	var s *requestWindow
	if n := slices.IndexFunc(m.windows,
		func(one requestWindow) bool { return one.process == e.Process }); n >= 0 {
		s = &m.windows[n]
	} else {
		s = m.add(e.Process)
	}
	old := 0
	for old < len(s.sent) && e.At-s.sent[old] >= history.LivelockWindow {
		old++
	}
	s.sent = append(slices.Delete(s.sent, 0, old), e.At)
	return s.sent
}
