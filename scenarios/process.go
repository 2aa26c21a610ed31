package scenarios

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/history"
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

// A process runs the script of a scenario: lock, enter, leave, unlock. Its fields belong to its own
// goroutine while that runs, and to the loop while the goroutine is blocked.
type process struct {
	Process
	client  Client
	subject *Subject
	cycles  int

	owners   *owners   // nil if goroutines need no owner
	register *register // the protected resource, shared by all processes

	cancellable bool               // an attempt may be cancelled
	cancel      context.CancelFunc // ends the context of the attempt

	// progress is shared by the loop and all processes. Each of them adds to it before and after it
	// touches the fields below. Only one runs at a time, but where a timer wakes a process, nothing
	// else tells the race detector that the loop's reads come before the process's writes.
	progress *atomic.Int64

	pending []history.Event // events since the loop last collected them
	processState
	hold     *Hold
	woken    bool // a watch event arrived, and the process is not waiting again yet
	resuming bool // in the critical section, and paused until a moment ago; see write

	// nodeGone reports that the process had lost its znode when its current re-entry or unlock
	// began, so that the call must not succeed.
	nodeGone bool

	age        uint64 // since when it waits, set by the loop
	gateOpened int    // number of gates passed
	resume     chan struct{}

	timeline uint64        // hash of the steps that reached the process, with their times
	notified time.Duration // when the server last handled a request of the process
	served   bool          // the server has handled a request of the process

	random randomBytes
	space  [3]history.Event // initial memory of pending
}

// A processState is what a run knows of a process's code.
type processState struct {
	stage     stage
	attempt   int32
	gate      StepKind // Enter or Leave: the step that the process waits for
	waiting   bool     // at the gate
	cancelled bool     // the context of the current attempt has ended
	lost      bool     // the process has been told that its hold is lost
	over      bool     // the goroutine has ended
	panics    string   // message and stack; "" if the process has not panicked
}

// run is the process's goroutine.
func (p *process) run() {
	defer p.end()
	growStack(p.Number)
	if p.owners != nil {
		p.owners.adopt(p.Number)
	}
	locker, err := p.subject.Open(&p.Process)
	if err != nil {
		panic(fmt.Sprintf("Subject.Open fails: %v", err))
	}
	if locker == nil {
		panic("Subject.Open returns neither a Locker nor an error")
	}
	for range p.cycles {
		p.cycle(locker)
	}
	p.record(history.Event{Kind: history.Finished}, finished)
}

// end runs when the goroutine ends, by return, panic or Goexit.
func (p *process) end() {
	p.progress.Add(1)
	if r := recover(); r != nil {
		p.panics = fmt.Sprintf("%v\n%s", r, debug.Stack())
	}
	p.over = true
	p.publish()
}

func (p *process) cycle(locker Locker) {
	p.attempt++
	ctx := p.ctx
	if p.cancellable {
		p.progress.Add(1)
		ctx, p.cancel = context.WithCancel(p.ctx)
		p.cancelled = false
	}
	p.record(history.Event{Kind: history.LockCall}, locking)
	hold, err := locker.Lock(ctx)
	if err != nil {
		p.record(history.Event{Kind: history.LockReturn, Err: err.Error()}, idle)
		return
	}
	if hold == nil {
		panic("Lock returns neither a Hold nor an error")
	}
	if hold.Unlock == nil {
		panic("Lock returns a Hold without Unlock")
	}
	p.progress.Add(1)
	p.hold, p.lost = hold, false
	p.record(history.Event{Kind: history.LockReturn, Path: hold.Node, Zxid: hold.Token}, holding)
	again := p.reenter(hold)
	p.pass(Enter)
	// A process that is told of its loss before it enters does not enter.
	if !p.lost {
		p.stay(hold)
	}
	p.exit(again)
	p.record(history.Event{Kind: history.UnlockCall}, releasing)
	p.hold = nil
	p.record(outcome(history.UnlockReturn, hold.Unlock(p.ctx)), idle)
}

// stay is the process's critical section.
func (p *process) stay(hold *Hold) {
	p.record(history.Event{Kind: history.Enter}, holding)
	resource := hold.Resource
	if resource == nil && p.subject.Guard != NoResource {
		resource = p.register.of(p.subject.Guard, hold.Token)
	}
	sound := p.read(resource)
	p.pass(Leave)
	if sound {
		p.write(resource)
	}
	p.record(history.Event{Kind: history.Leave}, holding)
}

// reenter acquires the lock again if the hold allows it, and returns the second hold.
func (p *process) reenter(hold *Hold) *Hold {
	if hold.Reenter == nil {
		return nil
	}
	p.record(history.Event{Kind: history.ReenterCall}, holding)
	again, err := hold.Reenter(p.ctx)
	p.record(outcome(history.ReenterReturn, err), holding)
	return again
}

// exit releases the second hold.
func (p *process) exit(again *Hold) {
	if again != nil {
		p.record(outcome(history.Exited, again.Unlock(p.ctx)), holding)
	}
}

func outcome(kind history.Kind, err error) history.Event {
	if err == nil {
		return history.Event{Kind: kind}
	}
	return history.Event{Kind: kind, Err: err.Error()}
}

// record adds an event for the loop to collect. A process that has crashed ends here instead.
func (p *process) record(e history.Event, next stage) {
	if p.client.Crashed() {
		runtime.Goexit()
	}
	p.progress.Add(1)
	e.Process, e.Attempt = int32(p.Number), p.attempt
	p.pending = append(p.pending, e)
	p.stage = next
	p.publish()
}

// publish wakes the loop's timer after the process has acted. Actions of a crashed process do not
// count.
func (p *process) publish() {
	p.progress.Add(1)
	if !p.client.Crashed() {
		p.client.Notify()
	}
}

// pass waits until the loop opens the gate.
func (p *process) pass(gate StepKind) {
	p.progress.Add(1)
	p.gate, p.waiting = gate, true
	p.publish()
	if _, ok := <-p.resume; !ok {
		runtime.Goexit()
	}
	p.gateOpened++
}

// done reports whether the process will do nothing more.
func (p *process) done() bool { return p.stage == finished || p.over || p.client.Crashed() }

// checkLoss records the loss of the hold if the hold reports it.
func (p *process) checkLoss() {
	if p.hold == nil || p.lost || p.client.Crashed() {
		return
	}
	select {
	case <-p.hold.Done:
		p.lost = true
		p.pending = append(p.pending, history.Event{
			Kind: history.Lost, Process: int32(p.Number),
			Attempt: p.attempt,
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
