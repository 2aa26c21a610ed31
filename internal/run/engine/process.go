package engine

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A stage is how far a process is in its script.
type stage uint8

const (
	idle stage = iota
	locking
	holding
	releasing
	finished
)

// String returns the name of the stage.
func (s stage) String() string {
	return [...]string{
		idle: "idle", locking: "locking", holding: "holding", releasing: "releasing",
		finished: "finished",
	}[s]
}

// A Process runs the script of a scenario: lock, enter, leave, unlock. Its fields belong to its own
// goroutine while that runs, and to the loop while the goroutine is blocked.
type Process struct {
	sim.Environment
	subject *scenarios.Subject
	Cycles  int

	// Threads are all threads of the process, the process itself first. They share the client and
	// the handle on the lock. Only the first thread, which opens the handle, has them.
	Threads []*Process
	first   *Process         // of the threads; nil if the process is that
	locker  scenarios.Locker // the handle, once the first thread has opened it
	started bool

	Register *Register // the protected resource, shared by all processes

	slow bool // its link is slow

	cancellable bool               // an attempt may be cancelled
	cancel      context.CancelFunc // ends the context of the attempt

	// progress is shared by the loop and all processes. Each of them adds to it before and after it
	// touches the fields below. Only one runs at a time, but where a timer wakes a process, nothing
	// else tells the race detector that the loop's reads come before the process's writes.
	progress *atomic.Int64

	Pending  []history.Event // events since the loop last collected them
	forfeits int32           // 1 if Forfeit was called since; atomic
	ProcessState
	hold     *scenarios.Hold
	Woken    bool // a watch event arrived, and the process is not waiting again yet
	Resuming bool // in the critical section, and paused until a moment ago; see write

	// NodeGone reports that the process had lost its znode when its current re-entry or unlock
	// began, so that the call must not succeed.
	NodeGone bool

	age        uint64 // since when it waits, set by the loop
	gateOpened int    // number of gates passed
	resume     chan struct{}
	tornDown   bool // the run ended before the process's script

	timeline uint64        // hash of the steps that reached the process, with their times
	notified time.Duration // when the server last handled a request of the process
	syncs    int           // of its requests, that the server has handled
	apart    bool          // more than syncs and their replies has happened to it; see [View.Twins]
	lostAt   time.Duration // when the hold was lost, if that was while time passed; or 0

	random randomBytes
	space  [3]history.Event // initial memory of Pending
}

// A ProcessState is what a run knows of a process's code.
type ProcessState struct {
	Stage     stage
	Attempt   int32
	Gate      sim.StepKind // Enter or Leave: the step that the process waits for
	Waiting   bool         // at the gate
	Cancelled bool         // the context of the current attempt has ended
	Lost      bool         // the process has been told that its hold is lost
	Over      bool         // the goroutine has ended
	Panics    string       // message and stack; "" if the process has not panicked
	OpenFails string       // the error of the last Open that failed; "" if none has
}

// run is the process's goroutine.
func (p *Process) run() {
	defer p.end()
	growStack(p.Client.Process())
	process, _ := history.ProcessOf(int32(p.Number))
	scheduler.Join(process)
	if p.first != nil {
		p.locker = p.first.locker
	}
	if p.locker != nil || p.open() {
		for range p.Cycles {
			p.cycle(p.locker)
		}
	}
	p.record(history.Event{Kind: history.Finished}, finished)
}

// open opens the handle on the lock, and reports whether that succeeded. If it fails, the process
// has a failed attempt and ends; see [Loop.setUpMistake].
func (p *Process) open() bool {
	locker, err := p.subject.Open(scenarios.NewProcess(&p.Environment))
	switch {
	case locker == nil && err == nil:
		panic(sim.SetUpError("Subject.Open returns neither a Locker nor an error"))
	case err == nil:
		p.progress.Add(1)
		p.locker = locker
		return true
	case p.stopped():
		runtime.Goexit()
	}
	p.progress.Add(1)
	p.Attempt++
	p.OpenFails = history.OpenFails + err.Error()
	p.record(history.Event{Kind: history.LockCall}, idle)
	p.record(history.Event{Kind: history.LockReturn, Err: p.OpenFails}, idle)
	return false
}

// end runs when the goroutine ends, by return, panic or Goexit.
func (p *Process) end() {
	p.progress.Add(1)
	if r := recover(); r != nil && !p.stopped() {
		if message, ok := r.(sim.SetUpError); ok {
			r = setUpMark + string(message)
		}
		p.Panics = fmt.Sprintf("%v\n%s", r, debug.Stack())
	}
	p.Over = true
	p.publish()
}

// stopped reports whether the process has crashed, or the run has ended before its script. What its
// code still does then does not count.
func (p *Process) stopped() bool { return p.tornDown || p.Client.Crashed() }

