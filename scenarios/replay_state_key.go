package scenarios

import "github.com/interlock-sim/interlock/history"

// stateKey returns the key of a run whose reactions are replayed. It covers the current state, and
// of the past only what a process can still remember: the local history of each process whose
// goroutines have not ended. The state of monitors is not part of it; see [dfs.visitKey].
func (e *replayExecutor) stateKey() uint64 {
	l := e.loop
	key := l.system.StateHash(l.steady())
	if l.idleTicks > 0 {
		key = mix(key, uint64(l.idleTicks)) // It decides when the fair phase begins.
	}
	for i, p := range l.processes {
		c := e.processes[i]
		if p.woken {
			key = mix(key, 1) // By its phase, which faults go by.
		}
		if p.resuming {
			key = mix(key, 2)
		}
		gone := p.client.Crashed() || c.at.dead
		if p.nodeGone && !gone {
			key = mix(key, 3)
		}
		switch {
		case !gone:
			key = mix(mix(key, e.name(p)), uint64(l.system.Now()-c.since))
		case p.client.Unserved() == 0 && !p.client.OwnsNodes():
			key = mix(key, 1)
		default:
			key = mix(key, e.name(p))
		}
	}
	if mutated != withoutBudget {
		key = mix(key, l.budgetKey)
	}
	return l.processes[0].register.key(key)
}

// name returns a 64-bit hash that stands for the state of a process's code.
func (e *replayExecutor) name(p *process) uint64 {
	c := e.of(p)
	if !e.cache.merges {
		return c.at.hash
	}
	name := c.at.outside
	if len(p.pending) > 0 { // It is paused, and nobody has noted that yet.
		name = mix(name, history.NewLog(p.pending).Hash())
	}
	return name
}
