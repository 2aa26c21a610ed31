package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
)

const reasonRestless = "a process sends requests without end after its last unlock"

// Quiescence decides [history.Quiescence]: in the fair phase, a process that neither wants nor
// holds the lock stops sending requests, whatever their rate.
//
// A process wants the lock while one of its calls of Lock is open, and holds it from its LockReturn
// without an error to its UnlockReturn. A process with several threads does so while one of them
// does. An event of the property is a request of a process that does neither, after the FairPhase
// event. It is sent at most [history.QuiescenceAfter] after the later of two events: the FairPhase
// event, and the last return of a call of the process. It is one of the first
// [history.QuiescenceRequests] requests since then.
//
// What the client library sends by itself is no request: connect, close, set-watches, ping, auth.
//
// The property does not cover events before the FairPhase event, because a lock may clean up while
// faults strike. Neither does it cover the requests of a process that crashes.
//
// The check takes time linear in the events, times the number of threads.
func Quiescence(events []history.Event) *history.Violation {
	return decide(history.Quiescence, new(quiescenceMonitor), events)
}

// LockRequest reports whether the event is a request of the lock, and not of its client library.
func LockRequest(e *history.Event) bool {
	return e.Kind == history.Send && isLockRequest(e.Op) || e.Kind == history.Command
}

const quiescenceKinds = 1<<history.LockCall | 1<<history.LockReturn | 1<<history.UnlockCall |
	1<<history.UnlockReturn | 1<<history.Crashed | 1<<history.FairPhase | 1<<history.Send |
	1<<history.Command

// An idleProcess is a process that neither wants nor holds the lock, in the fair phase.
type idleProcess struct {
	process  int32
	requests int // since it is idle
	since    idleStart
}

// An idleStart is the event from which requests of an idle process count.
type idleStart struct {
	at    time.Duration
	event int
}

type quiescenceMonitor struct {
	using []int32 // the threads that want or hold the lock
	fair  bool
	from  idleStart // the FairPhase event
	idle  []idleProcess
}

func (m *quiescenceMonitor) reset() {
	m.using, m.fair, m.from, m.idle = m.using[:0], false, idleStart{}, m.idle[:0]
}

func (m *quiescenceMonitor) copy(from monitor) {
	other := from.(*quiescenceMonitor)
	m.using, m.fair, m.from, m.idle = append(m.using[:0], other.using...), other.fair,
		other.from, append(m.idle[:0], other.idle...)
}

func (m *quiescenceMonitor) finish([]history.Event) *history.Violation { return nil }

// state folds in no index of an event, which only decides what a violation names.
func (m *quiescenceMonitor) state(_ *queue, s *State) {
	s.foldProcesses(m.using)
	idle := uint64(0)
	for i := range m.idle {
		one := &m.idle[i]
		idle += fold(fold(uint64(one.process), uint64(one.requests)), uint64(one.since.at))
	}
	s.fold(idle, uint64(m.from.at)<<1|bit(m.fair, 0))
}

// freedom: no order of events before the FairPhase event matters.
func (m *quiescenceMonitor) freedom(*queue, *history.Event) freedom { return anywhere }

func (m *quiescenceMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	switch e.Kind {
	case history.FairPhase:
		m.fair, m.from = true, idleStart{e.At, i}
	case history.LockCall, history.UnlockCall:
		m.using = append(withoutProcess(m.using, e.Process), e.Process)
		m.wakes(e.Process)
	case history.LockReturn:
		if e.Err != "" {
			m.rests(e, i)
		}
	case history.UnlockReturn:
		m.rests(e, i)
	case history.Crashed:
		m.using = withoutProcess(m.using, e.Process)
	case history.Send, history.Command:
		if m.fair && LockRequest(e) && !m.uses(e.Process) {
			return m.request(e, i)
		}
	}
	return nil
}

// uses reports whether a thread of the process wants or holds the lock.
func (m *quiescenceMonitor) uses(number int32) bool {
	process, _ := history.ProcessOf(number)
	return slices.ContainsFunc(m.using, func(thread int32) bool {
		other, _ := history.ProcessOf(thread)
		return other == process
	})
}

// wakes notes that a thread wants the lock.
func (m *quiescenceMonitor) wakes(number int32) {
	process, _ := history.ProcessOf(number)
	m.idle = slices.DeleteFunc(m.idle,
		func(one idleProcess) bool { return one.process == process })
}

// rests notes that a thread neither wants nor holds the lock any more.
func (m *quiescenceMonitor) rests(e *history.Event, i int) {
	m.using = withoutProcess(m.using, e.Process)
	if m.wakes(e.Process); m.fair {
		m.of(e.Process).since = idleStart{e.At, i}
	}
}

// of returns the process of a thread. If it has not called the lock in the fair phase, it is idle
// since the beginning of that.
func (m *quiescenceMonitor) of(number int32) *idleProcess {
	process, _ := history.ProcessOf(number)
	for i := range m.idle {
		if m.idle[i].process == process {
			return &m.idle[i]
		}
	}
	m.idle = append(m.idle, idleProcess{process: process, since: m.from})
	return &m.idle[len(m.idle)-1]
}

// request counts a request of an idle process.
func (m *quiescenceMonitor) request(e *history.Event, i int) *history.Violation {
	one := m.of(e.Process)
	one.requests++
	late := e.At - one.since.at
	if one.requests <= history.QuiescenceRequests && late <= history.QuiescenceAfter {
		return nil
	}
	return &history.Violation{
		Property: history.Quiescence, Event: i, Reason: reasonRestless,
		Detail: fmt.Sprintf("c%d neither wanted nor held the lock for %s, and sent request "+
			"number %d of that time", one.process, history.FormatSpan(late), one.requests),
		Evidence: history.Evidence{
			Process: one.process, Count: one.requests, Events: []int{one.since.event},
		},
	}
}

// idleThreads counts the threads that neither want nor hold the lock at the end of a history, and
// have called it before.
func idleThreads(events []history.Event) int {
	var idle []int32
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.LockCall, history.Crashed:
			idle = withoutProcess(idle, e.Process)
		case history.UnlockReturn:
			idle = append(withoutProcess(idle, e.Process), e.Process)
		case history.LockReturn:
			if e.Err != "" {
				idle = append(withoutProcess(idle, e.Process), e.Process)
			}
		}
	}
	return len(idle)
}
