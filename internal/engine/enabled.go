package engine

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
)

// listEnabled lists the enabled steps in canonical order: by kind, then by process, faults last.
func (l *Loop) listEnabled() {
	enabled := l.System.AppendMessages(l.enabled[:0])
	for _, p := range l.Processes {
		if p.Waiting && !p.Client.Crashed() && !p.Client.Paused() {
			enabled = append(enabled, sim.EnabledStep{
				Step: sim.Step{Kind: p.Gate, Process: int32(p.Number)},
				Age:  p.age,
			})
		}
	}
	enabled = l.System.AppendRepairs(enabled, l.fair)
	_, due := l.System.Deadline()
	enabled = append(enabled, sim.EnabledStep{Step: sim.Step{Kind: sim.Tick}, Due: due})
	if !l.fair && !l.faultless {
		enabled = l.appendFaults(enabled)
	}
	l.enabled = enabled
}

func (l *Loop) appendFaults(enabled []sim.EnabledStep) []sim.EnabledStep {
	for kind := range faults.Kinds {
		if !l.allowed[kind] {
			continue
		}
		switch kind.Strikes() {
		case faults.OneServer:
			enabled = l.appendServerFaults(enabled, kind)
			continue
		case faults.LinkToServer, faults.LinkOfServers:
			enabled = l.appendLinkFaults(enabled, kind)
			continue
		}
		for _, p := range l.Processes {
			if kind == faults.Restart && len(l.Processes) >= sim.ClientsMax {
				break
			}
			if !p.done() && (kind != faults.Cancel || p.Stage == locking &&
				!p.Cancelled && !p.Client.Paused()) {
				enabled = l.appendFault(enabled, sim.Step{
					Kind: sim.Fault, Fault: kind,
					Process: int32(p.Number),
				})
			}
		}
	}
	return enabled
}

// appendFault adds a fault if it is possible and the plan allows it in the current phase of its
// victim.
func (l *Loop) appendFault(enabled []sim.EnabledStep, step sim.Step) []sim.EnabledStep {
	if l.System.Possible(step) && l.affords(step) {
		enabled = append(enabled, sim.EnabledStep{Step: step})
	}
	return enabled
}

func (l *Loop) appendServerFaults(enabled []sim.EnabledStep, kind faults.Kind) []sim.EnabledStep {
	for server := range l.System.Servers() {
		enabled = l.appendFault(enabled, sim.OnServer(sim.Fault, server).StruckBy(kind))
	}
	return enabled
}

// allowsLinkFaults reports whether faults can strike a single link to or between servers.
func (l *Loop) allowsLinkFaults() bool {
	for kind := range faults.Kinds {
		if victim := kind.Strikes(); l.allowed[kind] && (victim == faults.LinkToServer ||
			victim == faults.LinkOfServers) {
			return true
		}
	}
	return false
}

// appendLinkFaults adds the faults that strike single links.
func (l *Loop) appendLinkFaults(enabled []sim.EnabledStep, kind faults.Kind) []sim.EnabledStep {
	servers := l.System.Servers()
	if kind.Strikes() == faults.LinkToServer {
		for _, p := range l.Processes {
			for server := range servers {
				if !p.done() {
					enabled = l.appendFault(enabled,
						sim.OnLink(sim.Fault, p.Number, server).StruckBy(kind))
				}
			}
		}
		return enabled
	}
	for from := range servers {
		for to := range servers {
			enabled = l.appendFault(enabled, sim.Between(sim.Fault, from, to).StruckBy(kind))
		}
	}
	return enabled
}
