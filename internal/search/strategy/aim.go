package strategy

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// An aim lets faults of chosen kinds strike in chosen phases of the lock. Without it, most faults
// strike in the phases in which a lock spends most of its steps: of a lock that first creates its
// parents in 25 requests, a fault of a holder is rare.
type aim struct {
	cells []faults.CoverageCell // that no fault has struck yet, in order
	tried int                   // the first cell, as an index of [rareCells]
	odds  uint64                // a step at which the fault is possible is taken in one of so many
	// In a phase with a request in flight, the fault waits until the victim has received a reply
	// and the server has not handled the next request.
	answered bool
	first    bool        // other faults wait until this one has struck
	view     engine.View // of the run
	watching bool        // view is set
	matching []int
}

const (
	aimedEvery = 2 // one schedule in so many has an aim
	cellsMax   = 3 // cells of an aim; a fault strikes in one after the other
)

// aimOdds are the values of odds that schedules draw from. A phase can last for many steps.
var aimOdds = [...]uint64{1, 2, 4, 16}

// drawAim returns the aim of a schedule, or nil if the schedule has none.
func drawAim(cells *rareCells, seed uint64, schedule int) *aim {
	if cells.len() == 0 {
		return nil
	}
	draw := NewRandom(seed^0x61696d, schedule)
	if draw.Below(aimedEvery) > 0 {
		return nil
	}
	a := &aim{
		odds:     aimOdds[draw.Below(uint64(len(aimOdds)))],
		answered: draw.Below(8) == 0,
		first:    draw.Below(4) > 0,
	}
	a.tried = cells.draw(draw)
	a.cells = append(a.cells, cells.cells[a.tried])
	for range draw.Below(cellsMax) {
		a.cells = append(a.cells, cells.cells[cells.draw(draw)])
	}
	return a
}

// aimed is a strategy that can have an aim: each that embeds [Random].
type aimed interface {
	engine.Strategy
	setAim(*aim)
}

// Aimed returns the strategy with the aim that the schedule draws from all cells of the profile. A
// strategy whose faults no [Random] draws stays as it is.
func Aimed(s engine.Strategy, p *Profile, seed uint64, schedule int) engine.Strategy {
	return aimedAt(s, p.cells, seed, schedule)
}

// aimedAt is [Aimed] with other weights of the cells.
func aimedAt(s engine.Strategy, cells *rareCells, seed uint64, schedule int) engine.Strategy {
	if strategy, ok := s.(aimed); ok {
		strategy.setAim(drawAim(cells, seed, schedule))
	}
	return s
}

func (r *Random) setAim(a *aim) { r.aim = a }

// Watch lets the aim of the schedule see the phases of the run.
func (r *Random) Watch(view engine.View) {
	if r.aim != nil {
		r.aim.view, r.aim.watching = view, true
	}
}

// strikes returns a fault if one is drawn. The faults start at the given index.
func (r *Random) strikes(enabled []sim.EnabledStep, first int) (index int, ok bool) {
	if first == len(enabled) {
		return 0, false
	}
	if a := r.aim; a != nil && a.watching && len(a.cells) > 0 {
		if index, ok = a.choose(r, enabled, first); ok {
			r.weights[sim.Tick] = r.tick
			return index, true
		}
		if a.first {
			return 0, false
		}
	}
	if r.Below(r.faultOdds) > 0 {
		return 0, false
	}
	return r.fault(enabled, first), true
}

// choose returns a fault of the next cell if one is possible now and the draw takes this moment.
func (a *aim) choose(draw *Random, enabled []sim.EnabledStep, first int) (index int, ok bool) {
	a.matching = a.matching[:0]
	cell := a.cells[0]
	answered := a.answered && cell.Phase.Requests()
	for i := first; i < len(enabled); i++ {
		if step := enabled[i].Step; step.Fault == cell.Kind && a.view.Phase(step) == cell.Phase &&
			(!answered || a.view.Answered(step)) {
			a.matching = append(a.matching, i)
		}
	}
	if len(a.matching) == 0 || draw.Below(a.odds) > 0 {
		return 0, false
	}
	a.cells = a.cells[1:]
	return a.matching[draw.Below(uint64(len(a.matching)))], true
}
