package client_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A transcript is everything observable of a run.
type transcript struct {
	schedule *schedule
	events   []history.Event
	lines    []string // what clients observed, with the number of the step
}

// difference describes the first difference of two transcripts, or returns the empty string.
func difference(model, real *transcript) string {
	found := firstDifference(model.lines, real.lines)
	if found == "" {
		found = firstDifference(model.events, real.events)
	}
	if found == "" {
		return ""
	}
	return fmt.Sprintf("%s\n\n%v\n\nThe model's history:\n%s\n\nThe real client's history:\n%s",
		found,
		model.schedule,
		renderRecords(model.events), renderRecords(real.events))
}

func renderRecords(events []history.Event) string {
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = fmt.Sprintf("%+v", e)
	}
	return strings.Join(lines, "\n")
}

func firstDifference[T comparable](model, real []T) string {
	for i := range max(len(model), len(real)) {
		switch {
		case i >= len(model):
			return fmt.Sprintf("only the real client: %v", real[i])
		case i >= len(real):
			return fmt.Sprintf("only the model: %v", model[i])
		case model[i] != real[i]:
			return fmt.Sprintf("model: %v\nreal:  %v", model[i], real[i])
		}
	}
	return ""
}

// notef adds a line to the transcript.
func (s *execution) notef(actor int, format string, values ...any) {
	s.lines = append(s.lines, fmt.Sprintf("%d: c%d ", s.step, actor+1)+fmt.Sprintf(format,
		values...))
}

// record adds the results of calls and the events of watches to the transcript.
func (s *execution) record(i int, a *participant) {
	for _, c := range a.calls {
		if c.outcome != "" && !c.recorded {
			c.recorded = true
			s.notef(i, "call %d %s: %s", c.number, c.invocation.method, c.outcome)
		}
		for c.recorded && c.watch != nil {
			e, told, open := receive(c.watch)
			if !told {
				break
			}
			if !open {
				c.watch = nil
			}
			s.notef(i, "watch %d %s, open %t", c.number, eventText(e), open)
		}
	}
}

// receive receives from a channel without blocking.
func receive(events <-chan zk.Event) (e zk.Event, told, open bool) {
	select {
	case e, open = <-events:
		return e, true, open
	default:
		return zk.Event{}, false, true
	}
}

func eventText(e zk.Event) string {
	return fmt.Sprintf("%v %v %q %s %q", e.Type, e.State, e.Path, errorText(e.Err), e.Server)
}

// readLog follows the clients' credentials in the history.
func (s *execution) readLog() {
	for _, e := range s.log.Events()[s.logRead:] {
		a := s.participants[max(1, e.Process)-1]
		switch {
		case e.Process == 0:
		case e.Kind == history.SessionState:
			a.hasSession, a.acknowledged = e.Name == "has-session", 0
		case e.Kind != history.Reply || e.Op != operation.Name(wire.OpAuth) || e.Err != "":
		case a.hasSession && a.acknowledged < a.credentials:
			a.acknowledged++
		default:
			a.credentials++
			a.acknowledged++
		}
	}
	s.logRead = s.log.Len()
}

// readEvents adds the unread events of the client's event channel to the transcript.
func (s *execution) readEvents(a *participant) {
	if a.link.Crashed() || a.eventsClosed {
		return
	}
	var events []zk.Event
	for {
		e, told, open := receive(a.client.Events())
		a.eventsClosed = !open
		if !told || !open {
			break
		}
		events = append(events, e)
	}
	full := len(events) == cap(a.client.Events())
	for begin := 0; begin < len(events); {
		end := begin + 1
		if events[begin].Type == zk.EventNotWatching {
			end = endOfRun(events, begin)
			canonicalize(events[begin:end], full && end == len(events))
		}
		begin = end
	}
	for _, e := range events {
		s.notef(a.link.Process()-1, "event %s", eventText(e))
	}
	if a.eventsClosed {
		s.notef(a.link.Process()-1, "has no more events")
	}
}

// endOfRun returns the end of a sequence of events of the type EventNotWatching.
func endOfRun(events []zk.Event, begin int) int {
	n := slices.IndexFunc(events[begin:],
		func(e zk.Event) bool { return e.Type != zk.EventNotWatching })
	if n < 0 {
		return len(events)
	}
	return begin + n
}

// canonicalize sorts events that the client emits in the order of a map (invalidateWatches). If the
// channel was full, the map's order also decides which of them are lost.
func canonicalize(events []zk.Event, cutShort bool) {
	for i := range events {
		if cutShort {
			events[i].Path = "one of them"
		}
	}
	slices.SortFunc(events, func(a, b zk.Event) int { return strings.Compare(a.Path, b.Path) })
}
