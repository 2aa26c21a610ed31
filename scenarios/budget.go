package scenarios

import "github.com/interlock-sim/interlock/faults"

// phaseOf returns what the process does that the step strikes; of a server or a link between two, the first process that is
// connected to it.
func (l *loop) phaseOf(step Step) faults.Phase {
	if step.Process > 0 {
		return l.processes[step.Process-1].phase()
	}
	one, other := int(-step.Process)-1, int(step.Peer)-1
	for _, p := range l.processes {
		if server := p.link.ServerIndex(); p.link.Connected() && (server == one || server == other) && !p.done() {
			return p.phase()
		}
	}
	return faults.Idle
}

// place returns whom a fault strikes, as far as the plan asks.
func (l *loop) place(step Step) (at faults.Place) {
	if !l.plan.Aimed() {
		return at
	}
	switch step.victim() {
	case faults.OneClient:
		at.Client = uint8(step.Process)
	case faults.LinkToServer:
		at.Client, at.Server = uint8(step.Process), step.Peer
	default:
		at.Server, at.Peer = uint8(-step.Process), step.Peer
	}
	for server := range l.cluster.Servers() {
		if l.cluster.Leader(server) {
			at.Leader = uint8(server + 1)
		}
	}
	return at
}

// spend takes a fault out of the budget and counts where it has landed.
func (l *loop) spend(step Step) faults.Phase {
	kind, phase, at := step.Fault, l.phaseOf(step), l.place(step)
	l.result.Landed[kind][phase]++
	for i := range l.plan.Aims {
		if l.plan.Aims[i].Matches(kind, phase, at) {
			l.result.Aimed[i]++
		}
	}
	l.budget.Spend(kind, phase, at)
	l.struck = true
	l.spent()
	return phase
}

// spent takes note of what the budget allows.
func (l *loop) spent() {
	if l.faultless = l.budget.Empty(); l.faultless {
		l.allowed, l.budgetKey = [faults.Kinds]bool{}, emptyBudgetKey
		return
	}
	for kind := range faults.Kinds {
		l.allowed[kind] = l.budget.Allows(kind)
	}
	l.budgetKey = budgetKey(&l.budget)
}

// emptyBudgetKey is what most steps of most runs have in their keys.
var emptyBudgetKey = budgetKey(new(faults.Plan))

// budgetKey returns 64 bits over a budget.
func budgetKey(budget *faults.Plan) (key uint64) {
	for kind := range faults.Kinds {
		key = fold(key, uint64(budget.Of[kind]))
		for _, left := range budget.At[kind] {
			key = fold(key, uint64(left))
		}
	}
	for _, left := range budget.AnyAt {
		key = fold(key, uint64(left))
	}
	key = fold(key, uint64(budget.Any))
	for i := range budget.Aims {
		if budget.Aims[i].Left > 0 {
			key = fold(key, budget.Aims[i].Key())
		}
	}
	return key
}
