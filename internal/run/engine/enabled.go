package engine

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
)

// listEnabled lists the enabled steps in canonical order: by kind, then by process, faults last.
func (l *Loop) listEnabled() {
	enabled := l.System.AppendMessages(l.enabled[:0])
	for _, p := range l.Contenders {
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

// appendFaults appends the faults that are possible and that the plan allows in the current phase
// of their victims.
func (l *Loop) appendFaults(enabled []sim.EnabledStep) []sim.EnabledStep {
	for kind := range faults.Kinds {
		if !l.allowed[kind] {
			continue
		}
		from := len(enabled)
		enabled = l.System.AppendFaults(enabled, kind)
		kept, further := enabled[:from], []sim.EnabledStep(nil)
		for _, option := range enabled[from:] {
			if l.suffers(option.Step) && (l.everywhere[kind] || l.affords(option.Step)) {
				kept = append(kept, option)
			}
			if kind == faults.Cancel && l.threads > 1 {
				further = l.appendCancels(further, option)
			}
		}
		enabled = append(kept, further...)
	}
	return enabled
}

// suffers reports whether the process that a fault strikes, if it strikes one, is in a state in
// which the fault makes a difference.
func (l *Loop) suffers(fault sim.Step) bool {
	if fault.Process <= 0 {
		return true
	}
	p := l.contender(fault.Process)
	switch {
	case p.done() && (fault.Fault == faults.Cancel || p.allDone()):
		return false
	case fault.Fault == faults.Restart:
		return len(l.Processes) < sim.ClientsMax
	case fault.Fault == faults.Cancel:
		return p.Stage == locking && !p.Cancelled && !p.Client.Paused()
	}
	return true
}

// appendCancels appends the steps in which the calls of the further threads of a process are
// cancelled. The option is that of its first thread.
func (l *Loop) appendCancels(options []sim.EnabledStep, option sim.EnabledStep) []sim.EnabledStep {
	for _, thread := range l.Processes[option.Process-1].Threads[1:] {
		option.Process = int32(thread.Number)
		if l.suffers(option.Step) && (l.everywhere[faults.Cancel] || l.affords(option.Step)) {
			options = append(options, option)
		}
	}
	return options
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
