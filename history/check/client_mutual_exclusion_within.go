package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// pauseName is the name of the Fault that pauses a process.
const pauseName = "pause"

// An insideSpan is a period that a process certainly spent in its critical section.
type insideSpan struct {
	process    int32
	enter      int
	from, till time.Duration
}

// clientExclusionWithin decides [history.ClientMutualExclusion] of the history of one lock.
func clientExclusionWithin(events []history.Event, clocks *Clocks) *history.Violation {
	pauses := clocks.longPauses(events)
	var visits []insideSpan
	for i := range events {
		if events[i].Kind != history.Enter {
			continue
		}
		// A span that has ended by now overlaps no span that begins now or later.
		visits = slices.DeleteFunc(visits,
			func(o insideSpan) bool { return o.till <= events[i].At })
		for _, v := range withoutPauses(insideSpanFrom(events, i, clocks), pauses) {
			for _, o := range visits {
				both := min(o.till, v.till) - max(o.from, v.from)
				if both <= 0 || o.process == v.process {
					continue
				}
				detail := fmt.Sprintf("c%d and c%d, which entered at event %d, "+
					"were both inside for at least %v", v.process, o.process, o.enter, both)
				return &history.Violation{
					Property: history.ClientMutualExclusion, Event: i, Reason: reasonTwoInside,
					Detail: detail,
					Evidence: history.Evidence{
						Process: v.process, Other: o.process, Events: []int{o.enter},
					},
				}
			}
			visits = append(visits, v)
		}
	}
	return nil
}

// insideSpanFrom returns the span that begins with an Enter. It ends with the event that ends the
// attempt, with a crash, or else with the last event of the attempt. Events of the process without
// an attempt extend the span; those of its other attempts do not.
func insideSpanFrom(events []history.Event, enter int, clocks *Clocks) insideSpan {
	first := &events[enter]
	s := insideSpan{first.Process, enter, clocks.latest(first), 0}
	for j := enter + 1; j < len(events); j++ {
		e := &events[j]
		if e.Process != first.Process || e.Attempt != first.Attempt && e.Attempt != 0 {
			continue
		}
		s.till = clocks.earliest(e)
		switch e.Kind {
		case history.Leave, history.Lost, history.UnlockCall, history.Crashed, history.Enter:
			return s
		}
	}
	return s
}

// A longPause is a period in which a lock guarantees nothing about a process: a pause longer than
// [Clocks].Pause, and Clocks.Pause after it.
type longPause struct{ from, till time.Duration }

// longPauses returns the long pauses of each process in order.
func (c *Clocks) longPauses(events []history.Event) map[int32][]longPause {
	pauses := make(map[int32][]longPause)
	for i := range events {
		if begins := &events[i]; begins.Kind == history.Fault && begins.Name == pauseName {
			if ends := pauseEnd(events[i:]); ends != nil && ends.At-begins.At > c.Pause {
				pauses[begins.Process] = append(pauses[begins.Process],
					longPause{c.earliest(begins), c.latest(ends) + c.Pause})
			}
		}
	}
	return pauses
}

// pauseEnd returns the event that ends the pause with which the events begin: a Resumed, or else
// the next event of the process. It returns nil if there is neither.
func pauseEnd(events []history.Event) (next *history.Event) {
	for i := 1; i < len(events); i++ {
		switch e := &events[i]; {
		case e.Process != events[0].Process:
		case e.Kind == history.Resumed:
			return e
		case next == nil:
			next = e
		}
	}
	return next
}

// withoutPauses returns the parts of a span outside of the long pauses of its process.
func withoutPauses(s insideSpan, pauses map[int32][]longPause) []insideSpan {
	var parts []insideSpan
	for _, p := range pauses[s.process] {
		if p.from >= s.till || p.till <= s.from {
			continue
		}
		if before := s; p.from > s.from {
			before.till = p.from
			parts = append(parts, before)
		}
		s.from = max(s.from, p.till)
	}
	return append(parts, s)
}
