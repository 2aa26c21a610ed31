package explain

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// sayFaults tells what each fault has done that struck up to the last event that the text is about,
// unless the text cites the fault already.
func (s *story) sayFaults() {
	last := s.v.Event
	for _, i := range s.cited {
		last = max(last, i)
	}
	for i := range s.Events[:min(last+1, len(s.Events))] {
		e := &s.Events[i]
		kind, known := faults.KindNamed(e.Name)
		if e.Kind != history.Fault || !known || mentions(s.whole(), i) {
			continue
		}
		ended := ""
		if end := s.faultEnd(i, last); end >= 0 {
			ended = fmt.Sprintf("; %s at event %d", s.Events[end].Kind, s.cite(end))
		}
		s.say("Fault %s (event %d): %s%s.", kind, s.cite(i), kind.Effect(victim(e)), ended)
	}
}

// mentions reports whether a text cites an event.
func mentions(text string, event int) bool {
	number := fmt.Sprintf("event %d", event)
	for {
		_, rest, found := strings.Cut(text, number)
		if !found {
			return false
		}
		if rest == "" || rest[0] < '0' || rest[0] > '9' {
			return true
		}
		text = rest
	}
}

// victim names what a fault has struck, as "c1", "s2", "c1-s2" or "s1-s2".
func victim(e *history.Event) string {
	name := process(e.Process)
	if e.Process == 0 {
		name = fmt.Sprintf("s%d", e.Server)
	}
	if e.Peer != 0 {
		name += fmt.Sprintf("-s%d", e.Peer)
	}
	return name
}

// faultEnd returns the event that ends the effect of a fault, at most the last one, or -1.
func (s *story) faultEnd(fault, last int) int {
	f := &s.Events[fault]
	for i := fault + 1; i <= last && i < len(s.Events); i++ {
		e := &s.Events[i]
		if (e.Kind == history.Healed || e.Kind == history.Resumed) && e.Process == f.Process &&
			e.Server == f.Server && e.Peer == f.Peer {
			return i
		}
	}
	return -1
}
