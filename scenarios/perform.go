package scenarios

import (
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// perform performs the step.
func (l *loop) perform(step Step) {
	switch step.Kind {
	case Tick:
		l.tick()
		return
	case Fair:
		l.beginFairPhase()
		return
	}
	l.idleTicks = 0
	server, onServer := step.server()
	switch {
	case step.Peer != 0:
		l.performOnLink(step)
	case onServer:
		l.performAt(step, server)
	default:
		l.performOn(step, l.processes[step.Process-1])
	}
}

// performOn performs a step that concerns a process and its client.
func (l *loop) performOn(step Step, p *process) {
	switch step.Kind {
	case Serve:
		l.cluster.Serve(p.link)
	case Deliver:
		p.woken = p.woken || p.link.EventNext()
		l.cluster.Deliver(p.link)
	case Resume:
		l.cluster.Resume(p.link)
	case Heal:
		l.cluster.Heal(p.link)
	case Enter, Leave:
		p.waiting, p.age = false, 0
		l.executor.openGate(p)
	case Fault:
		l.strike(step, p)
	}
}

// strike lets a fault strike a process or its client.
func (l *loop) strike(step Step, p *process) {
	phase := l.spend(step)
	l.log.Append(history.Event{
		At: l.cluster.Now(), Kind: history.Fault, Process: step.Process,
		Name: step.Fault.String(), Op: phase.String(), Relaxes: step.Fault.Relaxes(),
	})
	faults.Apply(step.Fault, l.bounds, l.cluster, p.link)
	switch {
	case step.Fault == faults.Restart:
		l.replace(p)
	case step.Fault == faults.Cancel:
		l.executor.cancelAttempt(p)
	}
}

// performAt performs a step that concerns a server.
func (l *loop) performAt(step Step, server int) {
	switch step.Kind {
	case Log:
		l.cluster.Log(server)
	case Apply:
		l.cluster.Apply(server)
	case Heal:
		l.cluster.HealServer(server)
		if !l.cluster.Up(server) {
			l.cluster.StartServer(server)
		}
		l.log.Append(history.Event{
			At: l.cluster.Now(), Kind: history.Healed,
			Server: int32(server + 1),
		})
	case Fault:
		phase := l.spend(step)
		l.log.Append(history.Event{
			At: l.cluster.Now(), Kind: history.Fault, Server: int32(server + 1),
			Name: step.Fault.String(),
			Op:   phase.String(), Relaxes: step.Fault.Relaxes(),
		})
		faults.ApplyAt(step.Fault, l.bounds, l.cluster, server)
	}
}

// tick lets time pass until the cluster's next deadline or until a process acts by itself, but for
// a bounded time, so that the strategy can decide while time passes. A process that was paused has
// resumed by then; see [process.write].
func (l *loop) tick() {
	for _, p := range l.processes {
		p.resuming = p.resuming && p.link.Paused()
	}
	pause := tickMax
	if l.jumps && l.idleTicks == idleTicksMax-1 && !l.fair {
		pause = timeJumpMax
	}
	deadline, ok := l.cluster.Deadline()
	if ok {
		pause = min(pause, deadline-l.cluster.Now())
	}
	now, acted := l.executor.sleep(pause)
	l.log.Append(history.Event{At: now, Kind: history.Tick})
	l.cluster.Advance(now)
	if acted || ok && deadline <= now || l.canMove() {
		l.idleTicks = 0
	} else {
		l.idleTicks++
	}
}

// canMove reports whether a step other than a tick or a fault can happen now.
func (l *loop) canMove() bool {
	for _, p := range l.processes {
		_, servable := p.link.Servable()
		_, deliverable := p.link.Deliverable()
		if servable || deliverable || p.waiting && !p.link.Crashed() || p.link.Down() ||
			p.link.Paused() {
			return true
		}
	}
	l.scratch = l.appendServers(l.scratch[:0])
	if l.linkFaults {
		l.scratch = l.appendLinkHeals(l.scratch)
	}
	return len(l.scratch) > 0
}

// awaitsTime reports whether an effect of a fault waits only for time: the expiry of a session
// without a connection, a client that is about to dial or to give up a stalled connection, the end
// of a pause, or a server that is about to notice a partition. Timers of processes do not count.
func (l *loop) awaitsTime() bool {
	if !l.struck {
		return false
	}
	for _, p := range l.processes {
		if p.link.Crashed() {
			continue
		}
		requests, replies := p.link.Stalled()
		if p.link.Paused() || p.link.Connected() && (requests || replies) || !p.link.Connected() &&
			!p.link.Down() {
			return true
		}
	}
	return l.cluster.WillNoticePartition() || slices.ContainsFunc(l.cluster.SessionList(),
		func(s simzk.SessionInfo) bool { return s.Server < 0 })
}
