package production

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// An insideSpan is a period that a process certainly spent in its critical section.
type insideSpan struct {
	process    int32
	enter      int
	from, till time.Duration
	shared     bool
	places     int // of the lock
}

// clientExclusionWithin decides [history.ClientMutualExclusion] of the history of one lock. It
// returns at most one violation for each Enter.
func clientExclusionWithin(events []history.Event, clocks *Clocks) []*history.Violation {
	var all []*history.Violation
	pauses := clocks.longPauses(events)
	var visits []insideSpan
	for i := range events {
		if events[i].Kind != history.Enter {
			continue
		}
		// A span that has ended by now overlaps no span that begins now or later.
		visits = slices.DeleteFunc(visits,
			func(o insideSpan) bool { return o.till <= events[i].At })
		parts := withoutPauses(insideSpanFrom(events, i, clocks), pauses)
		for _, part := range parts {
			if v := part.conflict(visits); v != nil {
				all = append(all, v)
				break
			}
		}
		visits = append(visits, parts...)
	}
	return all
}

// conflict returns a violation if the lock does not admit the process beside those of other spans.
func (v *insideSpan) conflict(others []insideSpan) *history.Violation {
	for i := range others {
		o := &others[i]
		both := min(o.till, v.till) - max(o.from, v.from)
		limits := history.Limits{Places: max(v.places, o.places)}
		exclusive, sharing := 1, 0
		if o.shared {
			exclusive, sharing = 0, 1
		}
		if both <= 0 || o.process == v.process || limits.Admits(v.shared, exclusive, sharing) {
			continue
		}
		detail := fmt.Sprintf("%s and %s, which entered at event %d, were both inside for at "+
			"least %v", history.ProcessName(v.process), history.ProcessName(o.process), o.enter,
			both)
		return v.violation(check.ReasonTwoInside, detail, o, 0)
	}
	if v.places > 1 {
		return v.crowd(others)
	}
	return nil
}

// crowd returns a violation if at some time as many others were inside as the lock has places.
func (v *insideSpan) crowd(others []insideSpan) *history.Violation {
	for _, start := range append([]insideSpan{*v}, others...) {
		at := max(start.from, v.from)
		if at >= v.till || at >= start.till {
			continue
		}
		var inside []*insideSpan
		places, till := v.places, v.till
		for i := range others {
			if o := &others[i]; o.process != v.process && o.from <= at && at < o.till {
				inside = append(inside, o)
				places, till = max(places, o.places), min(till, o.till)
			}
		}
		if len(inside) < places {
			continue
		}
		detail := fmt.Sprintf("%s and %d others were inside for at least %v, which is more than "+
			"the lock's %d places", history.ProcessName(v.process), len(inside), till-at, places)
		return v.violation(check.ReasonAllInside, detail, inside[0], len(inside))
	}
	return nil
}

func (v *insideSpan) violation(reason, detail string, o *insideSpan, count int) *history.Violation {
	return &history.Violation{
		Property: history.ClientMutualExclusion, Event: v.enter, Reason: reason, Detail: detail,
		Evidence: history.Evidence{
			Process: v.process, Other: o.process, Events: []int{o.enter}, Count: count,
		},
	}
}

// insideSpanFrom returns the span that begins with an Enter. It ends with the event that ends the
// attempt or changes its mode, with a crash, or else with the last event of the attempt. Events of
// the process without an attempt extend the span; those of its other attempts do not.
func insideSpanFrom(events []history.Event, enter int, clocks *Clocks) insideSpan {
	first := &events[enter]
	s := insideSpan{
		process: first.Process, enter: enter, from: clocks.latest(first), shared: first.Shared(),
		places: first.Places(),
	}
	for j := enter + 1; j < len(events); j++ {
		e := &events[j]
		ofAttempt := e.Process == first.Process && e.Attempt == first.Attempt
		if !ofAttempt && (e.Attempt != 0 || !sameProcess(e.Process, first.Process)) {
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
