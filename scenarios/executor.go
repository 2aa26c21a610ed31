package scenarios

import (
	"testing/synctest"
	"time"
)

// An executor runs the code of a run's processes. [liveExecutor] runs it on goroutines;
// [replayExecutor] replays reactions that are known from earlier runs. The loop decides what
// happens, and the executor what the processes do next.
type executor interface {
	// begin starts a process.
	begin(*process)
	// openGate lets a process that waits at its gate go on.
	openGate(*process)
	// cancelAttempt ends the context of a process's attempt at the lock.
	cancelAttempt(*process)
	// settle waits until every process has reacted to what has reached it.
	settle()
	// checkLosses lets processes whose hold is lost find that out.
	checkLosses()
	// sleep lets time pass, at most as long as the pause, until a process acts by itself, and
	// reports whether one has.
	sleep(pause time.Duration) (now time.Duration, acted bool)
	// ownsResource reports whether a process's hold brings a resource of its own.
	ownsResource(*process) bool
	// ended reports whether all goroutines of a process are known to have ended.
	ended(*process) bool
	// stateKey returns the state key of the run; see [loop.key].
	stateKey() uint64
	// tearDown ends all processes. If the run is judged, processes that have finished are shut down
	// cleanly, so that a goroutine that remains is a leak.
	tearDown(judged bool)
	// save returns the executor's state, in the memory of an old one unless that is nil, and
	// restore returns to it. Only an executor without goroutines can do either.
	save(old any) any
	restore(saved any)
}

// A liveExecutor runs processes on goroutines in the bubble of the run.
type liveExecutor struct {
	loop  *loop
	began time.Time
	timer *time.Timer
	woken bool // the loop has woken a process since all were blocked
}

func (e *liveExecutor) begin(p *process) {
	e.woken = true
	go p.run()
}

func (e *liveExecutor) openGate(p *process) {
	e.woken = true
	p.resume <- struct{}{}
}

func (e *liveExecutor) cancelAttempt(p *process) {
	p.cancelled, e.woken = true, true
	p.cancel()
}

func (e *liveExecutor) settle() {
	if woken := e.loop.system.Woken(); woken || e.woken {
		e.woken = false
		synctest.Wait()
	}
}

// checkLosses has nothing to do: [process.checkLoss] looks at the hold.
func (e *liveExecutor) checkLosses() {}

func (e *liveExecutor) sleep(pause time.Duration) (now time.Duration, acted bool) {
	activity := e.loop.system.Activity()
	if e.timer == nil {
		e.timer = time.NewTimer(pause)
	} else {
		e.timer.Reset(pause)
	}
	select {
	case <-activity: // Activity from before the pause does not count.
	default:
	}
	select {
	case <-e.timer.C:
	case <-activity:
		acted = true
		e.timer.Stop()
	}
	synctest.Wait()
	select {
	case <-activity: // A process that acts as the pause ends may come before or after the timer.
		acted = true
	default:
	}
	return time.Since(e.began), acted
}

func (e *liveExecutor) ownsResource(p *process) bool {
	return p.hold != nil && p.hold.Resource != nil
}

func (e *liveExecutor) ended(*process) bool { return false }

func (e *liveExecutor) stateKey() uint64 { return e.loop.timelineKey() }

func (e *liveExecutor) tearDown(judged bool) {
	l := e.loop
	for _, p := range l.processes {
		if judged && p.stage == finished && !p.client.Crashed() {
			p.client.ShutDown()
		} else {
			p.client.TearDown()
		}
		close(p.resume)
	}
	l.cancel() // Until here every process is blocked, so that its fields can be read.
	// Goroutines that sleep wake up once more and find that the run is over.
	time.Sleep(teardownGrace)
}

func (e *liveExecutor) save(any) any { panic("scenarios: goroutines cannot be saved") }

func (e *liveExecutor) restore(any) { panic("scenarios: goroutines cannot be restored") }
