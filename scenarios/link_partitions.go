package scenarios

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// usesLinkFaults reports whether faults can strike a single link to or between servers.
func (l *loop) usesLinkFaults() bool {
	for kind := range faults.Kinds {
		if victim := kind.Strikes(); l.allowed[kind] && (victim == faults.LinkToServer ||
			victim == faults.LinkOfServers) {
			return true
		}
	}
	return false
}

// appendLinkHeals adds the healing of single links: of a client to a server, and of each direction
// between two servers.
func (l *loop) appendLinkHeals(enabled []EnabledStep) []EnabledStep {
	servers := l.cluster.Servers()
	for _, link := range l.cluster.Links() {
		for server := range servers {
			if link.Blocked(server) && !link.Crashed() {
				enabled = append(enabled, EnabledStep{Step: onLink(Heal, link.Process(), server)})
			}
		}
	}
	for from := range servers {
		for to := range servers {
			if l.cluster.LinkPartitioned(from, to) {
				enabled = append(enabled, EnabledStep{Step: between(Heal, from, to)})
			}
		}
	}
	return enabled
}

// appendLinkFaults adds the faults that strike single links.
func (l *loop) appendLinkFaults(enabled []EnabledStep, kind faults.Kind) []EnabledStep {
	servers := l.cluster.Servers()
	if kind.Strikes() == faults.LinkToServer {
		for _, p := range l.processes {
			for server := range servers {
				if !p.done() && faults.PossibleTo(kind, l.cluster, p.link, server) {
					enabled = l.appendFault(enabled, onLink(Fault, p.Number, server).struckBy(kind))
				}
			}
		}
		return enabled
	}
	for from := range servers {
		for to := range servers {
			if faults.PossibleBetween(kind, l.cluster, from, to) {
				enabled = l.appendFault(enabled, between(Fault, from, to).struckBy(kind))
			}
		}
	}
	return enabled
}

// performOnLink performs a step that concerns a link to or between servers.
func (l *loop) performOnLink(step Step) {
	peer := int(step.Peer) - 1
	e := history.Event{At: l.cluster.Now(), Kind: history.Healed, Peer: step.Peer}
	if step.Process < 0 {
		e.Server = -step.Process
	} else {
		e.Process = step.Process
	}
	if step.Kind == Fault {
		e.Kind, e.Name, e.Op = history.Fault, step.Fault.String(), l.spend(step).String()
		e.Relaxes = step.Fault.Relaxes()
	}
	l.log.Append(e)
	from, servers := step.server()
	switch fault := step.Kind == Fault; {
	case fault && servers:
		faults.ApplyBetween(step.Fault, l.cluster, from, peer)
	case fault:
		faults.ApplyTo(step.Fault, l.cluster, l.processes[step.Process-1].link, peer)
	case servers:
		l.cluster.HealLink(from, peer)
	default:
		l.cluster.UnblockClient(l.processes[step.Process-1].link, peer)
	}
}
