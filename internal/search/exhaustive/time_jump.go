package exhaustive

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A timeJump lets time pass, tick by tick, until something has happened: something has reached a
// process, one of its timers has fired, data have expired, or there is a transaction or a step that
// was not enabled before, or a client has failed to connect although something could have been
// healed. Where nothing is going to happen, a jump is a single tick.
//
// What a process does when its timer fires may be visible to nobody, and yet decide what it does
// next. So the search looks at the timers of the processes, and not at what they do. An idle period
// goes on after such an instant, as long as nobody else could notice it.
type timeJump struct {
	active       bool // on the path
	idle         bool // it is of an idle period
	single       bool // it is one tick
	quiet        bool // its idle period can go on: only the process of a timer has noticed
	stops        bool // by the end of its last tick, a timer fires or data expire
	transactions int64
	steps        []sim.Step // enabled before
}

// jumps reports whether the tick of a frame begins a jump. Without reduction, it does where time
// passes because of an expiry: an idle tick jumps to the expiry, so that a longer one takes no more
// idle ticks unless a process acts before; and after the expiry, a tick jumps until a process acts.
func (x *dfs) jumps(f *frame) bool {
	return x.bound == 0 && (!x.search.NoReduction || f.wasteful ||
		x.view.Expired())
}

// begin stores the state before the first tick of the jump.
func (l *timeJump) begin(view engine.View, enabled []sim.EnabledStep, idle, single bool) {
	l.active, l.idle, l.single = true, idle, single
	l.transactions = view.Transactions()
	_, l.stops = view.Pass()
	l.steps = possible(l.steps[:0], enabled)
}

// continues reports, after a tick whose events start at the given index, whether nothing has
// happened yet.
func (l *timeJump) continues(view engine.View, enabled []sim.EnabledStep, from int) bool {
	if !l.active {
		return false
	}
	same := view.Transactions() == l.transactions && slices.Equal(possible(nil, enabled), l.steps)
	l.active = same && !l.stops && !l.single && !view.Reached() &&
		(len(l.steps) == 0 || view.AwaitsTime()) &&
		!slices.ContainsFunc(view.Events()[from:], l.failedToConnect)
	l.quiet = l.idle && same && l.stops && !view.Reached()
	if l.active {
		_, l.stops = view.Pass()
	}
	return l.active
}

// failedToConnect reports whether the event is of a client whose link, or a server or a link
// between servers, could have been healed before.
func (l *timeJump) failedToConnect(e history.Event) bool {
	return e.Kind == history.SessionState && slices.ContainsFunc(l.steps, func(s sim.Step) bool {
		return s.Kind == sim.Heal && (s.Process == e.Process || s.Process <= 0)
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

// pass returns the step that lets time pass. Where the number of deviations is bounded, only a tick
// does.
func (x *dfs) pass() sim.Step {
	if x.bound > 0 {
		return sim.Step{Kind: sim.Tick}
	}
	step, _ := x.view.Pass()
	return step
}

// indexOf returns what asks for a step, or [engine.Prune] if it is not possible.
func indexOf(step sim.Step, enabled []sim.EnabledStep) int {
	if step.Unlisted() {
		return engine.Ask(step)
	}
	return slices.IndexFunc(enabled, func(o sim.EnabledStep) bool { return o.Step == step })
}
