package referee

import (
	"math/rand/v2"
	"slices"

	"github.com/interlock-sim/interlock/scenarios"
)

// What follows lists, from the options of a run alone, steps that an exhaustive search goes through
// by what it says of itself: messages take no time; time passes where nothing else can happen, or
// where no message is under way, nobody is on the way into its critical section, and a session is
// about to end or a client to dial; and once time passes, it does until something can happen that
// could not before. A schedule of such steps is calm. There are schedules that a search goes
// through and that are not calm.

// maximalProgress keeps track of time that passes.
type maximalProgress struct {
	passing bool             // time has passed last
	before  []scenarios.Step // what could happen before that, apart from faults
}

// enabled returns the indexes of the enabled by which a schedule stays calm, those of faults last.
// There is at least one.
func (c *maximalProgress) enabled(options []scenarios.EnabledStep) (indexes []int) {
	messages, tick, due, heals := false, -1, false, false
	var steps []scenarios.Step
	for i := range options {
		o := &options[i]
		switch o.Kind {
		case scenarios.Tick:
			tick, due = i, o.Due
			continue
		case scenarios.Fault:
			continue
		case scenarios.Serve, scenarios.Deliver, scenarios.Enter, scenarios.Log, scenarios.Apply:
			messages = true
		case scenarios.Heal:
			heals = true
		}
		steps = append(steps, o.Step)
	}
	if c.passing && slices.Equal(steps, c.before) && (due || len(steps) == 0) {
		return []int{tick}
	}
	c.passing, c.before = false, steps
	for i := range options {
		switch {
		case i != tick:
		case messages, len(steps) > 0 && (!due || heals):
			continue
		}
		indexes = append(indexes, i)
	}
	return indexes
}

// record takes note of what happens next.
func (c *maximalProgress) record(step scenarios.Step) { c.passing = step.Kind == scenarios.Tick }

// A randomWalk is a random randomWalk through calm schedules.
type randomWalk struct {
	maximalProgress
	source *rand.Rand
	odds   int // a fault is considered in one of so many decisions
}

// newRandomWalk returns the walk of that number.
func newRandomWalk(number int) *randomWalk {
	source := rand.New(rand.NewPCG(uint64(number), 1))
	return &randomWalk{source: source, odds: 2 << source.IntN(5)}
}

// Choose draws a step.
func (w *randomWalk) Choose(_ int, options []scenarios.EnabledStep, _ int) int {
	indexes := w.enabled(options)
	first := slices.IndexFunc(indexes,
		func(i int) bool { return options[i].Kind == scenarios.Fault })
	switch {
	case first < 0:
		first = len(indexes)
	case first == 0 || w.source.IntN(w.odds) == 0:
		return w.take(options, indexes[first:])
	}
	return w.take(options, indexes[:first])
}

func (w *randomWalk) take(options []scenarios.EnabledStep, indexes []int) int {
	i := indexes[w.source.IntN(len(indexes))]
	w.record(options[i].Step)
	return i
}

// An enumeration goes through all calm schedules, one after the other, with nothing left out and no
// state recognized.
type enumeration struct {
	maximalProgress
	path []choicePoint
}

// A choicePoint is a decision on the way, and how many are left to be tried there.
type choicePoint struct{ taken, choices int }

// Choose follows the way, and takes the first of what can happen beyond its end.
func (e *enumeration) Choose(index int, options []scenarios.EnabledStep, _ int) int {
	if index == 0 {
		e.maximalProgress = maximalProgress{}
	}
	indexes := e.enabled(options)
	if index == len(e.path) {
		e.path = append(e.path, choicePoint{0, len(indexes)})
	}
	i := indexes[e.path[index].taken]
	e.record(options[i].Step)
	return i
}

// next turns to the next schedule, and reports whether there is one.
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
