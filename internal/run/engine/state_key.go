package engine

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/sim"
)

// timelineKey returns the state key of a run whose processes are live: 64 bits over all that
// determines what can happen next. Up to hash collisions, two runs with equal keys have equal
// futures under equal decisions.
//
// The code of a process is deterministic, so its state is a function of what reached it and when.
// The key covers
//
//   - what the process was told, in the system's key;
//   - the order and the times of its messages, gates, faults and session events, in its timeline,
//     because code can set timers and read the clock;
//   - the current time, for the same reason, and because session expiry is rounded to the server's
//     ticks;
//   - when the server last heard from the process, because session expiry counts from then;
//   - of a process that replaces another, where it runs and how many cycles are left to it.
func (l *Loop) timelineKey() uint64 {
	key := hash64.Fold(l.System.Key(), uint64(l.System.Now()))
	for _, p := range l.Contenders {
		key = hash64.Fold(hash64.Fold(key, uint64(p.gateOpened)<<8|uint64(p.Stage)),
			p.timeline^uint64(p.notified))
		if p.Place.PID > 1 {
			key = hash64.Fold(key,
				uint64(p.Cycles)<<32|uint64(p.Place.Host)<<16|uint64(p.Place.PID))
		}
		if p.Resuming {
			key = hash64.Fold(key, 1)
		}
		if p.NodeGone && !p.Client.Crashed() {
			key = hash64.Fold(key, 2)
		}
	}
	return l.Processes[0].Register.Key(hash64.Fold(key, l.BudgetKey))
}

// lastKey returns the key of the state in which a decision is made. It was computed after the last
// step.
func (l *Loop) lastKey() uint64 {
	if last := len(l.result.Keys) - 1; last >= 0 {
		return l.result.Keys[last]
	}
	return l.executor.StateKey()
}

// touch adds a step that is about to happen to the timeline of its process.
func (l *Loop) touch(step sim.Step) {
	if step.Process <= 0 || step.Kind == sim.Shift { // A shift is part of the system's key.
		return
	}
	process, _ := history.ProcessOf(step.Process)
	p, now := l.Processes[process-1], l.System.Now()
	switch step.Kind {
	case sim.Serve: // It reaches the server, and not the process.
		p.notified = now
		if l.searched && step.Process == process && syncs(p.Client) { // not on a further connection
			p.syncs++
		} else {
			p.apart = true
		}
	case sim.Heal: // It reaches neither.
		p.apart = true
	default:
		p.apart = p.apart || step.Kind != sim.Deliver
		if step.Process != process { // The threads share the handle, so their order matters.
			p.timeline = hash64.Mix(p.timeline, uint64(step.Process))
		}
		p.timeline = hash64.Mix(p.timeline,
			uint64(now)<<8|uint64(step.Fault)<<4|uint64(step.Kind)|uint64(step.Peer)<<56)
	}
}

// syncs reports whether the next request of a client is known to be a sync at the only server.
func syncs(c sim.Client) bool {
	client, known := c.(sim.IndependentClient)
	return known && client.Syncs()
}

// touchSessions adds the session events since the given index of the log to the timelines of their
// processes: a server's own step can close a connection, and the process can know whether that came
// before or after its own steps of the same instant.
func (l *Loop) touchSessions(from int) {
	for _, e := range l.log.Events()[from:] {
		if e.Kind == history.SessionState && e.Process > 0 {
			process, _ := history.ProcessOf(e.Process)
			p := l.Processes[process-1]
			p.timeline, p.apart = hash64.Mix(p.timeline, uint64(e.At)<<8|uint64(e.Kind)), true
		}
	}
}

// Steady reports whether no server can lose its leader any more.
func (l *Loop) Steady() bool { return l.unassailable() && l.System.FullyConnected() }

// unassailable reports whether no fault of a server, or of a link to one, can strike any more.
func (l *Loop) unassailable() bool {
	for kind := range faults.Kinds {
		if l.allowed[kind] && kind.Strikes() != faults.OneClient {
			return false
		}
	}
	return true
}
