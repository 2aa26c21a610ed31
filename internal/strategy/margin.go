package strategy

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/sim"
)

// Margin mutates the schedules whose runs came closest to a breach of mutual exclusion: those with
// the smallest margin from a holder's loss of the lock to its session's end. The margin is the
// robustness of the property (Donzé and Maler, "Robust Satisfaction of Temporal Logic over
// Real-Valued Signals", FORMATS 2010), and the search minimises it as S-TaLiRo does (Annpureddy,
// Liu, Fainekos and Sankaranarayanan, "S-TaLiRo", TACAS 2011).
//
// It deviates from them: what it mutates are decisions instead of signals, and it follows no single
// point but the best few schedules, because most mutations of a schedule break it.
type Margin struct {
	shifts []engine.Deviation
	asked  int // shifts that were asked for
	replay engine.Replay
	end    int             // decision from which on another strategy decides
	then   engine.Strategy // nil for the default policy
}

const (
	freshOdds = 8 // one in so many schedules is drawn anew
	tailOdds  = 2 // one in so many mutated schedules ends in random decisions
)

// NewMargin returns the strategy of a schedule, which mutates one of the near misses, or draws a
// schedule as [Random] does.
func NewMargin(p *Profile, near nearMisses, seed uint64, schedule int) engine.Strategy {
	draw := NewRandom(seed^0x6d617267, schedule)
	if len(near) == 0 || draw.Below(freshOdds) == 0 {
		return Timed(NewRandom(seed, schedule), p, seed, schedule)
	}
	parent := near[min(draw.Below(uint64(len(near))), draw.Below(uint64(len(near))))]
	m := &mutation{
		Random: draw, profile: p,
		shifts: slices.Clone(parent.shifts), rest: slices.Clone(parent.rest),
	}
	for again := true; again; again = draw.Below(2) == 0 {
		m.mutate()
	}
	s := &Margin{shifts: m.shifts, replay: engine.Replay{Deviations: m.rest}}
	if draw.Below(tailOdds) == 0 {
		s.end, s.then = m.cut(), &timed{
			Strategy: draw, source: draw, odds: timedOdds[draw.Below(uint64(len(timedOdds)))],
		}
	}
	return s
}

// Choose returns the step of the mutated schedule.
func (s *Margin) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if s.asked < len(s.shifts) {
		s.asked++
		return engine.Ask(s.shifts[s.asked-1].Step)
	}
	index -= len(s.shifts)
	if s.then != nil && index >= s.end {
		return s.then.Choose(index, enabled, defaultIndex)
	}
	return s.replay.Choose(index, enabled, defaultIndex)
}

// A mutation is a schedule while it is mutated.
type mutation struct {
	*Random
	profile      *Profile
	shifts, rest []engine.Deviation
}

// mutate changes the schedule in one way.
func (m *mutation) mutate() {
	switch m.Below(4) {
	case 0:
		m.shift()
	case 1:
		m.time()
	case 2:
		m.move()
	case 3:
		m.remove()
	}
}

// shift moves the phase of a timer, if one has a phase, in half of all cases only a little.
func (m *mutation) shift() {
	if len(m.profile.Shifts) == 0 {
		return
	}
	step := m.profile.Shifts[m.Below(uint64(len(m.profile.Shifts)))]
	at := slices.IndexFunc(m.shifts, func(d engine.Deviation) bool {
		return d.Step.Process == step.Process
	})
	if at >= 0 {
		step = m.shifts[at].Step
		m.shifts = slices.Delete(m.shifts, at, at+1)
	}
	by := m.Below(sim.PhaseParts)
	if m.Below(2) == 0 {
		by = sim.PhaseParts - 4 + m.Below(9)
	}
	if step.Peer = uint8((uint64(step.Peer) + by) % sim.PhaseParts); step.Peer > 0 {
		m.shifts = append(m.shifts, engine.Deviation{Step: step})
	}
}

// time replaces a step that passes time, or inserts one.
func (m *mutation) time() {
	step := sim.Step{Kind: [...]sim.StepKind{sim.Tick, sim.Before, sim.After}[m.Below(3)]}
	at := m.any(func(s sim.Step) bool { return s.PassesTime() })
	if at >= 0 && m.Below(2) == 0 {
		m.rest[at].Step = step
		return
	}
	index := int(m.Below(uint64(m.length() + 1)))
	at, _ = slices.BinarySearchFunc(m.rest, index, func(d engine.Deviation, index int) int {
		return d.Index - index
	})
	m.rest = slices.Insert(m.rest, at, engine.Deviation{Index: index, Step: step})
	m.renumber(at+1, 1)
}

// move lets a fault strike, or end, a few decisions earlier or later.
func (m *mutation) move() {
	at := m.any(func(s sim.Step) bool {
		return s.Kind == sim.Fault || s.Kind == sim.Heal || s.Kind == sim.Resume
	})
	if at < 0 {
		return
	}
	moved := m.rest[at]
	moved.Index = max(0, moved.Index-8+int(m.Below(17)))
	m.rest = slices.Delete(m.rest, at, at+1)
	at, _ = slices.BinarySearchFunc(m.rest, moved.Index, func(d engine.Deviation, index int) int {
		return d.Index - index
	})
	m.rest = slices.Insert(m.rest, at, moved)
	for ; at+1 < len(m.rest) && m.rest[at+1].Index == m.rest[at].Index; at++ {
		m.rest[at+1].Index++
	}
}

// remove leaves out a few deviations. Those behind them come as much earlier in half of all cases.
func (m *mutation) remove() {
	if len(m.rest) == 0 {
		return
	}
	at := int(m.Below(uint64(len(m.rest))))
	n := min(1+int(m.Below(4)), len(m.rest)-at)
	m.rest = slices.Delete(m.rest, at, at+n)
	if m.Below(2) == 0 {
		m.renumber(at, -n)
	}
}

// any returns the index of one of the deviations with a property, or -1 if there is none.
func (m *mutation) any(is func(sim.Step) bool) int {
	found, count := -1, uint64(0)
	for i := range m.rest {
		if is(m.rest[i].Step) {
			if count++; m.Below(count) == 0 {
				found = i
			}
		}
	}
	return found
}

// renumber moves the decisions of the deviations from one on.
func (m *mutation) renumber(from, by int) {
	for i := from; i < len(m.rest); i++ {
		m.rest[i].Index += by
	}
}

// length returns the number of decisions up to the last deviation.
func (m *mutation) length() int {
	if len(m.rest) == 0 {
		return 0
	}
	return m.rest[len(m.rest)-1].Index + 1
}

// cut draws a decision, more often a late one.
func (m *mutation) cut() int {
	n := uint64(m.length() + 1)
	return int(max(m.Below(n), m.Below(n)))
}
