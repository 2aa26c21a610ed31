package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonExtendedTaken = "a holder extended its lock after another process had been granted it"
	reasonExtendedLost  = "a holder extended its lock after it had been told of the loss"
)

// Extension decides [history.Extension]: an extension of the lock fails if its holder has lost the
// lock, so that the holder learns of the loss.
//
// An event of the property is an Extended without an error and with a validity time: a holder whose
// validity time is over, as when the reply comes late, learns of the loss. Its holder has lost the
// lock if another process has been granted it since the holder's own grant, even if that process
// has unlocked since, or if the holder has been told of the loss.
//
// The property does not cover a process that has called Unlock.
//
// The check takes time linear in the events, times the number of holders at once.
func Extension(events []history.Event) *history.Violation {
	return decide(history.Extension, new(extensionMonitor), events)
}

// An extensibleHold is a grant that its process may extend.
type extensibleHold struct {
	process int32
	granted int   // the index of the LockReturn
	other   int32 // the first process that was granted the lock since, or 0
	told    bool  // the holder was told of the loss
	lost    int   // the index of the event by which the lock was lost first
}

type extensionMonitor struct{ holds []extensibleHold }

func (m *extensionMonitor) reset() { m.holds = m.holds[:0] }

func (m *extensionMonitor) copy(from monitor) {
	m.holds = append(m.holds[:0], from.(*extensionMonitor).holds...)
}

func (m *extensionMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *extensionMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for _, h := range m.holds {
		if !s.ended(h.process) {
			sum += fold(uint64(h.process), uint64(h.other)<<1|bit(h.told, 0))
		}
	}
	s.fold(sum, 0)
}

// freedom: the order of grants and extensions decides. That a process has been told of its loss or
// unlocks matters only for its own extensions.
func (m *extensionMonitor) freedom(_ *queue, e *history.Event) freedom {
	switch {
	case e.Kind == history.LockReturn && e.Err != "":
		return anywhere
	case e.Kind == history.UnlockCall, e.Kind == history.Lost, e.Kind == history.Crashed:
		return anywhere
	}
	return fixed
}

func (m *extensionMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	own := slices.IndexFunc(m.holds, func(h extensibleHold) bool { return h.process == e.Process })
	switch {
	case e.Kind == history.LockReturn && e.Err == "":
		for n := range m.holds {
			if h := &m.holds[n]; n != own && h.other == 0 {
				h.other = e.Process
				if !h.told {
					h.lost = i
				}
			}
		}
		if own < 0 {
			own = len(m.holds)
			m.holds = append(m.holds, extensibleHold{})
		}
		m.holds[own] = extensibleHold{process: e.Process, granted: i}
	case own < 0:
	case e.Kind == history.UnlockCall || e.Kind == history.Crashed:
		m.holds = slices.Delete(m.holds, own, own+1)
	case e.Kind == history.Lost:
		h := &m.holds[own]
		if h.told = true; h.other == 0 {
			h.lost = i
		}
	case e.Kind == history.Extended && e.Err == "" && e.Validity > 0:
		return extensionViolation(e, i, m.holds[own])
	}
	return nil
}

// extensionViolation returns how an extension breaks the property, or nil.
func extensionViolation(e *history.Event, i int, h extensibleHold) *history.Violation {
	v := &history.Violation{
		Property: history.Extension, Event: i,
		Evidence: history.Evidence{
			Process: e.Process, Other: h.other, Events: []int{h.granted, h.lost},
		},
	}
	switch {
	case h.other != 0:
		v.Reason = reasonExtendedTaken
		v.Detail = fmt.Sprintf("c%d extended its grant of event %d after c%d had been granted the "+
			"lock", e.Process, h.granted, h.other)
	case h.told:
		v.Reason = reasonExtendedLost
		v.Detail = fmt.Sprintf("c%d extended its grant of event %d after it had been told of the "+
			"loss (event %d)", e.Process, h.granted, h.lost)
	default:
		return nil
	}
	return v
}

// extensions counts the events of the property, and the extensions that failed.
func extensions(events []history.Event) (n int) {
	for i := range events {
		if events[i].Kind == history.Extended {
			n++
		}
	}
	return n
}
