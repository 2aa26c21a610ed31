package scenarios

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
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
	switch step.Kind {
	case Enter, Leave:
		p := l.processes[step.Process-1]
		p.waiting, p.age = false, 0
		l.executor.openGate(p)
	case Fault:
		l.strike(step)
	case Deliver:
		p := l.processes[step.Process-1]
		p.woken = p.woken || p.client.EventNext()
		l.system.Perform(step)
	default:
		l.system.Perform(step)
	}
}

// strike lets a fault strike.
func (l *loop) strike(step Step) {
	e := history.Event{
		At: l.system.Now(), Kind: history.Fault, Name: step.Fault.String(),
		Op: l.spend(step).String(), Relaxes: step.Fault.Relaxes(), Peer: step.Peer,
	}
	if step.Process < 0 {
		e.Server = -step.Process
	} else {
		e.Process = step.Process
	}
	l.log.Append(e)
	l.system.Inject(step, l.bounds)
	switch step.Fault {
	case faults.Restart:
		l.replace(l.processes[step.Process-1])
	case faults.Cancel:
		l.executor.cancelAttempt(l.processes[step.Process-1])
	}
}

// tick lets time pass until the cluster's next deadline or until a process acts by itself, but for
// a bounded time, so that the strategy can decide while time passes. A process that was paused has
// resumed by then; see [process.write].
func (l *loop) tick() {
	for _, p := range l.processes {
		p.resuming = p.resuming && p.client.Paused()
	}
	pause := tickMax
	if l.jumps && l.idleTicks == idleTicksMax-1 && !l.fair {
		pause = timeJumpMax
	}
	deadline, ok := l.system.Deadline()
	if ok {
		pause = min(pause, deadline-l.system.Now())
	}
	now, acted := l.executor.sleep(pause)
	l.log.Append(history.Event{At: now, Kind: history.Tick})
	l.system.Advance(now)
	if acted || ok && deadline <= now || l.canMove() {
		l.idleTicks = 0
	} else {
		l.idleTicks++
	}
}

// canMove reports whether a step other than a tick or a fault can happen now.
func (l *loop) canMove() bool {
	for _, p := range l.processes {
		if p.waiting && !p.client.Crashed() {
			return true
		}
	}
	l.scratch = l.system.AppendRepairs(l.system.AppendMessages(l.scratch[:0]), l.fair)
	return len(l.scratch) > 0
}

// awaitsTime reports whether an effect of a fault waits only for time. Timers of processes do not
// count.
func (l *loop) awaitsTime() bool { return l.struck && l.system.AwaitsTime() }
