package exhaustive

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A timeJump lets time pass, tick by tick, until something has happened: a transaction, an action
// of a process, or a step that was not enabled before. A failed connection attempt ends the jump
// only if healing the link could have made it succeed. Where nothing is going to happen, a jump is
// a single tick.
type timeJump struct {
	active       bool // on the path
	transactions int64
	expires      bool       // data waited for their expiry before
	steps        []sim.Step // enabled before
}

// jumps reports whether the tick of a frame begins a jump. Without reduction, it does where time
// passes because of an expiry: an idle tick jumps to the expiry, so that a longer one takes no more
// idle ticks unless a process acts before; and after the expiry, a tick jumps until a process acts.
func (x *dfs) jumps(f *frame) bool {
	return x.bound == 0 && (!x.search.NoReduction || f.wasteful && x.view.Expires() ||
		!f.wasteful && x.view.Expired())
}

// begin stores the state before the first tick of the jump.
func (l *timeJump) begin(view engine.View, enabled []sim.EnabledStep) {
	l.active, l.transactions, l.expires = true, view.Transactions(), view.Expires()
	l.steps = possible(l.steps[:0], enabled)
}

// continues reports, after a tick, whether nothing has happened yet. The events of the tick start
// at the given index.
func (l *timeJump) continues(view engine.View, enabled []sim.EnabledStep, from int) bool {
	if !l.active {
		return false
	}
	l.active = (len(l.steps) == 0 || view.AwaitsTime()) && view.Transactions() == l.transactions &&
		view.Expires() == l.expires &&
		slices.Equal(possible(nil, enabled), l.steps) &&
		!slices.ContainsFunc(view.Events()[from:],
			func(e history.Event) bool { return e.Kind <= history.Finished || l.changed(&e) })
	return l.active
}

// changed reports whether the event is a failed connection attempt that could have succeeded if its
// link had been healed.
func (l *timeJump) changed(e *history.Event) bool {
	return e.Kind == history.SessionState &&
		slices.ContainsFunc(l.steps, func(s sim.Step) bool {
			return s.Kind == sim.Heal &&
				s.Process == e.Process
		})
}

// possible appends the enabled steps that are neither ticks nor faults.
func possible(steps []sim.Step, enabled []sim.EnabledStep) []sim.Step {
	for i := range enabled {
		if enabled[i].Kind < sim.Tick {
			steps = append(steps, enabled[i].Step)
		}
	}
	return steps
}

func tickOf(enabled []sim.EnabledStep) int {
	return slices.IndexFunc(enabled, func(o sim.EnabledStep) bool { return o.Kind == sim.Tick })
}
