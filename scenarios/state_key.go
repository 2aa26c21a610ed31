package scenarios

import (
	"math/bits"

	"github.com/interlock-sim/interlock/faults"
)

// timelineKey returns the run's state key where its processes are live: 64 bits over all that
// decides what can happen from here on. Two runs with equal keys have equal futures, given equal
// decisions, up to a collision of hashes.
//
// A process's code is deterministic, so its state is a function of what has happened to it and
// when. The cluster's key holds what it has been told; its timeline holds in what order that, its
// gates and the faults came, and at what times, because code can set timers and read the clock. The
// time itself stands in the key for the same reason, and because a session's end is rounded to the
// server's ticks; so does the time at which the server last heard of the process, from which its
// session's end is counted once the connection is lost.
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

// lastKey returns the key of the state in which a decision is made, which has been computed after
// the last step.
func (l *loop) lastKey() uint64 {
	if last := len(l.result.Keys) - 1; last >= 0 {
		return l.result.Keys[last]
	}
	return l.executor.stateKey()
}

// touch notes in the timelines that a step is about to happen.
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

// mix folds b into a. It is the finaliser of splitmix64 over a sum, good enough to tell states
// apart.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fold folds b into a, as mix does and in a third of the time: it is the step of wyhash (Wang Yi),
// for what is done after every step.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return high ^ low
}

// steady tells whether no server can lose its leader any more.
func (l *loop) steady() bool { return l.unassailable() && l.cluster.FullyConnected() }

// unassailable tells whether no fault of a server, or of a link to one, can strike any more.
func (l *loop) unassailable() bool {
	for kind := range faults.Kinds {
		if l.allowed[kind] && kind.Strikes() != faults.OneClient {
			return false
		}
	}
	return true
}

// untouched tells whether neither a step nor the server has touched the process.
func (l *loop) untouched(number int32) bool {
	p := l.processes[number-1]
	return p.timeline == 0 && !p.served
}

// untouchedMask returns the processes that are untouched, by their numbers modulo 64: what is tried
// in a state depends on them.
func (l *loop) untouchedMask() (mask uint64) {
	for _, p := range l.processes {
		if l.untouched(int32(p.Number)) {
			mask |= 1 << (p.Number % 64)
		}
	}
	return mask
}
