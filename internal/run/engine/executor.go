package engine

import (
	"slices"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/internal/base/timers"
)

// An Executor runs the code of a run's processes. The liveExecutor runs it on goroutines; the
// executor of package replay replays reactions that are known from earlier runs. The loop decides
// what happens, and the executor what the processes do next.
type Executor interface {
	// Begin starts a process.
	Begin(*Process)
	// OpenGate lets a process that waits at its gate go on.
	OpenGate(*Process)
	// CancelAttempt ends the context of a process's attempt at the lock.
	CancelAttempt(*Process)
	// Settle waits until every process has reacted to what has reached it.
	Settle()
	// CheckLosses lets processes whose hold is lost find that out.
	CheckLosses()
	// Sleep lets time pass, at most as long as the pause, until a process acts by itself, and
	// reports whether one has.
	Sleep(pause time.Duration) (now time.Duration, acted bool)
	// NextTimer returns when the first timer of a process fires, and false if none does up to the
	// given time. What the process then does may be visible to nobody else.
	NextTimer(until time.Duration) (at time.Duration, ok bool)
	// OwnsResource reports whether a process's hold brings a resource of its own.
	OwnsResource(*Process) bool
	// Ended reports whether all goroutines of a process are known to have ended.
	Ended(*Process) bool
	// StateKey returns the state key of the run; see [Loop.timelineKey] for that of live processes.
	StateKey() uint64
	// TearDown ends all processes. If the run is judged, processes that have finished are shut down
	// cleanly, so that a goroutine that remains is a leak.
	TearDown(judged bool)
	// Save returns the executor's state, in the memory of an old one unless that is nil. Only an
	// executor without goroutines can save its state and return to it.
	Save(old any) any
	// Restore returns to a saved state.
	Restore(saved any)
}

// A liveExecutor runs processes on goroutines in the bubble of the run.
type liveExecutor struct {
	loop  *Loop
	began time.Time
	timer *time.Timer
	woken bool // the loop has woken a process since all were blocked
	// those of the bubble, once somebody has asked for the next one
	timers *timers.Timers
}

// Begin waits until the process is blocked, so that processes begin one after the other. Their
// order is no decision, and if the Go runtime preempts one of them, as on a busy machine, it would
// change.
func (e *liveExecutor) Begin(p *Process) {
	e.woken = true
	owners := e.loop.owners
	go func() {
		owners.adopt(p.Number)
		p.run()
	}()
	synctest.Wait()
}

func (e *liveExecutor) OpenGate(p *Process) {
	e.woken = true
	p.resume <- struct{}{}
}

func (e *liveExecutor) CancelAttempt(p *Process) {
	p.Cancelled, e.woken = true, true
	p.cancel()
}

func (e *liveExecutor) Settle() {
	if woken := e.loop.System.Woken(); woken || e.woken {
		e.woken, e.loop.Reached = false, true
		synctest.Wait()
	}
}

// CheckLosses has nothing to do: [Process.checkLoss] looks at the hold.
func (e *liveExecutor) CheckLosses() {}

func (e *liveExecutor) Sleep(pause time.Duration) (now time.Duration, acted bool) {
	activity := e.loop.System.Activity()
	if e.timer == nil {
		e.timer = time.NewTimer(pause)
	} else {
		e.timer.Reset(pause)
	}
	select {
	case <-activity: // Activity from before the pause does not count.
	default:
	}
	acted = e.sleep(activity)
	synctest.Wait()
	select {
	case <-activity: // A process that acts as the pause ends may come before or after the timer.
		acted = true
	default:
	}
	return time.Since(e.began), acted
}

// sleep sleeps until the timer fires or a process acts, and reports whether one has. It notes when
// the first holder loses its hold meanwhile.
func (e *liveExecutor) sleep(activity <-chan struct{}) (acted bool) {
	for {
		holder, lost := e.firstHolder()
		e.loop.progress.Add(1) // A timer can wake a process that writes what was read.
		select {
		case <-e.timer.C:
			return false
		case <-activity:
			e.timer.Stop()
			return true
		case <-lost:
			synctest.Wait() // Processes that wake at the same instant write what is read here.
			holder.lostAt = time.Since(e.began)
		}
	}
}

// firstHolder returns the first process that is not known to have lost its hold, and the channel
// that is closed when it does; or nil. If several processes hold, the loss of a later one counts
// from when that process notices it.
func (e *liveExecutor) firstHolder() (*Process, <-chan struct{}) {
	for _, p := range e.loop.Contenders {
		if p.hold != nil && !p.Lost && p.lostAt == 0 && !p.Client.Crashed() && !p.Client.Paused() {
			return p, p.hold.Done
		}
	}
	return nil, nil
}

// NextTimer also returns timers of processes that have crashed.
func (e *liveExecutor) NextTimer(until time.Duration) (at time.Duration, ok bool) {
	if e.timers == nil {
		e.timers = new(timers.OfBubble())
	}
	after, ok := e.timers.Next()
	at = time.Since(e.began) + after
	return at, ok && at <= until
}

func (e *liveExecutor) OwnsResource(p *Process) bool {
	return p.hold != nil && p.hold.Resource != nil
}

func (e *liveExecutor) Ended(*Process) bool { return false }

func (e *liveExecutor) StateKey() uint64 { return e.loop.timelineKey() }

func (e *liveExecutor) TearDown(judged bool) {
	l := e.loop
	if judged && l.log.GathersFacts() {
		l.log.SetWaits(l.blocked())
	}
	for _, p := range l.Processes {
		finishes := func(p *Process) bool { return p.Stage == finished }
		if judged && finishes(p) && !p.Client.Crashed() &&
			!slices.ContainsFunc(p.Threads, func(t *Process) bool { return !finishes(t) }) {
			p.Client.ShutDown()
		} else {
			p.tornDown = true
			if !l.keeps(p) {
				p.Client.TearDown()
			}
		}
	}
	for _, p := range l.Contenders {
		close(p.resume)
	}
	l.Cancel() // Until here every process is blocked, so that its fields can be read.
	// Goroutines that sleep wake up once more and find that the run is over, but no client that
	// knows of no run does.
	if _, strays := l.unreached(); !strays {
		time.Sleep(teardownGrace)
	}
}

// KeepStopped makes the code of processes that have not finished stay blocked in its calls and on
// the channels of its clients when a run ends, instead of ending. It costs the memory of such code,
// which is lost. It is for code that would end the program: such as code that panics when the
// events of its client end. A program sets it before its first run.
var KeepStopped bool

// keeps reports whether the code of a process that has not finished stays blocked for ever. Living
// client libraries do not: their timers would never end.
func (l *Loop) keeps(p *Process) bool {
	return KeepStopped && (p.Client.Crashed() || !l.libraries)
}

func (e *liveExecutor) Save(any) any { panic("engine: goroutines cannot be saved") }

func (e *liveExecutor) Restore(any) { panic("engine: goroutines cannot be restored") }
