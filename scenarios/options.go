package scenarios

import "github.com/interlock-sim/interlock/faults"

// listOptions lists what can happen next, in canonical order: by kind and then by process, with the faults last.
func (l *loop) listOptions() {
	options := l.options[:0]
	links := l.cluster.Links()
	for _, link := range links {
		if age, ok := link.Servable(); ok {
			options = append(options, Option{Step: Step{Kind: Serve, Process: int32(link.Process())}, Age: age})
		}
	}
	for _, link := range links {
		if age, ok := link.Deliverable(); ok {
			options = append(options, Option{Step: Step{Kind: Deliver, Process: int32(link.Process())}, Age: age})
		}
	}
	for _, p := range l.processes {
		if p.waiting && !p.link.Crashed() && !p.link.Paused() {
			options = append(options, Option{Step: Step{Kind: p.gate, Process: int32(p.Number)}, Age: p.age})
		}
	}
	for _, link := range links {
		if link.Down() {
			options = append(options, Option{Step: Step{Kind: Heal, Process: int32(link.Process())}})
		}
		if link.Paused() {
			options = append(options, Option{Step: Step{Kind: Resume, Process: int32(link.Process())}})
		}
	}
	if l.severing {
		options = l.appendSevered(options)
	}
	options = l.appendServers(options)
	_, due := l.cluster.Deadline()
	options = append(options, Option{Step: Step{Kind: Tick}, Due: due})
	if !l.lively && !l.faultless {
		options = l.appendFaults(options)
	}
	l.options = options
}

func (l *loop) appendServers(options []Option) []Option {
	if l.cluster.Standalone() && l.cluster.Up(0) {
		return options // There is nobody to agree with.
	}
	for server := range l.cluster.Servers() {
		if age, ok := l.cluster.Loggable(server); ok {
			options = append(options, Option{Step: onServer(Log, server), Age: age})
		}
		if age, ok := l.cluster.Applicable(server); ok {
			options = append(options, Option{Step: onServer(Apply, server), Age: age})
		}
		// Once there are no more faults a majority is healed; a server that is down and not needed may stay so.
		if !l.cluster.Up(server) && !(l.lively && l.cluster.Led()) || l.cluster.Parted(server) {
			options = append(options, Option{Step: onServer(Heal, server)})
		}
	}
	return options
}

func (l *loop) appendFaults(options []Option) []Option {
	for kind := range faults.Kinds {
		if !l.allowed[kind] {
			continue
		}
		switch kind.Strikes() {
		case faults.OneServer:
			options = l.appendServerFaults(options, kind)
			continue
		case faults.LinkToServer, faults.LinkOfServers:
			options = l.appendLinkFaults(options, kind)
			continue
		}
		for _, p := range l.processes {
			if kind == faults.Restart && len(l.processes) >= ClientsMax {
				break
			}
			if !p.done() && faults.Possible(kind, p.link) && (kind != faults.Cancel || p.stage == locking && !p.cancelled && !p.link.Paused()) {
				options = l.appendFault(options, Step{Kind: Fault, Fault: kind, Process: int32(p.Number)})
			}
		}
	}
	return options
}

// appendFault adds a fault that can strike, if the plan allows it in the phase in which it would.
func (l *loop) appendFault(options []Option, step Step) []Option {
	if l.affords(step) {
		options = append(options, Option{Step: step})
	}
	return options
}

func (l *loop) appendServerFaults(options []Option, kind faults.Kind) []Option {
	for server := range l.cluster.Servers() {
		if faults.PossibleAt(kind, l.cluster, server) {
			options = l.appendFault(options, onServer(Fault, server).struckBy(kind))
		}
	}
	return options
}
