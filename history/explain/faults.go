package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// sayFaults tells what each fault does that struck up to the last event that the text is about,
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
		if end := s.faultEnd(kind, i, last); end >= 0 {
			ended = fmt.Sprintf("; %s at event %d", s.Events[end].Kind, s.cite(end))
		}
		s.say("Fault %s (event %d): %s%s.", kind, s.cite(i), s.effect(kind, i), ended)
	}
}

// effect says what a fault does. Of lost replies of ZooKeeper it names the requests.
func (s *story) effect(kind faults.Kind, fault int) string {
	q := victim(&s.Events[fault])
	if kind != faults.LoseReply {
		return kind.Effect(q)
	}
	lost, write := s.lostReplies(fault)
	switch {
	case len(lost) == 0:
		return kind.Effect(q)
	case len(lost) == 1 && write:
		return fmt.Sprintf("the reply to %s's %s is lost with the connection, so that %s does not "+
			"know whether the request took effect", q, lost[0], q)
	case len(lost) == 1:
		return fmt.Sprintf("the reply to %s's %s is lost with the connection", q, lost[0])
	case write:
		return fmt.Sprintf("the replies to %s's %s are lost with the connection, so that %s does "+
			"not know which requests took effect", q, and(lost), q)
	}
	return fmt.Sprintf("the replies to %s's %s are lost with the connection", q, and(lost))
}

// lostReplies names the requests whose replies a fault loses: those without a reply yet that the
// server has handled before the connection breaks. Write reports whether one changes something.
func (s *story) lostReplies(fault int) (lost []string, write bool) {
	f := &s.Events[fault]
	for _, r := range s.Requests() {
		if p, _ := history.ProcessOf(r.Process); p != f.Process || r.Send < 0 || r.Send > fault ||
			r.Serve < 0 || r.Reply < fault || s.Events[r.Reply].Err == "" ||
			s.Events[r.Serve].At > f.At {
			continue
		}
		lost, write = append(lost, s.asked(r)), write || len(r.Changes) > 0
	}
	return lost, write
}

// sayAssumptions says what the faults of a run assume about the environment, if each assumes
// something.
func (s *story) sayAssumptions() {
	var all []string
	for i := range s.Events {
		e := &s.Events[i]
		kind, known := faults.KindNamed(e.Name)
		switch {
		case e.Kind != history.Fault:
		case !known || kind.Assumes() == "":
			return
		case !slices.Contains(all, kind.Assumes()):
			all = append(all, kind.Assumes())
		}
	}
	if len(all) > 0 {
		s.say("All faults of this run rest on an assumption about the environment: %s.", and(all))
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
func (s *story) faultEnd(kind faults.Kind, fault, last int) int {
	f := s.Events[fault]
	end := s.repair(kind, &f, fault, last)
	if kind != faults.PartitionLink || end < 0 {
		return end
	}
	f.Server, f.Peer = int32(f.Peer), uint8(f.Server) // Each direction is healed by itself.
	if back := s.repair(kind, &f, fault, last); back >= 0 {
		return max(end, back)
	}
	return -1
}

// repair returns the first event after a fault, at most the last one, that ends the effect of a
// fault of that kind on a victim, or -1.
func (s *story) repair(kind faults.Kind, victim *history.Event, fault, last int) int {
	for i := fault + 1; i <= last && i < len(s.Events); i++ {
		e := &s.Events[i]
		switch {
		case e.Process != victim.Process || e.Server != victim.Server || e.Peer != victim.Peer:
		case e.Kind.String() == kind.EndedBy():
			return i
		case e.Kind == history.Fault && e.Name == faults.Expire.String() && kind != faults.Pause:
			return -1 // The link recovers when the session has expired, without being healed.
		}
	}
	return -1
}
