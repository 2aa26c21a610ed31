package engine

import "github.com/interlock-sim/interlock/faults"

// phase returns what the process is doing, in the terms of fault plans.
func (p *Process) phase() faults.Phase {
	switch p.Stage {
	case holding:
		return faults.Holding
	case releasing:
		return faults.Releasing
	case locking:
		if p.Woken {
			return faults.Woken
		}
		return p.Client.Phase()
	}
	return faults.Idle
}

// wake clears Woken once the process waits again or has stopped waiting.
func (p *Process) wake() {
	if p.Woken && (p.Stage != locking || !p.Client.Pending()) {
		p.Woken = false
	}
}
