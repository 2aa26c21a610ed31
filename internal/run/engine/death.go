package engine

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/refusal"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Death is how the code of a lock ended the program in which it ran.
type Death struct {
	Steps   int      // the number of decisions of the run, the last of which was deadly
	Reason  string   // what failures of the same kind share
	Message string   // what the program said
	Calls   []string // of the lock's code, innermost first
	// Process is the process or thread whose goroutine ended the program; 0 if that is unknown.
	Process int
	// RunOver says that the run was over, and its processes were being ended.
	RunOver bool
}

// Locate sets the process of a death, and whether the run was over, from the stacks of all
// goroutines, as the runtime prints them. The first of them is the one that ended the program.
func (d *Death) Locate(stacks string) {
	first, others, _ := strings.Cut(stacks, "\n\n")
	header, _, _ := strings.Cut(first, "\n")
	if owner := stackOwner.FindStringSubmatch(header); owner != nil {
		d.Process, _ = strconv.Atoi(owner[1])
	}
	bubble := stackBubble.FindString(header)
	for stack := range strings.SplitSeq(others, "\n\n") {
		header, calls, _ := strings.Cut(stack, "\n")
		if bubble != "" && stackBubble.FindString(header) == bubble &&
			EndsRun(calls) {
			d.RunOver = true
		}
	}
}

// EndsRun reports whether a goroutine on the stacks is ending the processes of its run.
func EndsRun(stacks string) bool { return strings.Contains(stacks, loopTearDown+"(") }

var (
	stackOwner  = regexp.MustCompile(`"` + processLabel + `": "(\d+)"`)
	stackBubble = regexp.MustCompile(`synctest bubble \d+`)
)

// loopTearDown is the full name of [Loop.tearDown].
var loopTearDown = functionName((*Loop).tearDown)

// Violation returns the violation of a run that ended in this way after the events, in the step.
func (d *Death) Violation(events []history.Event, step sim.Step) *history.Violation {
	detail := d.Message
	if len(d.Calls) > 0 && !strings.Contains(detail, d.Calls[0]) {
		detail += " in " + strings.Join(d.Calls, ", called by ")
	}
	evidence := history.Evidence{Message: d.Message, Calls: d.Calls}
	event := len(events) - 1
	switch {
	case len(events) > 0 && d.Steps == 0:
		detail += ", before the first step"
	case len(events) > 0:
		detail += fmt.Sprintf(", in step %d, %v", d.Steps-1, step)
		event = lastActionOf(events, step.Process)
		evidence.Process = cmp.Or(int32(d.Process), step.Process)
		if step.Kind == sim.Deliver && !d.RunOver {
			evidence.Events = underWay(events, step.Process)
		}
	}
	return &history.Violation{
		Property: history.NoPanic, Event: event, Reason: d.Reason, Detail: detail,
		Evidence: evidence,
	}
}

// underWay returns the event at the server that produced the next message to a process, as a slice
// of at most one. It returns none if a fault may have lost that message.
func underWay(events []history.Event, process int32) (waiting []int) {
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == history.Fault && (e.Process == process || e.Process == 0):
			waiting = nil
		case e.Process != process:
		case e.Kind == history.Serve || e.Kind == history.Executed || e.Kind == history.WatchFired:
			waiting = append(waiting, i)
		case e.Kind == history.Reply || e.Kind == history.Answer || e.Kind == history.WatchEvent:
			waiting = slices.DeleteFunc(waiting, func(n int) bool {
				o := &events[n]
				return o.Request == e.Request && o.Watch == e.Watch && o.Op == e.Op
			})
		}
	}
	return waiting[:min(len(waiting), 1)]
}

// Refusal returns why code is refused that has ended the program, or "". Bubbles of virtual time
// share no channels and timers, so what one run has made is of no use to another.
func (d *Death) Refusal() string {
	at := ""
	if len(d.Calls) > 0 {
		at = " (in " + d.Calls[0] + ")"
	}
	switch {
	case strings.HasPrefix(d.Message, refusal.Mark):
		return d.Message + at
	case strings.Contains(d.Message, "synctest") &&
		strings.Contains(d.Message, "from outside bubble"):
		return refusal.Mark + "a connection, channel or timer that several runs share" + at +
			": let Subject.Open make it anew for each process, and keep it in no package's variable"
	}
	return ""
}

// Signature returns the signature of the violation.
func (d *Death) Signature() string { return d.Violation(nil, sim.Step{}).Signature() }

// RunToDeath performs a run that is known to end the program, up to the deadly decision, which it
// does not perform. The result has the violation. The goroutines of the run stay blocked, because
// their end may be what is deadly. The runner lends its plan limit, and is otherwise not used.
func (r *Runner) RunToDeath(scenario *scenarios.Scenario, strategy Strategy, death *Death) *Result {
	alone := &Runner{t: r.t, PlanLimit: r.PlanLimit, NoKeys: true, recorder: noRecorder{}}
	alone.GatherFacts(r.log.GathersFacts())
	result := &Result{}
	reached := make(chan struct{})
	stop := &stop{steps: death.Steps, reached: reached, forever: make(chan struct{})}
	alone.stop = stop
	if scenario.Client.Library() {
		defer scenario.Subject.EffectiveService().Determinize()()
	}
	go func() {
		defer close(reached) // The run has ended without the decision.
		alone.bubble(context.Background(), scenario, strategy, result)
	}()
	<-reached
	result.Events = alone.log.Events()
	result.TraceHash = alone.log.Hash()
	result.Violations = []*history.Violation{death.Violation(result.Events, stop.step)}
	return result
}

// Sibling returns another runner for the same test, without state keys.
func (r *Runner) Sibling() *Runner {
	sibling := NewRunner(r.t)
	sibling.NoKeys = true
	return sibling
}

// A stop is where a run stands still for ever.
type stop struct {
	steps   int
	step    sim.Step // the one that is not performed
	reached chan struct{}
	forever chan struct{} // of no bubble, so that the bubble neither ends nor finds a deadlock
}

// standStill ends the run before it performs a step. It does not return.
func (l *Loop) standStill(step sim.Step) {
	l.result.Steps, l.stop.step = l.steps, step
	if step.Kind == sim.Fault {
		l.spend(step) // The schedule needs the fault.
	}
	l.stop.reached <- struct{}{}
	<-l.stop.forever
}

// LockCalls returns the calls of the lock's code on a stack, innermost first. Owned reports whether
// a function belongs to the simulation.
func LockCalls(stack string, owned func(function string) bool) []string {
	return lockCalls(stack, func(function string) bool {
		for _, prefix := range []string{"os.", "syscall.", "log.", "testing.", "panic"} {
			if strings.HasPrefix(function, prefix) {
				return true
			}
		}
		return owned(function)
	})
}
