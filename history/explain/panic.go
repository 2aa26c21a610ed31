package explain

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// noPanic explains a panic by what the process had received.
func (s *story) noPanic() bool {
	number := s.v.Evidence.Process
	if number == 0 {
		return false
	}
	call := s.last(number, len(s.Events), of(history.LockCall, history.UnlockCall,
		history.ReenterCall))
	switch calls, detail := s.v.Evidence.Calls, s.detail(); {
	case detail != "" && !strings.HasPrefix(detail, process(number)+" panicked"):
		s.sayDetail("%s: %s.", upper(s.v.Reason), detail) // Another goroutine ended the program.
	case len(calls) == 0:
		s.sayDetail("%s panicked: %s.", process(number), s.message())
	default:
		s.sayDetail("%s panicked: %s in %s.", process(number), s.message(),
			strings.Join(calls, ", called by "))
	}
	s.show(s.v.Event)
	if call >= 0 {
		s.received(number, call)
	}
	s.delivered()
	return true
}

// received tells what has reached a process since a call, or the last of it if that is much.
func (s *story) received(number int32, call int) {
	p, name := process(number), "Lock"
	if s.Events[call].Kind == history.UnlockCall {
		name = "Unlock"
	}
	end := len(s.Events)
	inputs := s.inputs(number, call, end)
	answer := s.last(number, end, of(history.Answer))
	switch told := s.learned(number, call, end); {
	case told != "":
		s.say("After the call of %s (event %d) %s %s.", name, s.cite(call), p, told)
	case len(inputs) > 0:
		s.say("After the call of %s (event %d) %s received %d replies and watch events; at last "+
			"it %s.", name, s.cite(call), p, len(inputs), s.input(inputs[len(inputs)-1]))
	case answer > call:
		after := s.afterKey(answer)
		if _, later := s.earlier(); later { // the result that the last step delivers
			after = ""
		}
		s.say("After the call of %s (event %d), the last result that reached %s was %s, of "+
			"%q (event %d)%s.", name, s.cite(call), p, s.Events[answer].Name, s.Events[answer].Op,
			s.cite(answer), after)
		s.show(s.Command(answer))
	default:
		s.say("No reply or event has reached %s since it called %s (event %d).", p, name,
			s.cite(call))
	}
}

// delivered tells what the last step delivered in which the program ended, if that is known.
func (s *story) delivered() {
	at, known := s.earlier()
	if !known {
		return
	}
	e, what := &s.Events[at], "the event of its watch on "+s.node(s.Events[at].Path)
	switch r := s.Request(at); {
	case e.Kind == history.Executed:
		what = fmt.Sprintf("the result %s of %q", e.Name, e.Op)
		s.show(s.Command(at))
	case r != nil:
		what = "the reply to " + s.asked(r)
		s.show(r.Send)
	}
	s.say("The last step delivers to %s %s (event %d)%s.", process(e.Process), what, s.cite(at),
		s.afterKey(at))
}

// afterKey tells which change of a key came last before an event, or returns "".
func (s *story) afterKey(event int) string {
	change := s.KeyBefore(event)
	if change < 0 {
		return ""
	}
	e := &s.Events[change]
	how := keyEnd(e, 0)
	if e.Kind == history.KeySet {
		how = "was set by " + process(e.Process)
	}
	return fmt.Sprintf(", after the key %q %s (event %d)", e.Path, how, s.cite(change))
}
