package strategy

import (
	"math"
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// Mutant mutates a schedule that showed behaviour which was new then, so that campaigns explore
// what lies near it. As in the havoc stage of AFL (M. Zalewski, "Technical whitepaper for
// afl-fuzz", 2014), one to four random changes are stacked: a deviation from the default policy is
// removed, moved, or replaced by a random step, a random step is inserted, the phase of a timer
// changes, or from some decision on the schedule is a random walk or that of another parent.
//
// A change moves what follows. So a deviation that is not possible at its decision waits for a few
// decisions, and its successors with it.
type Mutant struct {
	*Random // draws the steps that are not the parent's

	shifts []sim.Step // phases of timers, still to be asked for
	plan   []engine.Deviation
	places []int // decisions at which a step is drawn
	walk   int   // decision from which on all steps are drawn
}

const (
	// waitMax is for how many decisions a deviation waits until it is possible.
	waitMax = 4
	// moveMax bounds by how many decisions a deviation moves.
	moveMax = 8
	// beyond is how far behind the last deviation a step may be inserted.
	beyond = 16
)

// NewMutant returns the mutation of one of the parents, at least one, that belongs to a seed and a
// schedule's number.
func NewMutant(parents []Parent, seed uint64, schedule int) *Mutant {
	m := &Mutant{Random: NewRandom(seed^0x6d757461, schedule), walk: math.MaxInt}
	m.plan = slices.Clone(m.parent(parents).Deviations)
	for len(m.plan) > 0 && m.plan[0].Step.Kind == sim.Shift {
		m.shifts, m.plan = append(m.shifts, m.plan[0].Step), m.plan[1:]
	}
	for range 1 + m.Below(4) {
		m.mutate(parents)
	}
	return m
}

// parent draws a parent. Later ones, whose behaviour was new to more schedules, are more probable.
func (m *Mutant) parent(parents []Parent) *Parent {
	n := uint64(len(parents))
	return &parents[max(m.Below(n), m.Below(n))]
}

// length returns the number of decisions in which changes are made.
func (m *Mutant) length() int {
	if len(m.plan) == 0 {
		return beyond
	}
	return m.plan[len(m.plan)-1].Index + beyond
}

// mutate makes a change.
func (m *Mutant) mutate(parents []Parent) {
	change, n := m.Below(8), uint64(len(m.plan))
	switch {
	case change == 0 && len(m.shifts) > 0:
		m.shifts[m.Below(uint64(len(m.shifts)))].Peer = uint8(1 + m.Below(sim.PhaseParts-1))
	case change <= 1:
		m.leave(int(m.Below(uint64(m.length()))), parents)
	case change <= 3 || n == 0:
		m.places = append(m.places, int(m.Below(uint64(m.length()))))
	default:
		at := int(m.Below(n))
		d := m.plan[at]
		m.plan = slices.Delete(m.plan, at, at+1)
		switch change {
		case 4:
			m.places = append(m.places, d.Index)
		case 5:
			d.Index = max(0, d.Index-moveMax+int(m.Below(2*moveMax+1)))
			m.insert(d)
		}
	}
}

// leave leaves the parent's schedule at a decision, for a random walk or for another parent's.
func (m *Mutant) leave(from int, parents []Parent) {
	behind := func(d engine.Deviation) bool { return d.Index >= from }
	m.plan = slices.DeleteFunc(m.plan, behind)
	if m.Below(2) == 0 {
		m.walk = from
		return
	}
	for _, d := range m.parent(parents).Deviations {
		if behind(d) && d.Step.Kind != sim.Shift {
			m.plan = append(m.plan, d)
		}
	}
}

// insert inserts a deviation behind others with its index.
func (m *Mutant) insert(d engine.Deviation) {
	at := slices.IndexFunc(m.plan,
		func(other engine.Deviation) bool { return other.Index > d.Index })
	if at < 0 {
		at = len(m.plan)
	}
	m.plan = slices.Insert(m.plan, at, d)
}

// Choose asks for the phases first, and then follows the mutated schedule.
func (m *Mutant) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if len(m.shifts) > 0 {
		shift := m.shifts[0]
		m.shifts = m.shifts[1:]
		return engine.Ask(shift)
	}
	if index >= m.walk || slices.Contains(m.places, index) {
		return m.Random.Choose(index, enabled, defaultIndex)
	}
	for len(m.plan) > 0 && m.plan[0].Index <= index {
		d := m.plan[0]
		if choice, ok := choiceOf(d.Step, enabled); ok {
			m.plan = m.plan[1:]
			return choice
		}
		if index < d.Index+waitMax {
			break
		}
		m.plan = m.plan[1:]
	}
	return defaultIndex
}

// choiceOf returns the choice of a step, if it is possible.
func choiceOf(step sim.Step, enabled []sim.EnabledStep) (choice int, ok bool) {
	asked := step
	if step.Unlisted() { // It stands for a tick.
		step = sim.Step{Kind: sim.Tick}
	}
	at := slices.IndexFunc(enabled, func(e sim.EnabledStep) bool { return e.Step == step })
	if at >= 0 && asked != step {
		return engine.Ask(asked), true
	}
	return at, at >= 0
}
