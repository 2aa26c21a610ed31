package scenarios

import "github.com/interlock-sim/interlock/faults"

// phase returns what the process is doing, in the terms of fault plans.
func (p *process) phase() faults.Phase {
	switch p.stage {
	case holding:
		return faults.Holding
	case releasing:
		return faults.Releasing
	case locking:
		if p.woken {
			return faults.Woken
		}
		return p.client.Phase()
	}
	return faults.Idle
}

// wake clears woken once the process waits again or has stopped waiting.
func (p *process) wake() {
	if p.woken && (p.stage != locking || !p.client.Pending()) {
		p.woken = false
	}
}
