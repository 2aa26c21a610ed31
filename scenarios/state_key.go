package scenarios

import (
	"github.com/interlock-sim/interlock/faults"
)

// timelineKey returns the state key of a run whose processes are live: 64 bits over all that
// determines what can happen next. Up to hash collisions, two runs with equal keys have equal
// futures under equal decisions.
//
// The code of a process is deterministic, so its state is a function of what reached it and when.
// The key covers
//
//   - what the process was told, in the cluster's key;
//   - the order and the times of its messages, gates and faults, in its timeline, because code can
//     set timers and read the clock;
//   - the current time, for the same reason, and because session expiry is rounded to the server's
//     ticks;
//   - when the server last heard from the process, because session expiry counts from then.
func (l *loop) timelineKey() uint64 {
	key := fold(l.system.Key(), uint64(l.system.Now()))
	for _, p := range l.processes {
		key = fold(fold(key, uint64(p.gateOpened)<<8|uint64(p.stage)),
			p.timeline^uint64(p.notified))
		if p.resuming {
			key = fold(key, 1)
		}
		if p.nodeGone && !p.client.Crashed() {
			key = fold(key, 2)
		}
	}
	return l.processes[0].register.key(fold(key, l.budgetKey))
}

// lastKey returns the key of the state in which a decision is made. It was computed after the last
// step.
func (l *loop) lastKey() uint64 {
	if last := len(l.result.Keys) - 1; last >= 0 {
		return l.result.Keys[last]
	}
	return l.executor.stateKey()
}

// touch adds a step that is about to happen to the timeline of its process.
func (l *loop) touch(step Step) {
	if step.Process <= 0 {
		return
	}
	p, now := l.processes[step.Process-1], l.system.Now()
	switch step.Kind {
	case Serve: // It reaches the server, and not the process.
		p.notified, p.served = now, true
	case Heal: // It reaches neither.
	default:
		p.timeline = mix(p.timeline,
			uint64(now)<<8|uint64(step.Fault)<<4|uint64(step.Kind)|uint64(step.Peer)<<56)
	}
}

// steady reports whether no server can lose its leader any more.
func (l *loop) steady() bool { return l.unassailable() && l.system.FullyConnected() }

// unassailable reports whether no fault of a server, or of a link to one, can strike any more.
func (l *loop) unassailable() bool {
	for kind := range faults.Kinds {
		if l.allowed[kind] && kind.Strikes() != faults.OneClient {
			return false
		}
	}
	return true
}
