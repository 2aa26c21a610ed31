package scenarios

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// phase returns what the process is doing.
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

// wake takes note of when a process that was woken has gone back to waiting, or has done with it.
func (p *process) wake() {
	if p.woken && (p.stage != locking || p.link.Pending() == nil) {
		p.woken = false
	}
}
