package scenarios

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// phase returns what the process is doing, in the terms of fault plans.
func (p *process) phase() faults.Phase {
	switch p.stage {
	case holding:
		return faults.Holding
	case releasing:
		return faults.Releasing
	case locking:
		r := p.link.Pending()
		switch {
		case p.woken:
			return faults.Woken
		case r == nil:
			return faults.Waiting
		case r.Watch:
			return faults.SettingWatch
		case r.Op == wire.OpCreate:
			return faults.CreateInFlight
		case r.Op == wire.OpGetChildren2:
			return faults.Listing
		}
		return faults.Asking
	}
	return faults.Idle
}

// wake clears woken once the process waits again or has stopped waiting.
func (p *process) wake() {
	if p.woken && (p.stage != locking || p.link.Pending() == nil) {
		p.woken = false
	}
}
