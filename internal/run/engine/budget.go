package engine

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/sim"
)

// A PlanLimit is a second plan that must allow the faults of a run. A shrinker tries scenarios with
// other plans, and the limit keeps every candidate within the plan of the search.
type PlanLimit struct {
	Plan      faults.Plan
	remaining faults.Plan // of the run under way
	Spent     faults.Plan // what the run has spent, as [faults.Plan.Spend] returns it
}

// begin resets the limit for another run.
func (c *PlanLimit) begin() { c.remaining, c.Spent = c.Plan, faults.Plan{} }

// spend takes a fault out of what remains.
func (c *PlanLimit) spend(kind faults.Kind, phase faults.Phase, at faults.Place) {
	c.Spent.Add(c.remaining.Spend(kind, phase, at))
}

// phaseOf returns what the process that the step strikes is doing. For a server or a link between
// servers that is the first process connected to it.
func (l *Loop) phaseOf(step sim.Step) faults.Phase {
	if p := l.victim(step); p != nil {
		return p.phase()
	}
	return faults.Idle
}

// victim returns the process that the step strikes. For a server or a link between servers that is
// the first process connected to it, or nil if there is none.
func (l *Loop) victim(step sim.Step) *Process {
	if step.Process > 0 {
		return l.contender(step.Process)
	}
	one, other := int(-step.Process)-1, int(step.Peer)-1
	for _, p := range l.Processes {
		if server := p.Client.ServerIndex(); p.Client.Connected() &&
			(server == one || server == other) &&
			!p.done() {
			return p
		}
	}
	return nil
}

// place returns what a fault strikes, as far as plans can name it.
func (l *Loop) place(step sim.Step) (at faults.Place) {
	if !l.plan.IsTargeted() && (l.planLimit == nil || !l.planLimit.Plan.IsTargeted()) {
		return at
	}
	switch step.Victim() {
	case faults.OneClient:
		process, _ := history.ProcessOf(step.Process)
		at.Client = uint8(process)
	case faults.LinkToServer:
		at.Client, at.Server = uint8(step.Process), step.Peer
	default:
		at.Server, at.Peer = uint8(-step.Process), step.Peer
	}
	for server := range l.System.Servers() {
		if l.System.Leader(server) {
			at.Leader = uint8(server + 1)
		}
	}
	at.Instants = l.instants(step)
	return at
}

// spend takes a fault out of the budget and counts it in the fault coverage.
func (l *Loop) spend(step sim.Step) faults.Phase {
	kind, phase, at := step.Fault, l.phaseOf(step), l.place(step)
	l.result.Coverage[kind][phase]++
	for i, entry := range l.plan.Targeted() {
		if entry.Matches(kind, phase, at) {
			l.result.Targeted[i]++
		}
	}
	l.budget.Spend(kind, phase, at)
	if l.planLimit != nil {
		l.planLimit.spend(kind, phase, at)
	}
	l.struck = true
	l.spent()
	return phase
}

// affords reports whether the budget, and the plan limit if there is one, allow the fault.
func (l *Loop) affords(step sim.Step) bool {
	kind, phase, at := step.Fault, l.phaseOf(step), l.place(step)
	return l.budget.AllowsIn(kind, phase, at) &&
		(l.planLimit == nil || l.planLimit.remaining.AllowsIn(kind, phase, at))
}

// spent updates what the budget and the plan limit allow.
func (l *Loop) spent() {
	if l.faultless = l.budget.Empty(); l.faultless {
		l.allowed, l.BudgetKey = [faults.Kinds]bool{}, 0
		return
	}
	for kind := range faults.Kinds {
		l.allowed[kind] = l.budget.Allows(kind) && (!l.byName[kind] || l.budget.Names(kind)) &&
			(l.planLimit == nil || l.planLimit.remaining.Allows(kind))
		l.everywhere[kind] = l.budget.AllowsAnywhere(kind) &&
			(l.planLimit == nil || l.planLimit.remaining.AllowsAnywhere(kind))
	}
	l.BudgetKey = budgetKey(&l.budget)
}

// budgetKey returns a 64-bit hash of a budget, 0 if it is empty.
func budgetKey(budget *faults.Plan) (key uint64) {
	for _, entry := range budget.Entries() {
		key = hash64.Fold(key, entry.Key())
	}
	return key
}
