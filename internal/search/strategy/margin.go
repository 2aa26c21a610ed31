package strategy

import (
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// Margin mutates the timings whose runs came closest to a breach of mutual exclusion: those with
// the smallest margin from a holder's loss of the lock to the next grant. The margin is the
// robustness of the property (Donzé and Maler, "Robust Satisfaction of Temporal Logic over
// Real-Valued Signals", FORMATS 2010), and the search minimises it as S-TaLiRo does (Annpureddy,
// Liu, Fainekos and Sankaranarayanan, "S-TaLiRo", TACAS 2011).
//
// It deviates from them: it follows no single point but the best few, because many have the same
// margin.
type Margin struct {
	timing  *timing
	shifts  []sim.Step // still to be asked for
	strikes []strike   // still to come

	section  uint8
	time     int // time steps so far
	entered  int // time steps before the last entry
	messages int // steps of threads since the last entry
	steady   int // steps of threads since the last time step
	heals    int // time steps after which the effects of faults may end
	holds    []hold

	options []sim.EnabledStep // scratch memory: the steps that nothing holds back
	indexes []int             // of the options among the enabled steps
}

// A hold keeps a thread from taking steps, or only from leaving its critical section.
type hold struct {
	thread  int32
	leaving bool
	until   int // time steps
}

// freshOdds is such that one in so many timings is drawn anew.
const freshOdds = 4

// NewMargin returns the strategy of a schedule. Its timing is a mutation of one of the near misses,
// or drawn anew. Where no timer has a phase and there are no near misses, half of the schedules are
// random walks: without a session that ends under its holder, the order of steps matters more than
// times.
func NewMargin(p *Profile, near nearMisses, seed uint64, schedule int) engine.Strategy {
	t := timingOf(p, near, seed, schedule)
	if t == nil {
		return Timed(NewRandom(seed, schedule), p, seed, schedule)
	}
	m := &Margin{timing: t, strikes: slices.Clone(t.strikes)}
	for i, step := range p.Shifts {
		if step.Peer = t.phases[i]; step.Peer > 0 {
			m.shifts = append(m.shifts, step)
		}
	}
	return m
}

// timingOf returns the timing of a schedule, or nil if it is a random walk.
func timingOf(p *Profile, near nearMisses, seed uint64, schedule int) *timing {
	draw := NewRandom(seed^0x6d617267, schedule)
	switch {
	case len(p.Shifts)+len(near) == 0 && draw.Below(2) == 0:
		return nil
	case len(near) == 0 || draw.Below(freshOdds) == 0:
		return drawTiming(draw, p)
	}
	closer := min(draw.Below(uint64(len(near))), draw.Below(uint64(len(near))))
	return near[closer].timing.mutated(draw)
}

// Choose asks for the phases first. Then it returns the step of the default policy among those that
// nothing holds back, or a fault when its time has come.
func (m *Margin) Choose(_ int, enabled []sim.EnabledStep, _ int) int {
	if len(m.shifts) > 0 {
		shift := m.shifts[0]
		m.shifts = m.shifts[1:]
		return engine.Ask(shift)
	}
	chosen := m.choose(enabled)
	for m.delay(&enabled[chosen]) {
		chosen = m.choose(enabled)
	}
	step := &enabled[chosen]
	if fault, ok := m.strike(enabled, step.Kind >= sim.Tick); ok {
		return fault
	}
	if step.Kind < sim.Tick {
		m.messages++
		m.steady++
		if step.Kind == sim.Enter {
			m.enter(step.Thread())
		}
		return chosen
	}
	m.time++
	m.steady = 0
	if kind := m.passes(); kind != sim.Tick {
		return engine.Ask(sim.Step{Kind: kind})
	}
	return chosen
}

// enter begins a critical section.
func (m *Margin) enter(thread int32) {
	m.section = min(m.section+1, sections-1)
	m.entered, m.messages = m.time, 0
	m.holds = append(m.holds, hold{
		thread: thread, leaving: true, until: m.time + int(m.timing.stays[m.section]),
	})
}

// choose returns the index of the step of the default policy among those that are not held back.
// Time does not pass, however, while a process can enter or leave: otherwise a client that keeps
// dialing would keep others out.
func (m *Margin) choose(enabled []sim.EnabledStep) int {
	m.options, m.indexes = m.options[:0], m.indexes[:0]
	gate := -1
	for i := range enabled {
		step := &enabled[i]
		if step.Kind == sim.Fault || m.held(step) {
			continue
		}
		if gate < 0 && (step.Kind == sim.Enter || step.Kind == sim.Leave) {
			gate = i
		}
		m.options, m.indexes = append(m.options, *step), append(m.indexes, i)
	}
	chosen := m.indexes[engine.DefaultIndex(m.options)]
	if enabled[chosen].Kind == sim.Tick && gate >= 0 {
		return gate
	}
	return chosen
}

// held reports whether a step is held back.
func (m *Margin) held(step *sim.EnabledStep) bool {
	switch {
	case step.Kind == sim.Heal || step.Kind == sim.Resume:
		return m.time < m.heals
	case step.Kind >= sim.Tick:
		return false
	}
	return slices.ContainsFunc(m.holds, func(h hold) bool {
		return m.time < min(h.until, heldMax) && h.thread == step.Thread() &&
			(!h.leaving || step.Kind == sim.Leave)
	})
}

// delay reports whether a delay begins at a step. If so, the thread of the step is held back.
func (m *Margin) delay(step *sim.EnabledStep) bool {
	if step.Kind >= sim.Tick || step.Kind == sim.Enter || step.Kind == sim.Leave {
		return false
	}
	for _, d := range m.timing.delays {
		if d.section == m.section && int(d.messages) == m.messages && d.lasts > 0 {
			m.messages++
			m.holds = append(m.holds, hold{thread: step.Thread(), until: m.time + int(d.lasts)})
			return true
		}
	}
	return false
}

// strike returns the index of the fault that strikes now, if one does. A fault whose time has come
// waits until one is possible, and for the steps of threads before it, unless time would pass.
func (m *Margin) strike(enabled []sim.EnabledStep, timePasses bool) (index int, ok bool) {
	first := len(enabled)
	for first > 0 && enabled[first-1].Kind == sim.Fault {
		first--
	}
	if first == len(enabled) {
		return 0, false
	}
	at := slices.IndexFunc(m.strikes, func(s strike) bool {
		due := s.section < m.section ||
			s.section == m.section && int(s.time) <= m.time-m.entered
		return due && (timePasses || int(s.messages) <= m.steady)
	})
	if at < 0 {
		return 0, false
	}
	s := m.strikes[at]
	m.strikes = slices.Delete(m.strikes, at, at+1)
	m.heals = m.time + int(s.lasts)
	return first + s.pick(enabled[first:]), true
}

// passes returns the kind of the present time step.
func (m *Margin) passes() sim.StepKind {
	for _, s := range m.strikes {
		if s.section == m.section && int(s.time) == m.time-m.entered {
			return s.passes
		}
	}
	return sim.Tick
}

// pick returns the index of the fault among those that are possible, which are in the order of
// their kinds.
func (s *strike) pick(possible []sim.EnabledStep) int {
	var starts [int(faults.Kinds) + 1]int // of the kinds that are possible
	kinds := 0
	for i := range possible {
		if i == 0 || possible[i].Fault != possible[i-1].Fault {
			starts[kinds] = i
			kinds++
		}
	}
	starts[kinds] = len(possible)
	kind := int(s.kind) % kinds
	return starts[kind] + int(s.victim)%(starts[kind+1]-starts[kind])
}
