package scenarios

import "github.com/interlock-sim/interlock/faults"

// listEnabled lists the enabled steps in canonical order: by kind, then by process, faults last.
func (l *loop) listEnabled() {
	enabled := l.system.AppendMessages(l.enabled[:0])
	for _, p := range l.processes {
		if p.waiting && !p.client.Crashed() && !p.client.Paused() {
			enabled = append(enabled, EnabledStep{
				Step: Step{Kind: p.gate, Process: int32(p.Number)},
				Age:  p.age,
			})
		}
	}
	enabled = l.system.AppendRepairs(enabled, l.fair)
	_, due := l.system.Deadline()
	enabled = append(enabled, EnabledStep{Step: Step{Kind: Tick}, Due: due})
	if !l.fair && !l.faultless {
		enabled = l.appendFaults(enabled)
	}
	l.enabled = enabled
}

func (l *loop) appendFaults(enabled []EnabledStep) []EnabledStep {
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
		for _, p := range l.processes {
			if kind == faults.Restart && len(l.processes) >= ClientsMax {
				break
			}
			if !p.done() && (kind != faults.Cancel || p.stage == locking &&
				!p.cancelled && !p.client.Paused()) {
				enabled = l.appendFault(enabled, Step{
					Kind: Fault, Fault: kind,
					Process: int32(p.Number),
				})
			}
		}
	}
	return enabled
}

// appendFault adds a fault if it is possible and the plan allows it in the current phase of its
// victim.
func (l *loop) appendFault(enabled []EnabledStep, step Step) []EnabledStep {
	if l.system.Possible(step) && l.affords(step) {
		enabled = append(enabled, EnabledStep{Step: step})
	}
	return enabled
}

func (l *loop) appendServerFaults(enabled []EnabledStep, kind faults.Kind) []EnabledStep {
	for server := range l.system.Servers() {
		enabled = l.appendFault(enabled, onServer(Fault, server).struckBy(kind))
	}
	return enabled
}

// allowsLinkFaults reports whether faults can strike a single link to or between servers.
func (l *loop) allowsLinkFaults() bool {
	for kind := range faults.Kinds {
		if victim := kind.Strikes(); l.allowed[kind] && (victim == faults.LinkToServer ||
			victim == faults.LinkOfServers) {
			return true
		}
	}
	return false
}

// appendLinkFaults adds the faults that strike single links.
func (l *loop) appendLinkFaults(enabled []EnabledStep, kind faults.Kind) []EnabledStep {
	servers := l.system.Servers()
	if kind.Strikes() == faults.LinkToServer {
		for _, p := range l.processes {
			for server := range servers {
				if !p.done() {
					enabled = l.appendFault(enabled, onLink(Fault, p.Number, server).struckBy(kind))
				}
			}
		}
		return enabled
	}
	for from := range servers {
		for to := range servers {
			enabled = l.appendFault(enabled, between(Fault, from, to).struckBy(kind))
		}
	}
	return enabled
}
