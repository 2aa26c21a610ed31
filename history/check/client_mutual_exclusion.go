package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// The reasons of violations of [history.ClientMutualExclusion].
const (
	ReasonTwoInside = "a process entered its critical section while another was inside"
	ReasonAllInside = "a process entered its critical section while as many were inside as the " +
		"lock has places"
)

// ClientMutualExclusion decides [history.ClientMutualExclusion]: at most one process at a time is
// in the critical section without knowing that it has lost the lock; or as many as the lock has
// places ([history.Limits].Places), or any number in shared mode while none is exclusive.
//
// An event of the property is an Enter. A process is inside from its Enter until a Leave, a Lost or
// a Crashed event. The property holds if no process enters while another is inside; with several
// places, while as many others are inside; and in shared mode, while an exclusive one is inside.
//
// The property does not cover a process that has been notified of its loss and has not left yet:
// what it does then is not the fault of the lock.
//
// The check takes time linear in the events, times the number of processes inside.
func ClientMutualExclusion(events []history.Event) *history.Violation {
	return decide(history.ClientMutualExclusion,
		&clientExclusionMonitor{config: new(monitorConfig)}, events)
}

type clientExclusionMonitor struct {
	config *monitorConfig
	inside []insider // in the order of their Enters
}

// An insider is a process that is inside.
type insider struct {
	process int32
	shared  bool
	since   int // the index of its Enter
}

func (m *clientExclusionMonitor) reset() { m.inside = m.inside[:0] }

func (m *clientExclusionMonitor) copy(from monitor) {
	m.inside = append(m.inside[:0], from.(*clientExclusionMonitor).inside...)
}

func (m *clientExclusionMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *clientExclusionMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for _, in := range m.inside {
		sum += scatter(uint64(in.process) | bit(in.shared, 32))
	}
	s.fold(sum, 0)
}

// freedom: an earlier Enter, or a later Leave or Lost, makes the time inside longer. A crash
// changes nothing for those that have entered before.
func (m *clientExclusionMonitor) freedom(_ *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.Enter, history.Crashed:
		return sooner
	case history.Leave, history.Lost:
		return later
	}
	return fixed
}

func (m *clientExclusionMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	m.inside = slices.DeleteFunc(m.inside,
		func(in insider) bool { return in.process == e.Process })
	if e.Kind != history.Enter {
		return nil
	}
	exclusive, sharing := 0, 0
	for _, in := range m.inside {
		exclusive, sharing = counted(in.shared, exclusive, sharing)
		if m.config.limits.Admits(e.Shared(), exclusive, sharing) {
			continue
		}
		reason, others, count := ReasonTwoInside, "", 0
		if exclusive > 1 {
			reason, count = ReasonAllInside, exclusive
			others = fmt.Sprintf(", as were %d others", exclusive-1)
		}
		return &history.Violation{
			Property: history.ClientMutualExclusion, Event: i, Reason: reason,
			Detail: fmt.Sprintf("c%d entered while c%d was inside since event %d%s", e.Process,
				in.process, in.since, others),
			Evidence: history.Evidence{
				Process: e.Process, Other: in.process, Events: []int{in.since}, Count: count,
			},
		}
	}
	m.inside = append(m.inside, insider{e.Process, e.Shared(), i})
	return nil
}
