package scenarios

import (
	"math/bits"

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
	key := fold(l.cluster.Key(), uint64(l.cluster.Now()))
	for _, p := range l.processes {
		key = fold(fold(key, uint64(p.gateOpened)<<8|uint64(p.stage)),
			p.timeline^uint64(p.notified))
		if p.resuming {
			key = fold(key, 1)
		}
		if p.nodeGone && !p.link.Crashed() {
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
	p, now := l.processes[step.Process-1], l.cluster.Now()
	switch step.Kind {
	case Serve: // It reaches the server, and not the process.
		p.notified, p.served = now, true
	case Heal: // It reaches neither.
	default:
		p.timeline = mix(p.timeline,
			uint64(now)<<8|uint64(step.Fault)<<4|uint64(step.Kind)|uint64(step.Peer)<<56)
	}
}

// mix folds b into a with the finalizer of splitmix64.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fold folds b into a, as mix does, in a third of the time, for what runs after every step. It is
// the step of wyhash (Wang Yi).
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return high ^ low
}

// steady reports whether no server can lose its leader any more.
func (l *loop) steady() bool { return l.unassailable() && l.cluster.FullyConnected() }

// unassailable reports whether no fault of a server, or of a link to one, can strike any more.
func (l *loop) unassailable() bool {
	for kind := range faults.Kinds {
		if l.allowed[kind] && kind.Strikes() != faults.OneClient {
			return false
		}
	}
	return true
}

// untouched reports whether no step and no server has touched the process.
func (l *loop) untouched(number int32) bool {
	p := l.processes[number-1]
	return p.timeline == 0 && !p.served
}

// untouchedMask returns the untouched processes, by number modulo 64, because symmetry reduction
// tries different steps in states that differ in them.
func (l *loop) untouchedMask() (mask uint64) {
	for _, p := range l.processes {
		if l.untouched(int32(p.Number)) {
			mask |= 1 << (p.Number % 64)
		}
	}
	return mask
}
