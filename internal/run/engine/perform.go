package engine

import (
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// perform performs the step.
func (l *Loop) perform(step sim.Step) {
	switch step.Kind {
	case sim.Tick:
		l.tick(l.tickMax())
		return
	case sim.Pass:
		idle := l.IdleTicks
		l.tick(min(l.tickMax(), step.For))
		l.IdleTicks = min(l.IdleTicks, idle) // It was no whole tick.
		return
	case sim.Before, sim.After:
		l.approach(step.Kind)
		return
	case sim.Fair:
		l.beginFairPhase()
		return
	}
	l.IdleTicks = 0
	switch step.Kind {
	case sim.Enter, sim.Leave:
		p := l.contender(step.Process)
		p.Waiting, p.age = false, 0
		l.executor.OpenGate(p)
	case sim.Fault:
		l.strike(step)
	case sim.Shift:
		if system, periodic := l.System.(sim.Timers); periodic {
			system.Shift(step)
		}
	case sim.Deliver:
		process, _ := history.ProcessOf(step.Process)
		p := l.Processes[process-1]
		event := p.Client.EventNext()
		p.Woken = p.Woken || event
		for _, thread := range p.Threads {
			thread.Woken = thread.Woken || event
		}
		l.System.Perform(step)
	default:
		l.System.Perform(step)
	}
}

// tickMax returns the longest duration of the next tick.
func (l *Loop) tickMax() time.Duration {
	switch {
	case l.idle.settled:
		return history.QuiescenceAfter
	case l.jumps && l.IdleTicks == idleTicksMax-1 && !l.fair:
		return timeJumpMax
	}
	return tickMax
}

// pass returns the step that lets time pass no further than a tick, to the first instant at which a
// timer of a process fires or stored data expire, and whether there is such an instant.
func (l *Loop) pass() (step sim.Step, stops bool) {
	now := l.System.Now()
	pause := l.tickMax()
	if deadline, ok := l.System.Deadline(); ok {
		pause = min(pause, deadline-now)
	}
	at, stops := l.executor.NextTimer(now + pause)
	if _, next := l.System.Expiry(); next > 0 && next <= now+pause && (!stops || next < at) {
		at, stops = next, true
	}
	if stops && now < at && at < now+pause {
		return sim.Step{Kind: sim.Pass, For: at - now}, true
	}
	return sim.Step{Kind: sim.Tick}, stops
}

// strike lets a fault strike.
func (l *Loop) strike(step sim.Step) {
	e := history.Event{
		At: l.System.Now(), Kind: history.Fault, Name: step.Fault.String(),
		Op: l.spend(step).String(), Relaxes: step.Fault.Relaxes(), Peer: step.Peer,
	}
	if step.Process < 0 {
		e.Server = -step.Process
	} else {
		e.Process = step.Process
	}
	l.log.Append(e)
	struck := step
	if step.Process > 0 {
		struck.Process, _ = history.ProcessOf(step.Process)
	}
	l.System.Inject(struck, l.severity())
	switch step.Fault {
	case faults.Restart:
		l.replace(l.Processes[step.Process-1])
	case faults.Cancel:
		l.executor.CancelAttempt(l.contender(step.Process))
	case faults.SlowLink, faults.SlowRequests, faults.SlowReplies:
		l.Processes[step.Process-1].slow = true
	}
}

// instantDistance is how long before or after an instant [sim.Before] and [sim.After] end.
const instantDistance = time.Millisecond

// approach lets time pass until just before, or just after, the instant of nextInstant. A deadline
// before that ends it early.
func (l *Loop) approach(kind sim.StepKind) {
	now := l.System.Now()
	after, distance := now, instantDistance
	if kind == sim.Before {
		after, distance = now+instantDistance, -instantDistance
	}
	pause := tickMax
	if at, ok := l.nextInstant(after); ok {
		pause = min(pause, at+distance-now)
	}
	idle := l.IdleTicks
	l.tick(pause)
	l.IdleTicks = min(l.IdleTicks, idle) // It was no whole tick.
}

// nextInstant returns the first instant after a time at which a timer of the system fires or a
// holder's validity time is over, and false if there is none.
func (l *Loop) nextInstant(after time.Duration) (at time.Duration, ok bool) {
	if system, periodic := l.System.(sim.Timers); periodic {
		at, ok = system.NextInstant(after)
	} else if at, ok = l.System.Deadline(); at <= after {
		ok = false
	}
	for _, p := range l.Contenders {
		if p.hold == nil || p.hold.Until.IsZero() {
			continue
		}
		until := l.System.Now() + time.Until(p.hold.Until)
		if until > after && (!ok || until < at) {
			at, ok = until, true
		}
	}
	return at, ok
}

// tick lets time pass until the system's next deadline or until a process acts by itself, and no
// longer than a pause, so that the strategy can decide while time passes. A process that was paused
// has resumed by then; see [Process.write].
func (l *Loop) tick(pause time.Duration) {
	for _, p := range l.Contenders {
		p.Resuming = p.Resuming && p.Client.Paused()
	}
	deadline, ok := l.System.Deadline()
	if ok {
		pause = min(pause, deadline-l.System.Now())
	}
	last, next := l.System.Expiry()
	ending := last > 0 || next > 0 || l.canMove()
	now, acted := l.executor.Sleep(pause)
	l.log.Append(history.Event{At: now, Kind: history.Tick, MayEndLock: ending})
	l.System.Advance(now)
	if acted || ok && deadline <= now || l.canMove() {
		l.IdleTicks = 0
	} else {
		l.IdleTicks++
	}
}

// canMove reports whether a step other than a tick or a fault can happen now.
func (l *Loop) canMove() bool {
	for _, p := range l.Contenders {
		if p.Waiting && !p.Client.Crashed() {
			return true
		}
	}
	l.scratch = l.System.AppendRepairs(l.System.AppendMessages(l.scratch[:0]), l.fair)
	return len(l.scratch) > 0
}

// awaitsTime reports whether an effect of a fault, the expiry of data that the service stores, or
// what follows it waits only for time. Timers of processes do not count otherwise.
func (l *Loop) awaitsTime() bool {
	return l.struck && l.System.AwaitsTime() || l.expires() || l.expired()
}

// severity returns how hard a fault strikes now. Unless the scenario says how long a pause lasts,
// it outlasts the data that will expire next, within the contract, so that another process can take
// over meanwhile. A longer one shows nothing more: processes that poll repeat themselves.
func (l *Loop) severity() faults.Severity {
	severity := l.bounds
	if l.pauses {
		return severity
	}
	pause, now := faults.DefaultSeverity().Pause, l.System.Now()
	if _, next := l.System.Expiry(); next > 0 {
		pause = max(pause, next-now+tickMax)
	}
	severity.Pause = min(severity.Pause, pause)
	return severity
}

// expires reports whether data that the service stores will expire.
func (l *Loop) expires() bool {
	_, next := l.System.Expiry()
	return next > 0
}

// expired reports whether the last data have expired and processes may not have noticed it yet.
func (l *Loop) expired() bool {
	last, next := l.System.Expiry()
	return last > 0 && next == 0 && l.System.Now() < last+expiryNotice
}
