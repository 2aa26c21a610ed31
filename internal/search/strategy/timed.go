package strategy

import (
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A timed strategy follows another strategy, but in some schedules the timers of the system have
// random phases, and some ticks end just before or just after an instant at which a timer fires. A
// defect that shows only if two timers meet within a short time is rarely found otherwise.
type timed struct {
	engine.Strategy
	source *Random
	shifts []sim.Step // still to be asked for
	odds   uint64     // out of 8 that a Tick becomes a Before or an After
}

// timedOdds are the values of odds that schedules draw from: half of the schedules have none.
var timedOdds = [...]uint64{0, 0, 1, 4}

// instantOdds are the odds where the plan restricts a fault to an instant before a timer fires.
const instantOdds = 6

// Timed returns the strategy with the phases and the time steps that the schedule draws, or the
// strategy itself if no timer of the system has a phase and the plan names none.
func Timed(s engine.Strategy, p *Profile, seed uint64, schedule int) engine.Strategy {
	if len(p.Shifts) == 0 && !p.instants {
		return s
	}
	draw := NewRandom(seed^0x70686173, schedule)
	t := &timed{Strategy: s, source: draw, odds: timedOdds[draw.Below(uint64(len(timedOdds)))]}
	if draw.Below(2) == 0 {
		t.shifts = drawShifts(draw, p)
	}
	if p.instants {
		t.odds = instantOdds
	}
	if t.shifts == nil && t.odds == 0 {
		return s
	}
	return t
}

// drawShifts draws the phases of the timers.
func drawShifts(draw *Random, p *Profile) (shifts []sim.Step) {
	for _, step := range p.Shifts {
		if step.Peer = uint8(draw.Below(sim.PhaseParts)); step.Peer > 0 {
			shifts = append(shifts, step)
		}
	}
	return shifts
}

// Watch lets the other strategy see the state of the run.
func (t *timed) Watch(view engine.View) { engine.Watch(t.Strategy, view) }

// Choose asks for the phases first, and then chooses as the other strategy does.
func (t *timed) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	if len(t.shifts) > 0 {
		shift := t.shifts[0]
		t.shifts = t.shifts[1:]
		return engine.Ask(shift)
	}
	chosen := t.Strategy.Choose(index, enabled, defaultIndex)
	if chosen < 0 || enabled[chosen].Kind != sim.Tick || t.source.Below(8) >= t.odds {
		return chosen
	}
	kind := sim.Before
	if t.source.Below(2) == 0 {
		kind = sim.After
	}
	return engine.Ask(sim.Step{Kind: kind})
}
