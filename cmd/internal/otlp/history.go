package otlp

import (
	"cmp"
	"slices"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/interlock-sim/interlock/history"
)

// Histories returns a history of each process, in the order in which they were read, with its name,
// and how many leases are left out because the span of their attempt is missing.
//
// A lease counts as a critical section. One whose span is missing, because it had not ended when
// the process did, was granted and never entered. Spans that sampling has left out leave no trace,
// so that less is judged.
func (s *Spans) Histories() (logs []*history.Log, names []string, incomplete int) {
	for _, p := range s.processes {
		log, left := p.history()
		logs, names, incomplete = append(logs, log), append(names, p.name), incomplete+left
	}
	return logs, names, incomplete
}

// A joint is where a span ends and the next one of the same contender begins.
type joint struct {
	node string
	at   uint64
}

func (p *process) history() (log *history.Log, incomplete int) {
	acquires := p.named(acquireSpan)
	holds, releases := make(map[joint]*trace.Span), make(map[joint]*trace.Span)
	for _, s := range p.named(holdSpan) {
		holds[begin(s)] = s
	}
	for _, s := range p.named(releaseSpan) {
		releases[begin(s)] = s
	}
	incomplete = len(holds)
	var events []history.Event
	for i, s := range acquires {
		c := &conversion{attempt: int32(i + 1), mode: mode(s)}
		c.acquired(s)
		if held := holds[end(s)]; held != nil && isGranted(s) {
			incomplete--
			c.held(held, releases[end(held)])
		}
		events = append(events, c.events...)
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	if len(events) > 0 {
		events = slices.Insert(events, 0, history.Event{
			At: events[0].At, Kind: history.Started, Process: 1, Name: p.name,
		})
	}
	return history.NewLog(events), incomplete
}

// named returns the spans with a name in the order of their begin, and of their end if they began
// at once.
func (p *process) named(name string) []*trace.Span {
	var all []*trace.Span
	for _, s := range p.spans {
		if s.GetName() == name {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *trace.Span) int {
		return cmp.Or(cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano()),
			cmp.Compare(a.GetEndTimeUnixNano(), b.GetEndTimeUnixNano()),
			cmp.Compare(text(a.GetAttributes(), nodeKey), text(b.GetAttributes(), nodeKey)))
	})
	return all
}

func begin(s *trace.Span) joint {
	return joint{text(s.GetAttributes(), nodeKey), s.GetStartTimeUnixNano()}
}

func end(s *trace.Span) joint {
	return joint{text(s.GetAttributes(), nodeKey), s.GetEndTimeUnixNano()}
}

func isGranted(s *trace.Span) bool { return text(s.GetAttributes(), outcomeKey) == "granted" }

// mode returns the mode of an attempt as in package history.
func mode(s *trace.Span) string {
	if text(s.GetAttributes(), modeKey) == "shared" {
		return history.SharedMode
	}
	if places := number(s.GetAttributes(), placesKey); places > 1 {
		return history.SemaphoreMode(int(places))
	}
	return ""
}

// A conversion makes the events of one attempt.
type conversion struct {
	attempt int32
	mode    string
	events  []history.Event
}

// add adds an event. The events of an attempt are in order even if the clock was set back.
func (c *conversion) add(at uint64, e history.Event) {
	e.At, e.Process, e.Attempt = time.Duration(at), 1, c.attempt
	if last := len(c.events) - 1; last >= 0 {
		e.At = max(e.At, c.events[last].At)
	}
	c.events = append(c.events, e)
}

func (c *conversion) acquired(s *trace.Span) {
	c.add(s.GetStartTimeUnixNano(), history.Event{Kind: history.LockCall, Op: c.mode})
	for _, e := range s.GetEvents() {
		if e.GetName() == queuedEvent {
			c.add(e.GetTimeUnixNano(), history.Event{
				Kind: history.NodeCreated, Path: text(e.GetAttributes(), nodeKey),
			})
		}
	}
	returned := history.Event{Kind: history.LockReturn, Op: c.mode}
	if isGranted(s) {
		returned.Path = text(s.GetAttributes(), nodeKey)
		returned.Zxid = number(s.GetAttributes(), tokenKey)
	} else {
		returned.Err = reason(s)
	}
	c.add(s.GetEndTimeUnixNano(), returned)
}

// held adds the events of a lease, and of the removal of its node unless that span is missing.
func (c *conversion) held(s, release *trace.Span) {
	c.add(s.GetStartTimeUnixNano(), history.Event{Kind: history.Enter, Op: c.mode})
	for _, e := range s.GetEvents() {
		if e.GetName() == downgradedEvent {
			c.add(e.GetTimeUnixNano(), history.Event{Kind: history.Enter, Op: history.SharedMode})
		}
	}
	ended := s.GetEndTimeUnixNano()
	if text(s.GetAttributes(), outcomeKey) != "unlocked" {
		c.add(ended, history.Event{Kind: history.Lost, Err: reason(s)})
		return
	}
	c.add(ended, history.Event{Kind: history.Leave})
	c.add(ended, history.Event{Kind: history.UnlockCall})
	if release == nil {
		return
	}
	returned := history.Event{Kind: history.UnlockReturn}
	if text(release.GetAttributes(), outcomeKey) != "removed" {
		returned.Err = reason(release)
	}
	c.add(release.GetEndTimeUnixNano(), returned)
}

// reason returns why an operation has failed.
func reason(s *trace.Span) string {
	return cmp.Or(s.GetStatus().GetMessage(), text(s.GetAttributes(), outcomeKey), "failed")
}