func (p *Process) cycle(locker scenarios.Locker) {
	p.Attempt++
	ctx := p.Context
	if p.cancellable {
		p.progress.Add(1)
		ctx, p.cancel = context.WithCancel(p.Context)
		p.Cancelled = false
	}
	lock, mode := locker.Lock, ""
	if p.subject.Shares(p.Client.Process(), p.Attempt) {
		sharing, ok := locker.(scenarios.SharedLocker)
		if !ok {
			panic(sim.SetUpError("Subject.Shared needs a handle with LockShared"))
		}
		lock, mode = sharing.LockShared, history.SharedMode
	}
	p.record(history.Event{Kind: history.LockCall, Op: mode}, locking)
	p.observe(ctx)
	hold, err := lock(ctx)
	if err != nil {
		p.record(history.Event{Kind: history.LockReturn, Op: mode, Err: err.Error()}, idle)
		return
	}
	if hold == nil {
		panic(sim.SetUpError("Lock returns neither a Hold nor an error"))
	}
	if hold.Unlock == nil {
		panic(sim.SetUpError("Lock returns a Hold without Unlock"))
	}
	p.progress.Add(1)
	p.hold, p.Lost, p.lostAt = hold, false, 0
	p.record(history.Event{
		Kind: history.LockReturn, Op: mode, Path: hold.Node, Zxid: hold.Token,
		Validity: validity(hold.Until),
	}, holding)
	again := p.reenter(hold)
	p.pass(sim.Enter)
	// A process that is told of its loss before it enters does not enter.
	if !p.Lost {
		p.stay(hold, mode)
	}
	p.exit(again)
	p.record(history.Event{Kind: history.UnlockCall}, releasing)
	p.hold = nil
	p.record(outcome(history.UnlockReturn, hold.Unlock(p.Context)), idle)
}

// stay is the process's critical section. A process that shares the lock writes nothing.
func (p *Process) stay(hold *scenarios.Hold, mode string) {
	shared := mode == history.SharedMode
	p.record(history.Event{Kind: history.Enter, Op: mode}, holding)
	resource := hold.Resource
	if resource == nil && p.subject.Guard != scenarios.NoResource {
		resource = p.Register.of(p.subject.Guard, hold.Token, shared)
	}
	sound := p.read(resource)
	p.extend(hold)
	p.observe(p.Context)
	p.pass(sim.Leave)
	if sound && !shared {
		p.write(resource)
	}
	p.record(history.Event{Kind: history.Leave}, holding)
}

// observe observes the election, if the handle is on one.
func (p *Process) observe(ctx context.Context) {
	if observer, ok := p.locker.(scenarios.Observer); ok {
		observer.Observe(ctx, func(l scenarios.Leader) {
			p.record(history.Event{
				Kind: history.Observed, Zxid: l.Term, Path: l.Node, Name: l.Name,
			}, p.Stage)
		})
	}
}

// extend extends the validity time of the lock if the hold allows it.
func (p *Process) extend(hold *scenarios.Hold) {
	if hold.Extend == nil || p.Lost {
		return
	}
	until, err := hold.Extend(p.Context)
	e := outcome(history.Extended, err)
	if err == nil {
		e.Validity = validity(until)
	}
	p.record(e, holding)
}

// validity returns how long a lock is valid from now on, or 0 if it is not, or has no such time.
func validity(until time.Time) time.Duration {
	if until.IsZero() {
		return 0
	}
	return max(0, time.Until(until))
}

// reenter acquires the lock again if the hold allows it, and returns the second hold.
func (p *Process) reenter(hold *scenarios.Hold) *scenarios.Hold {
	if hold.Reenter == nil {
		return nil
	}
	p.record(history.Event{Kind: history.ReenterCall}, holding)
	again, err := hold.Reenter(p.Context)
	p.record(outcome(history.ReenterReturn, err), holding)
	return again
}

// exit releases the second hold.
func (p *Process) exit(again *scenarios.Hold) {
	if again != nil {
		p.record(outcome(history.Exited, again.Unlock(p.Context)), holding)
	}
}

func outcome(kind history.Kind, err error) history.Event {
	if err == nil {
		return history.Event{Kind: kind}
	}
	return history.Event{Kind: kind, Err: err.Error()}
}

// record adds an event for the loop to collect. A process that has crashed waits for the end of the
// run instead.
func (p *Process) record(e history.Event, next stage) {
	if p.Client.Crashed() {
		<-p.resume
		runtime.Goexit()
	}
	p.progress.Add(1)
	e.Process, e.Attempt = int32(p.Number), p.Attempt
	p.Pending = append(p.Pending, e)
	p.Stage = next
	p.publish()
}

// publish wakes the loop's timer after the process has acted. Actions of a crashed process do not
// count.
func (p *Process) publish() {
	p.progress.Add(1)
	if !p.Client.Crashed() {
		p.Client.Notify()
	}
}

// pass waits until the loop opens the gate.
func (p *Process) pass(gate sim.StepKind) {
	p.progress.Add(1)
	p.Gate, p.Waiting = gate, true
	p.publish()
	if _, ok := <-p.resume; !ok {
		runtime.Goexit()
	}
	p.gateOpened++
}

// done reports whether the process will do nothing more.
func (p *Process) done() bool {
	return p.Stage == finished || p.Over || p.Client.Crashed() ||
		p.first != nil && !p.started && p.first.Over
}

// checkLoss records the loss of the hold if the hold reports it.
func (p *Process) checkLoss() {
	if p.hold == nil || p.Lost || p.Client.Crashed() {
		return
	}
	select {
	case <-p.hold.Done:
		p.Lost = true
		p.Pending = append(p.Pending, history.Event{
			Kind: history.Lost, Process: int32(p.Number),
			Attempt: p.Attempt,
		})
	default:
	}
}

// growStack grows the goroutine's stack, while it is nearly empty, to the size that lock code
// mostly needs. Growing it step by step from deep within that code shows in BenchmarkSchedule.
//
//go:noinline
func growStack(i int) byte {
	var room [6 << 10]byte
	room[i]++ // Or else the compiler would see that no room is needed.
	return room[len(room)-1-i]
}

// allDone reports whether no thread of a process will do anything more.
func (p *Process) allDone() bool {
	for _, thread := range p.Threads {
		if !thread.done() {
			return false
		}
	}
	return p.done()
}
