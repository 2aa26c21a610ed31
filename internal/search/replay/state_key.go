package replay

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// StateKey returns the key of a run whose reactions are replayed. It covers the current state, and
// of the past only what a process can still remember: the local history of each process whose
// goroutines have not ended. The state of monitors is not part of it: the search adds that.
func (e *cachedExecutor) StateKey() uint64 {
	l := e.loop
	key := l.System.StateHash(l.Steady())
	if l.IdleTicks > 0 {
		key = hash64.Mix(key, uint64(l.IdleTicks)) // It decides when the fair phase begins.
	}
	for i, p := range l.Processes {
		c := e.processes[i]
		if p.Woken {
			key = hash64.Mix(key, 1) // By its phase, which faults go by.
		}
		if p.Resuming {
			key = hash64.Mix(key, 2)
		}
		gone := p.Client.Crashed() || e.cache.reaction(c.at).dead
		if p.NodeGone && !gone {
			key = hash64.Mix(key, 3)
		}
		switch {
		case !gone:
			key = hash64.Mix(hash64.Mix(key, e.name(p)), uint64(l.System.Now()-c.since))
		case p.Client.Unserved() == 0 && !p.Client.OwnsNodes():
			key = hash64.Mix(key, 1)
		default:
			key = hash64.Mix(key, e.name(p))
		}
	}
	key = hash64.Mix(key, l.BudgetKey)
	return l.Processes[0].Register.Key(key)
}

// name returns a 64-bit hash that stands for the state of a process's code.
func (e *cachedExecutor) name(p *engine.Process) uint64 {
	c := e.of(p)
	if !e.cache.Merges {
		return *e.cache.hashes.At(uint32(c.at))
	}
	name := e.cache.Outside(c.at)
	if len(p.Pending) > 0 { // It is paused, and nobody has noted that yet.
		name = hash64.Mix(name, history.NewLog(p.Pending).Hash())
	}
	return name
}
