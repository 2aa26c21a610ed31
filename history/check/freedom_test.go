package check_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// An event that the monitors of some claims let move past concurrent events hides no violation:
// what breaks a claim in one order breaks one in the other. The events are arbitrary, so the
// freedoms are tested beyond what locks do.
func TestMovedEventsHideNothing(t *testing.T) {
	claims := [][]history.Property{
		{history.FIFO, history.ServerMutualExclusion},
		{history.MonotonicToken, history.Linearizable},
	}
	for _, p := range judged() {
		claims = append(claims, []history.Property{p})
	}
	moved, kept := make(map[string]int), make(map[string]int)
	for _, tc := range capacities {
		t.Run(tc.name, func(t *testing.T) {
			limits := history.Limits{
				WakeUps: 1, Requests: 2, RequestsPerChange: 1,
				RequestsPerSecond: 3, Listens: true, Places: tc.places,
			}
			rapid.Check(t, func(t *rapid.T) {
				b := newBedlam(t)
				b.sharing = tc.sharing
				for range rapid.IntRange(5, 30).Draw(t, "steps") {
					b.step()
				}
				searched := len(b.events) // No reduction is on in the fair phase.
				b.end()
				for _, m := range movesOf(t, b.events, searched) {
					for _, one := range claims {
						m.check(t, one, limits, moved, kept)
					}
				}
			})
		})
	}
	for _, one := range claims {
		t.Logf("%v: %d violations with a moved event, %d with a fixed one", one,
			moved[fmt.Sprint(one)], kept[fmt.Sprint(one)])
	}
	if len(moved) < 15 || len(kept) < 8 {
		t.Errorf("events moved in violations of %d claims, and were fixed in those of %d",
			len(moved), len(kept))
	}
}

// A move takes an event from one place of a history to another, past events that are concurrent.
type move struct {
	events   []history.Event
	from, to int
}

// movesOf returns moves of some of the first events of the history, each as far as possible or less
// far.
func movesOf(t *rapid.T, events []history.Event, first int) (moves []move) {
	for range 4 {
		i := rapid.IntRange(0, first-1).Draw(t, "event")
		if !atProcess(events[i].Kind) {
			continue
		}
		j := i
		for j > 0 && concurrent(&events[i], &events[j-1]) {
			j--
		}
		if j < i {
			moves = append(moves, move{events, i, rapid.IntRange(j, i-1).Draw(t, "sooner")})
		}
		if j = i; holders(events[:i], events[i].Process) > 0 {
			continue
		}
		for j+1 < len(events) && concurrent(&events[i], &events[j+1]) {
			if j++; events[j].Kind == history.LockReturn && events[j].Err == "" {
				break // From here on another process holds the lock.
			}
		}
		if j > i {
			moves = append(moves, move{events, i, rapid.IntRange(i+1, j).Draw(t, "later")})
		}
	}
	return moves
}

// atProcess reports whether a step that a reduction moves can have an event of the kind.
func atProcess(k history.Kind) bool {
	switch k {
	case history.Send, history.Reply, history.SessionState, history.Fault, history.Crashed:
		return true
	}
	return check.OfLock(k)
}

// concurrent reports whether an event at a process can be swapped with one next to it. Time does
// not pass in between.
func concurrent(e, other *history.Event) bool {
	return other.Process != e.Process && other.Kind != history.Tick &&
		other.Kind != history.FairPhase && other.At == e.At
}

// holders counts the processes other than the given one that hold the lock after the events.
func holders(events []history.Event, but int32) int {
	holding := make(map[int32]bool)
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.LockReturn:
			holding[e.Process] = e.Err == ""
		case history.UnlockCall, history.Crashed:
			holding[e.Process] = false
		}
	}
	n := 0
	for p, holds := range holding {
		if holds && p != but {
			n++
		}
	}
	return n
}

// check tests whether the move hides a violation of the claims, if their monitors allow the move.
func (m move) check(t *rapid.T, claims []history.Property, limits history.Limits,
	moved, kept map[string]int,
) {
	first, last := min(m.from, m.to), max(m.from, m.to)
	e, isFault := m.events[m.from], false
	switch e.Kind {
	case history.Fault, history.Crashed:
		isFault = true
	}
	// Some event always follows: the ensemble goes on.
	rest := slices.Insert(slices.Clone(m.events[last+1:]), 0,
		history.Event{At: m.events[last].At, Kind: history.Serve, Process: 4})
	between := slices.Delete(slices.Clone(m.events[first:last+1]), m.from-first, m.from-first+1)
	before := m.events[:first]
	sooner := slices.Concat(before, []history.Event{e}, between, rest)
	later := slices.Concat(before, between, []history.Event{e}, rest)
	monitor := check.NewMonitor(claims, limits)
	monitor.Observe(sooner[:first])
	monitor.Observe(sooner[:first+1])
	one, other, hides := sooner, later, monitor.LaterHides(first)
	if m.to < m.from {
		one, other, hides = later, sooner, monitor.SoonerHides(first)
		monitor.Reset()
		monitor.Observe(slices.Concat(before, between))
		if isFault && monitor.Violated() {
			return
		}
	} else if monitor.Violated() { // The search has found this violation.
		return
	}
	name := fmt.Sprint(claims)
	if !broken(claims, limits, one) {
		return
	}
	if hides {
		kept[name]++
		return
	}
	moved[name]++
	if !broken(claims, limits, other) {
		t.Fatalf("%v: %s moves from %d to %d and hides a violation of\n%s", claims,
			brief([]history.Event{e}), m.from, m.to, brief(one))
	}
}

// broken reports whether a history breaks one of the claims.
func broken(claims []history.Property, limits history.Limits, events []history.Event) bool {
	m := check.NewMonitor(claims, limits)
	m.Observe(events)
	return len(m.Finish(events)) > 0
}
