package referee

import (
	"math/rand/v2"
	"slices"

	"github.com/interlock-sim/interlock/sim"
)

// This file runs schedules of maximal progress (Wang Yi, "CCS + Time = an Interleaving Model for
// Real Time Systems", ICALP 1991): time passes only if nothing else is urgent. It selects such
// steps from the enabled steps of a run alone, independently of the exhaustive search, whose scope
// contains them all:
//
//   - messages take no time;
//   - time passes if no other step is enabled, or if no message is in flight, no process is about
//     to enter its critical section, no link can be healed, and a session is about to expire or a
//     client to dial;
//   - once time passes, it passes until a step is enabled that was not enabled before.
//
// The scope of the search contains other schedules too.

// maximalProgress selects steps of maximal progress. Its zero value is ready to use for one run.
type maximalProgress struct {
	passing bool       // the last step was a tick
	before  []sim.Step // the steps enabled before that, except faults
}

// progressing returns the indexes of the steps that keep maximal progress, those of faults last.
// There is at least one.
func (m *maximalProgress) progressing(enabled []sim.EnabledStep) (indexes []int) {
	messages, tick, due, heals := false, -1, false, false
	var steps []sim.Step
	for i := range enabled {
		o := &enabled[i]
		switch o.Kind {
		case sim.Tick:
			tick, due = i, o.Due
			continue
		case sim.Fault:
			continue
		case sim.Serve, sim.Deliver, sim.Enter, sim.Log, sim.Apply:
			messages = true
		case sim.Heal:
			heals = true
		}
		steps = append(steps, o.Step)
	}
	if m.passing && slices.Equal(steps, m.before) && (due || len(steps) == 0) {
		return []int{tick}
	}
	m.passing, m.before = false, steps
	for i := range enabled {
		switch {
		case i != tick:
		case messages, len(steps) > 0 && (!due || heals):
			continue
		}
		indexes = append(indexes, i)
	}
	return indexes
}

// record records the chosen step.
func (m *maximalProgress) record(step sim.Step) { m.passing = step.Kind == sim.Tick }

// A randomWalk draws random schedules of maximal progress.
type randomWalk struct {
	maximalProgress
	source *rand.Rand
	odds   int // a fault is considered in one of odds decisions
}

// newRandomWalk returns the walk with that number, which seeds it.
func newRandomWalk(number int) *randomWalk {
	source := rand.New(rand.NewPCG(uint64(number), 1))
	return &randomWalk{source: source, odds: 2 << source.IntN(5)}
}

// Choose implements [engine.Strategy].
func (w *randomWalk) Choose(_ int, enabled []sim.EnabledStep, _ int) int {
	indexes := w.progressing(enabled)
	first := slices.IndexFunc(indexes,
		func(i int) bool { return enabled[i].Kind == sim.Fault })
	switch {
	case first < 0:
		first = len(indexes)
	case first == 0 || w.source.IntN(w.odds) == 0:
		return w.take(enabled, indexes[first:])
	}
	return w.take(enabled, indexes[:first])
}

func (w *randomWalk) take(enabled []sim.EnabledStep, indexes []int) int {
	i := indexes[w.source.IntN(len(indexes))]
	w.record(enabled[i].Step)
	return i
}

// An enumeration runs all schedules of maximal progress in turn, without any reduction or stored
// states.
type enumeration struct {
	maximalProgress
	path []choicePoint
}

// A choicePoint is a decision on the path, and the number of its choices.
type choicePoint struct{ taken, choices int }

// Choose implements [engine.Strategy]. It follows the path, and takes the first choice beyond.
func (e *enumeration) Choose(index int, enabled []sim.EnabledStep, _ int) int {
	if index == 0 {
		e.maximalProgress = maximalProgress{}
	}
	indexes := e.progressing(enabled)
	if index == len(e.path) {
		e.path = append(e.path, choicePoint{0, len(indexes)})
	}
	i := indexes[e.path[index].taken]
	e.record(enabled[i].Step)
	return i
}

// next advances to the next schedule, and reports whether there is one.
func (e *enumeration) next() bool {
	for n := len(e.path) - 1; n >= 0; n-- {
		if b := &e.path[n]; b.taken+1 < b.choices {
			b.taken++
			e.path = e.path[:n+1]
			return true
		}
	}
	return false
}
