package strategy

import (
	"context"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Profile is what some strategies need to know of a scenario in advance: how many steps to
// expect. It comes from one trial run under the default policy, as in Shuttle's uniform random
// walk; schedules with faults take more steps.
//
// To a strategy, the steps of a run belong to threads. Thread p is process p with its connection:
// the server handles p's next request, p receives its next message, p enters or leaves its critical
// section, p's link is healed. Of the enabled steps of a thread, the oldest is its next step.
// Connections are FIFO in both directions, so this hides only the order among a request, a message
// and a gate of the same process. The passing of time, the ends of pauses and faults belong to no
// thread; see [faultSampler].
type Profile struct {
	Decisions int   // decisions that belong to a thread
	Events    []int // the same, by thread
	// those of them that are interesting, by thread; see [Interesting]
	Interesting []int
	Shifts      []sim.Step // see [sim.Timers]
	// Refused says why the trial run refused the code, or is nil; see [engine.Refusal].
	Refused *history.Violation
	// the reachable cells in which the plan allows faults, with equal weights; nil for none
	cells    *rareCells
	instants bool // the plan has faults just before timers fire
	expires  bool // the service lets data expire
	reopens  bool // the plan has the faults of the shape reopened
}

// Interesting reports whether a step is one whose order locks depend on: the server handles a
// request. [SURW] is uniform over these.
func Interesting(o *sim.EnabledStep) bool { return o.Kind == sim.Serve }

// Add counts a decision.
func (p *Profile) Add(o *sim.EnabledStep, interesting bool) {
	if !ofThread(o.Kind) {
		return
	}
	for len(p.Events) <= int(o.Thread()) {
		p.Events, p.Interesting = append(p.Events, 0), append(p.Interesting, 0)
	}
	p.Decisions++
	p.Events[o.Thread()]++
	if interesting {
		p.Interesting[o.Thread()]++
	}
}

// A profiler follows the default policy and counts steps.
type profiler struct{ profile Profile }

func (p *profiler) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	p.profile.Add(&enabled[defaultIndex], Interesting(&enabled[defaultIndex]))
	return defaultIndex
}

// Observe notes the timers of the system.
func (p *profiler) Observe(view engine.View) { p.profile.Shifts = view.Shifts() }

// ProfileOf runs the scenario once under the default policy and counts its steps. If the context
// ends meanwhile, the profile is not valid.
func ProfileOf(ctx context.Context, r *engine.Runner, scenario *scenarios.Scenario) *Profile {
	strategy := new(profiler)
	for _, v := range r.RunWithin(ctx, scenario, strategy).Violations {
		if engine.Refusal(v) != "" {
			strategy.profile.Refused = v
		}
	}
	_, strategy.profile.instants = scenario.Faults.TimedInstant()
	strategy.profile.expires = scenario.Expires()
	strategy.profile.reopens = reopens(scenario.Faults)
	strategy.profile.cells = evenCells(scenario.Faults.Cells(scenario.FaultKinds()))
	return &strategy.profile
}

// reopens reports whether a plan has the faults of the shape [reopened].
func reopens(plan faults.Plan) bool {
	count := uint16(0)
	for _, entry := range plan.Entries() {
		count += entry.Left
	}
	return count >= 3 && plan.Allows(faults.Reset) && plan.Allows(faults.SlowOpen) &&
		plan.Allows(faults.PartitionServer)
}

// ofThread reports whether steps of a kind belong to threads. If the end of a pause did, the order
// of threads would end most pauses at once.
func ofThread(kind sim.StepKind) bool { return kind < sim.Tick && kind != sim.Resume }

// heads returns the next step of each thread that can take one, in the order of the enabled steps:
// the index of the oldest step of each thread. The slice that is given is used again.
func heads(enabled []sim.EnabledStep, space []int) []int {
	found := space[:0]
next:
	for i := range enabled {
		if !ofThread(enabled[i].Kind) {
			continue
		}
		for n, j := range found {
			if enabled[j].Thread() == enabled[i].Thread() {
				if enabled[i].Age < enabled[j].Age {
					found[n] = i
				}
				continue next
			}
		}
		found = append(found, i)
	}
	return found
}
