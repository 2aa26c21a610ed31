package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/timeline"
)

// A process that has sent few requests, or none for many events, need not send another. Time need
// not pass between the requests of a livelock.
const (
	requestsFew = 3
	eventsMany  = 1000
)

// stillSends tells of the requests that a process has sent since its call, if it sends them until
// the history ends. Otherwise it returns "".
func (s *story) stillSends(p int32, call int) string {
	sent, last := 0, -1
	for i := max(call, 0); i < len(s.Events); i++ {
		if e := &s.Events[i]; e.Process == p && (e.Kind == history.Command ||
			e.Kind == history.Send && e.Op != "connect" && e.Op != "set-watches") {
			sent, last = sent+1, i
		}
	}
	if last < 0 || s.timePasses(last) {
		return ""
	}
	answered := "not answered"
	if s.answered(last) {
		answered = "answered"
		if sent < requestsFew || len(s.Events)-last > eventsMany {
			return ""
		}
	}
	return fmt.Sprintf("It still sends requests: %d since the call, and the last one, %s "+
		"(event %d), is %s when the history ends.", sent, s.sent(last), s.cite(last), answered)
}

// sent names a request by its Send or its Command.
func (s *story) sent(i int) string {
	if r := s.Request(i); r != nil {
		return s.asked(r)
	}
	return fmt.Sprintf("%q%s", s.Events[i].Op, onServer(&s.Events[i]))
}

// answered reports whether the request with a Send or a Command has an answer.
func (s *story) answered(i int) bool {
	if r := s.Request(i); r != nil {
		return r.Reply >= 0
	}
	return s.follows(i, history.Answer) >= 0
}

// follows returns the event of a kind that belongs to a command, or -1.
func (s *story) follows(command int, kind history.Kind) int {
	c := &s.Events[command]
	return s.next(c.Process, command, func(e *history.Event) bool {
		return e.Kind == kind && e.Op == c.Op && e.Server == c.Server
	})
}

// quiet reports whether a process has exchanged nothing with a server in the last part of the
// history.
func (s *story) quiet(p int32) bool {
	last := s.last(p, len(s.Events), of(history.Command, history.Answer))
	return last >= 0 && s.timePasses(last)
}

// waitsForResult names the command whose result a process waits for, and the process whose
// transaction is open. It returns false if the process does not wait for a result.
func (s *story) waitsForResult(p int32, call int) bool {
	command := s.last(p, len(s.Events), of(history.Command))
	for command > call && s.answered(command) {
		command = s.last(p, command, of(history.Command))
	}
	if command < call || !s.quiet(p) {
		return false
	}
	how := ", which the server has not executed"
	if executed := s.follows(command, history.Executed); executed >= 0 {
		how = fmt.Sprintf(", which the server executed at event %d", s.cite(executed))
	} else if begun := s.openTransaction(s.Events[command].Server); begun >= 0 {
		how += fmt.Sprintf(": the transaction that %s began (event %d) is still open",
			process(s.Events[begun].Process), s.cite(begun))
	}
	s.lead("%s waits for ever for the result of %s (event %d)%s.", process(p), s.sent(command),
		s.cite(command), how)
	return true
}

// openTransaction returns the execution of the BEGIN of the transaction that is open at the end of
// the history, or -1. A server has one at a time.
func (s *story) openTransaction(server int32) int {
	for i, e := range slices.Backward(s.Events) {
		verb, _, _ := strings.Cut(strings.ToUpper(e.Op), " ")
		switch {
		case e.Kind != history.Executed || e.Server != server || strings.HasPrefix(e.Name, "error"):
		case verb == "BEGIN":
			return i
		case verb == "COMMIT" || verb == "ROLLBACK" || verb == "END":
			return -1
		}
	}
	return -1
}

// blocked tells where the goroutines of a process are blocked, if the history shows it.
func (s *story) blocked(p int32) {
	last := &s.Events[len(s.Events)-1]
	if last.Facts == nil {
		return
	}
	var places []string
	var since string
	count := 0
	for _, w := range last.Facts.Waits {
		if w.Process != p {
			continue
		}
		place := fmt.Sprintf("%s (%s) at %s", w.Function, w.On, w.Line)
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
		since = timeline.Clock(w.Since)
		count++
	}
	switch count {
	case 0:
	case 1:
		s.say("A goroutine of %s has been blocked since %s in %s.", process(p), since, places[0])
	default:
		s.say("At the end, %d goroutines of %s are blocked: in %s. The last event of %s was at %s.",
			count, process(p), and(places), process(p), since)
	}
}
