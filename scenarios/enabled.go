package scenarios

import "github.com/interlock-sim/interlock/faults"

// listEnabled lists the enabled steps in canonical order: by kind, then by process, faults last.
func (l *loop) listEnabled() {
	enabled := l.enabled[:0]
	links := l.cluster.Links()
	for _, link := range links {
		if age, ok := link.Servable(); ok {
			enabled = append(enabled, EnabledStep{
				Step: Step{Kind: Serve, Process: int32(link.Process())},
				Age:  age,
			})
		}
	}
	for _, link := range links {
		if age, ok := link.Deliverable(); ok {
			enabled = append(enabled, EnabledStep{
				Step: Step{Kind: Deliver, Process: int32(link.Process())},
				Age:  age,
			})
		}
	}
	for _, p := range l.processes {
		if p.waiting && !p.link.Crashed() && !p.link.Paused() {
			enabled = append(enabled, EnabledStep{
				Step: Step{Kind: p.gate, Process: int32(p.Number)},
				Age:  p.age,
			})
		}
	}
	for _, link := range links {
		if link.Down() {
			enabled = append(enabled,
				EnabledStep{Step: Step{Kind: Heal, Process: int32(link.Process())}})
		}
		if link.Paused() {
			enabled = append(enabled,
				EnabledStep{Step: Step{Kind: Resume, Process: int32(link.Process())}})
		}
	}
	if l.linkFaults {
		enabled = l.appendLinkHeals(enabled)
	}
	enabled = l.appendServers(enabled)
	_, due := l.cluster.Deadline()
	enabled = append(enabled, EnabledStep{Step: Step{Kind: Tick}, Due: due})
	if !l.fair && !l.faultless {
		enabled = l.appendFaults(enabled)
	}
	l.enabled = enabled
}

func (l *loop) appendServers(enabled []EnabledStep) []EnabledStep {
	if l.cluster.Standalone() && l.cluster.Up(0) {
		return enabled // A single server has no followers.
	}
	for server := range l.cluster.Servers() {
		if age, ok := l.cluster.Loggable(server); ok {
			enabled = append(enabled, EnabledStep{Step: onServer(Log, server), Age: age})
		}
		if age, ok := l.cluster.Applicable(server); ok {
			enabled = append(enabled, EnabledStep{Step: onServer(Apply, server), Age: age})
		}
		// In the fair phase a majority is healed; a server that no leader needs may stay down.
		if !l.cluster.Up(server) && !(l.fair && l.cluster.HasLeader()) ||
			l.cluster.Partitioned(server) {
			enabled = append(enabled, EnabledStep{Step: onServer(Heal, server)})
		}
	}
	return enabled
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
			if !p.done() && faults.Possible(kind, p.link) &&
				(kind != faults.Cancel || p.stage == locking &&
					!p.cancelled && !p.link.Paused()) {
				enabled = l.appendFault(enabled, Step{
					Kind: Fault, Fault: kind,
					Process: int32(p.Number),
				})
			}
		}
	}
	return enabled
}

// appendFault adds a fault if the plan allows it in the current phase of its victim.
func (l *loop) appendFault(enabled []EnabledStep, step Step) []EnabledStep {
	if l.affords(step) {
		enabled = append(enabled, EnabledStep{Step: step})
	}
	return enabled
}

func (l *loop) appendServerFaults(enabled []EnabledStep, kind faults.Kind) []EnabledStep {
	for server := range l.cluster.Servers() {
		if faults.PossibleAt(kind, l.cluster, server) {
			enabled = l.appendFault(enabled, onServer(Fault, server).struckBy(kind))
		}
	}
	return enabled
}
