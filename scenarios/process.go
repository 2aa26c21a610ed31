package scenarios

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// stage says how far a process is in its script.
type stage uint8

const (
	idle stage = iota
	locking
	holding
	releasing
	finished
)

// A process runs the script of a scenario: lock, enter, leave, unlock. Its fields belong to its own
// goroutine while that runs, and to the loop while it is blocked.
type process struct {
	Process
	link    *simzk.Link
	subject *Subject
	cycles  int

	owners   *owners   // nil where nobody asks whose a goroutine is
	register *register // the protected resource of the run, which all processes share

	cancellable bool               // an attempt may be given up
	cancel      context.CancelFunc // ends the context of the attempt
	cancelled   bool               // that was done

	// turns is shared by the loop and all processes. Whoever is about to touch the fields below, or
	// has done so, adds to it. Only one of them runs at a time; this is what tells the race
	// detector, where a timer woke the process and nothing else stands between what the loop has
	// read and what the process writes.
	progress *atomic.Int64

	pending  []history.Event // what happened since the loop last looked
	stage    stage
	attempt  int32
	hold     *Hold
	lost     bool // the hold was lost, and the process told
	woken    bool // a watch event has reached the process, and it has not gone back to waiting
	resuming bool // in its critical section, and paused or so until a moment ago: see write

	// bereft tells of a process that re-enters or gives back its lock whether it had no node any
	// more when it began to: then it must not be told that all is well.
	nodeGone bool

	gate       StepKind // Enter or Leave: what the process waits for permission to do
	waiting    bool     // at the gate
	age        uint64   // since when, set by the loop
	gateOpened int      // how many gates the process has passed
	resume     chan struct{}
	over       bool // the goroutine has ended

	// For the state key, set by the loop.
	timeline uint64        // hash of the steps that have reached the process, with their times
	notified time.Duration // when the server last handled a request of the process
	served   bool          // the server has handled one

	panics string

	random randomBytes
	space  [3]history.Event // where pending begins
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

// end runs when the goroutine ends, be it by return, panic or Goexit.
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
	// A process that has been told of its loss while it was on the way in stays out.
	if !p.lost {
		p.stay(hold)
	}
	p.exit(again)
	p.record(history.Event{Kind: history.UnlockCall}, releasing)
	p.hold = nil
	p.record(outcome(history.UnlockReturn, hold.Unlock(p.ctx)), idle)
}

// stay is what the process does in its critical section.
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

// reenter takes the lock once more, if it can be taken so, and returns what was taken.
func (p *process) reenter(hold *Hold) *Hold {
	if hold.Reenter == nil {
		return nil
	}
	p.record(history.Event{Kind: history.ReenterCall}, holding)
	again, err := hold.Reenter(p.ctx)
	p.record(outcome(history.ReenterReturn, err), holding)
	return again
}

// exit gives back what was taken once more.
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

// record notes an event for the loop to put into the log. A process that has crashed records
// nothing more: its goroutine ends here.
func (p *process) record(e history.Event, next stage) {
	if p.link.Crashed() {
		runtime.Goexit()
	}
	p.progress.Add(1)
	e.Process, e.Attempt = int32(p.Number), p.attempt
	p.pending = append(p.pending, e)
	p.stage = next
	p.publish()
}

// publish lets the loop know that the process has done something. Nobody looks at what a crashed
// process does.
func (p *process) publish() {
	p.progress.Add(1)
	if !p.link.Crashed() {
		p.link.Notify()
	}
}

// pass waits for permission to do what the gate says.
func (p *process) pass(gate StepKind) {
	p.progress.Add(1)
	p.gate, p.waiting = gate, true
	p.publish()
	if _, ok := <-p.resume; !ok {
		runtime.Goexit()
	}
	p.gateOpened++
}

// done tells whether the process will do nothing more.
func (p *process) done() bool { return p.stage == finished || p.over || p.link.Crashed() }

// checkLoss records that the process has been told that its lock is lost, if its hold says so by
// now.
func (p *process) checkLoss() {
	if p.hold == nil || p.lost || p.link.Crashed() {
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

// growStack makes the goroutine's stack as large as lock code mostly needs, while there is next to
// nothing on it. Growing it step by step from deep within that code shows in BenchmarkSchedule.
//
//go:noinline
func growStack(i int) byte {
	var room [6 << 10]byte
	room[i]++ // Or else the compiler would see that no room is needed.
	return room[len(room)-1-i]
}
