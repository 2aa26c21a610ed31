package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const reasonOlderTerm = "a process saw the leader of an older term after that of a newer one"

// termKinds holds the kinds of events by which a process learns of a term.
const termKinds = 1<<history.LockReturn | 1<<history.Observed

// TermsInOrder decides [history.TermsInOrder] for an election. The terms are fencing tokens, which
// rise: see [MonotonicToken].
//
// A process sees a term when it observes the term's leader, and when it becomes that leader: Lock
// returns with the token. The terms that a process sees never fall. It may see one term several
// times, and none of others.
//
// The check takes time linear in the events, times the number of processes.
func TermsInOrder(events []history.Event) *history.Violation {
	return decide(history.TermsInOrder, new(termMonitor), events)
}

// A seenTerm is the newest term that a process has seen.
type seenTerm struct {
	process int32
	term    int64
	event   int // for the evidence alone
}

type termMonitor struct{ seen []seenTerm }

func (m *termMonitor) reset() { m.seen = m.seen[:0] }

func (m *termMonitor) copy(from monitor) {
	m.seen = append(m.seen[:0], from.(*termMonitor).seen...)
}

func (m *termMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *termMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for _, one := range m.seen {
		if !s.ended(one.process) {
			sum += fold(uint64(one.process), uint64(one.term))
		}
	}
	s.fold(sum, 0)
}

// freedom: only the order of a process's own events matters.
func (m *termMonitor) freedom(*queue, *history.Event) freedom { return anywhere }

func (m *termMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if e.Err != "" || e.Zxid == 0 {
		return nil
	}
	n := slices.IndexFunc(m.seen, func(one seenTerm) bool { return one.process == e.Process })
	if n < 0 {
		m.seen = append(m.seen, seenTerm{e.Process, e.Zxid, i})
		return nil
	}
	before := m.seen[n]
	if e.Zxid >= before.term {
		m.seen[n] = seenTerm{e.Process, e.Zxid, i}
		return nil
	}
	return &history.Violation{
		Property: history.TermsInOrder, Event: i, Reason: reasonOlderTerm,
		Detail: fmt.Sprintf("c%d saw the leader of term %d after that of term %d", e.Process,
			e.Zxid, before.term),
		Evidence: history.Evidence{
			Process: e.Process, Path: e.Path, Events: []int{before.event}, Zxid: e.Zxid,
			After: before.term,
		},
	}
}

// laterObservations counts the observations of processes that have seen a term before.
func laterObservations(events []history.Event) (n int) {
	var space [16]int32
	seen := space[:0]
	for i := range events {
		e := &events[i]
		if 1<<e.Kind&termKinds == 0 || e.Err != "" || e.Zxid == 0 {
			continue
		}
		switch known := slices.Contains(seen, e.Process); {
		case !known:
			seen = append(seen, e.Process)
		case e.Kind == history.Observed:
			n++
		}
	}
	return n
}
