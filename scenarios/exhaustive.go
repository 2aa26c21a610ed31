package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// An Exhaustive search goes through all schedules of a scenario, within what is said below, and
// ends when it has seen them all or one breaks a property. It is a depth-first search by
// re-execution, as in VeriSoft (Godefroid, "Model Checking for Programming Languages using
// VeriSoft", POPL 1997): no state of a running lock can be saved, so the way to it is run again,
// from the last [snapshot] where it is known what the lock does. Unlike VeriSoft it remembers the
// keys of the states that it has seen, and goes no further where it meets one again.
//
// # What is searched
//
// In every state the search tries all steps: every request that can be served, every message that
// can be delivered, every gate of a critical section, every link that can be healed, and every
// fault that the scenario's plan still allows. Time is the exception. It could pass at any moment
// and in any portion; here it passes
//
//   - where nothing else can happen;
//   - once a fault has struck, also where no message is under way that could arrive, nobody is on
//     the way into its critical section, and an effect of the fault waits for time: a session is
//     going to expire, or a client whose link is up to dial. So critical sections last for as long
//     as one likes once a fault has struck, and messages take no time while their connection holds.
//     A process's own timer is not such an effect: while another process is in its critical
//     section, it fires only if a fault lets time pass. Slack lets a schedule deviate from this so
//     many times;
//   - in leaps to the next instant at which something happens: a transaction, a process's timer, a
//     new step.
//
// A process that does nothing for 100 hours of virtual time is taken to wait for ever.
//
// What must happen once faults are over and the order is fair is judged at the end of each run,
// where that is so in any case. With Fair it is judged from every state on. [Report.Reach] says of
// each property how far a complete search has shown it.
//
// # What is left out
//
// A step that brings a process an answer or an event and nothing else commutes with all that other
// processes and the server do, unless what it lets the process say matters to what a property
// remembers; see reduce. Unreduced switches this off, and the leaps.
//
// Two states are one if the system and the processes are in the same state and each property
// remembers the same of the way. A property that cannot say what it remembers switches this off:
// then all ways are told apart by all that was recorded.
//
// The times in a node's stat are in no key, so that code which decides by them is searched whole
// only with Live.
//
// Two states with equal keys are taken for one. With n states, two that differ share a key with a
// probability of about n²/2^65: 3 in 100 million for a million states.
type Exhaustive struct {
	Scenario    Scenario
	NoReduction bool
	Symmetry    bool // processes are alike; see symmetric
	// tell apart all pasts of processes' code, even those after which it does the same; see state
	NoMerge bool
	// run the processes' code in every run, even where it is known what it does
	NoReplayCache bool
	// try in every state that the fair phase begins, in which progress, starvation and livelock are
	// judged
	FairSuffixes bool
	IdleTicks    int           // how often time may pass in a schedule where nothing waits for it
	Schedules    int           // how many runs at most; 0 for no bound
	Budget       time.Duration // for how long at most; 0 for no bound
	// end, with the run under way, once so many states are stored; 0 for no bound
	States int
	// end, with one of the next runs, once the program's heap and stacks hold so many bytes, as
	// [DefaultMemoryLimit] returns; 0 for no bound
	MemoryLimit int64

	// Deviations, if set, makes this a search of another sort, for where all schedules are too
	// many: of all that deviate from the default policy at most so many times, first those that do
	// once, then twice, and so on. Time may then pass at any moment, and nothing is left out: a
	// policy goes by the order in which messages were sent, which no key tells.
	MaxDeviations int

	// Checkpoint, if set, is the file in which a search notes how far it is; see Resume.
	Checkpoint string

	// Doubt is how many runs there are for one that is performed for real without a reason; 512
	// unless set. See rehearsal.
	ValidationInterval int

	// Each, if set, is told of every run, and a run that fails does not end the search. It must not
	// keep the result.
	Each func(*Result)

	// Progress, if set, is told now and then how far the search is. It must not keep the report.
	Progress func(*Report)

	noSnapshots    bool // begin every run at the beginning, though a snapshot could be gone on from
	storeAll       bool // store all states; see storage.go
	jumpsOnly      bool // leave nothing out but the steps of a leap
	fairEverywhere bool // with Fair, try it in all states; see explorer.unfair
	program        string
	fingerprint    TraceHash
	resumed        *checkpoint
	outOfContract  *Failure // of the checkpoint
}

// Run searches until it has seen everything, has found something, a bound is reached or the context
// ends. A schedule that is under way when the time is over, or the context ends, is abandoned and
// counts nowhere. With a Checkpoint it writes down now and then how far it is, and once more when
// it ends before it has seen everything; a search that has come to its end, or has found something,
// removes the file.
func (e *Exhaustive) Run(ctx context.Context, t *testing.T) *Report {
	began := time.Now()
	bounded, end := within(ctx, e.Budget)
	defer end()
	x := &dfs{
		search: e, bound: min(1, e.MaxDeviations), memory: newMemoryGauge(),
		monitor: e.newMonitor(),
		unknown: len(history.Unmonitored(e.properties())) > 0,
	}
	report, runner := &Report{Exhaustive: true, FairSuffixes: e.FairSuffixes}, NewRunner(t)
	// Where few steps are tried in a long schedule, what processes' code does comes up but once.
	if !e.NoReplayCache && e.MaxDeviations == 0 {
		x.validatedRunner = newValidatedRunner(&e.Scenario, t)
		defer x.cache.close()
		if e.merges() {
			x.cache.merges = true
			x.states.by = make(map[uint64]*state)
		}
		x.every = cmp.Or(e.ValidationInterval, validationInterval)
	}
	earlier := time.Duration(0)
	if c := e.resumed; c != nil {
		x.resume(c, report)
		earlier, e.resumed = time.Duration(c.ElapsedNs), nil
	}
	shown, saved := earlier, earlier
	for {
		x.setSavepoint()
		result := x.run(bounded, runner, &e.Scenario)
		if result.cancelled {
			x.rollback()
			report.Elapsed, report.Interrupted = earlier+time.Since(began), ctx.Err() != nil
			if e.Checkpoint != "" {
				report.Unsaved = x.save(report)
			}
			return report
		}
		x.account(report, result)
		report.Elapsed = earlier + time.Since(began)
		if e.Each != nil {
			report.Failure = nil
			e.Each(result)
		}
		if e.next(x, report) {
			return report
		}
		if e.Progress != nil && report.Elapsed-shown >= progressEvery {
			shown = report.Elapsed
			e.Progress(report)
		}
		if e.Checkpoint != "" && report.Elapsed-saved >= checkpointEvery {
			report.Unsaved, saved = x.save(report), report.Elapsed
		}
	}
}

// merges tells whether states are known by what can be seen from outside. A checkpoint does not
// hold what is needed for that. And where a fault that has struck can excuse what breaks later, it
// must not be forgotten.
func (e *Exhaustive) merges() bool {
	closes := e.Scenario.Faults.Names(faults.CloseSession) &&
		(e.Scenario.Subject.Claimed(history.ClientMutualExclusion) ||
			e.Scenario.Subject.Claimed(history.Reentrancy))
	return !e.NoMerge && e.Checkpoint == "" &&
		e.Scenario.severity().Within(e.Scenario.Contract()) &&
		!closes &&
		len(history.Unmonitored(e.properties())) == 0
}

// next moves on to what is to be tried next, and tells whether the search ends. If its time is next
// the next run is abandoned.
func (e *Exhaustive) next(x *dfs, r *Report) bool {
	left := false
	switch {
	case r.Failure != nil, r.Nondeterministic != nil:
	case x.backtrack(), x.raiseBound():
		r.Deviations = max(0, x.bound-1)
		r.MemoryExhausted = x.memoryExhausted(r.Schedules)
		left = r.MemoryExhausted || e.Schedules > 0 && r.Schedules >= e.Schedules || e.States > 0 &&
			r.States >= e.States
		if !left {
			return false
		}
	default:
		r.Deviations = e.MaxDeviations
		if r.Complete, r.Untried = r.CutOff+r.Unsettled == 0, 0; r.Complete {
			r.Scope = e.scope()
		}
	}
	if e.Checkpoint == "" {
		return true
	}
	if left {
		r.Unsaved = x.save(r)
	} else if err := os.Remove(e.Checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Unsaved = err
	}
	return true
}

// scope says what a search that has come to its end has gone through.
func (e *Exhaustive) scope() string {
	faults := "without faults"
	if plan := e.Scenario.Faults.String(); plan != "none" {
		faults = "with at most these faults: " + plan
	}
	text := fmt.Sprintf("all schedules of %d clients × %d cycles %s, ", e.Scenario.Clients,
		e.Scenario.Cycles, faults)
	if e.MaxDeviations > 0 {
		text += fmt.Sprintf("that deviate from the default policy at most %d times",
			e.MaxDeviations)
		if e.FairSuffixes {
			text += fairScope
		}
		return text
	}
	text += "in which time passes where nothing else can happen"
	if plan := e.Scenario.Faults.String(); plan != "none" {
		text += " and, once a fault has struck, where no message is under way, nobody is on the " +
			"way in " +
			"and an effect of the fault waits for time"
	}
	if e.IdleTicks > 0 {
		text += fmt.Sprintf(", and %d times besides", e.IdleTicks)
	}
	if e.FairSuffixes {
		text += fairScope
	}
	if e.Symmetry {
		text += ", up to renaming processes"
	}
	return text
}

// An dfs is the strategy of an exhaustive search: it follows the way to the state where it wants to
// do something new, and from there always takes the first of the steps that it has to try.
type dfs struct {
	search   *Exhaustive
	loop     *loop
	bound    int      // how many deviations a schedule may have; 0 for any number
	seen     stateSet // where pasts are told apart
	states   states   // where they are not
	path     []frame
	events   int // in the log before the step that was chosen last
	jump     timeJump
	diverged bool // a run did not go the way that an earlier one went
	memory   memoryGauge

	monitor    *history.Monitor // of what the lock claims
	unknown    bool             // a claim is none that the monitor knows
	savepoint  savepoint
	rolledBack []uint64 // keys of the states that an abandoned run was the first to come to

	transitions   int
	freeSnapshots []*snapshot // whose memory nobody uses

	*validatedRunner // nil in a live search
}

func (x *dfs) run(ctx context.Context, runner *Runner, scenario *Scenario) *Result {
	from := x.latest()
	if from == nil {
		x.monitor.Reset()
	} else {
		x.monitor.Copy(from.monitor)
	}
	if x.validatedRunner == nil {
		return runner.runWithin(ctx, scenario, x)
	}
	return x.validatedRunner.run(ctx, runner, x, from)
}

// A frame is a state on the way, and what is to be tried there.
type frame struct {
	key         uint64
	visit       uint64    // see explorer.visit
	step        Step      // that the way takes
	defaultStep Step      // that the default policy takes
	rest        []Step    // to be tried yet
	deferred    []Step    // to be tried too if the step turns out to be visible; see reduce
	idleTicks   int       // how often time has passed on the way for which nothing waited
	deviations  int       // how often the way has deviated from the default policy before
	wasteful    bool      // if it passes here, nothing waits for it
	heals       bool      // the step mends a link; see explorer.mends
	state       *state    // nil if pasts are told apart
	stored      bool      // the state is; see storage.go
	unstored    int       // how many states in a row, this one the last, are not stored
	snapshot    *snapshot // nil if there is none of the state
}

// join begins a run.
func (x *dfs) join(l *loop) { x.loop, x.events, x.diverged, x.jump.active = l, 0, false, false }

// settled returns the steps of the path but for the last: none needs a choice where processes do
// what the cache knows.
func (x *dfs) settled(steps int) (step Step, deviates, ok bool) {
	if x.validatedRunner == nil || steps >= len(x.path)-1 {
		return step, false, false
	}
	f := &x.path[steps]
	return f.step, f.step != f.defaultStep, true
}

// Choose follows the way, and then goes on to what has not been seen yet.
func (x *dfs) Choose(index int, enabled []EnabledStep, defaultIndex int) int {
	events := x.events
	x.events = x.loop.log.Len()
	if index < len(x.path) {
		return x.follow(index, enabled)
	}
	x.observeStep(events)
	if x.jump.continues(x.loop, enabled, events) {
		x.path = append(x.path, frame{
			step: Step{Kind: Tick}, defaultStep: enabled[defaultIndex].Step,
			idleTicks: x.idleTicks(),
		})
		return tickOf(enabled)
	}
	key := x.loop.lastKey()
	x.transitions++
	visit := x.visitKey(key)
	if x.bound == 0 && x.visited(visit) {
		return prune
	}
	b := x.newFrame(enabled, defaultIndex)
	b.key, b.visit, b.idleTicks, b.defaultStep = key, visit, x.idleTicks(),
		enabled[defaultIndex].Step
	b.deviations = x.deviations()
	if x.search.FairSuffixes && x.tryFairSuffix() {
		b.rest = append(b.rest, Step{Kind: Fair})
	}
	b.snapshot = x.snapshot()
	x.path = append(x.path, b)
	x.onNewState()
	return x.take(index, enabled)
}

// properties returns those claims of the lock that are decided by the events of a run.
func (e *Exhaustive) properties() []history.Property {
	return slices.DeleteFunc(slices.Clone(e.Scenario.Subject.Claims),
		func(p history.Property) bool { return p == NoPanic || p == NoGoroutineLeak })
}

// newMonitor returns a monitor of these.
func (e *Exhaustive) newMonitor() *history.Monitor {
	return history.NewMonitor(e.properties(), e.Scenario.Subject.limits())
}

// visitKey returns the key by which the search recognizes the state that it has reached. What is
// tried in a state may depend on the step that led there, and on which processes are untouched.
// Which continuations break a property depends on what the property remembers of the way.
func (x *dfs) visitKey(key uint64) uint64 {
	x.monitor.Observe(x.loop.log.Events())
	if mutated != withoutMonitorState {
		key = mix(key, x.monitor.State(x.ended))
	}
	if mutated != withoutLastStep {
		key = mix(mix(key, uint64(x.idleTicks())), uint64(x.lastLeaver())<<32|uint64(x.healed()))
	}
	if x.search.Symmetry {
		key = mix(key, x.loop.untouchedMask())
	}
	return key
}

// ended reports whether a process will never do anything again, nor be told anything, and nothing
// that it has asked for is under way.
func (x *dfs) ended(number int32) bool {
	p := x.loop.processes[number-1]
	if mutated == holdersOnly {
		return p.stage != holding
	}
	if !p.link.Crashed() && !x.loop.executor.ended(p) {
		return false
	}
	return p.link.Unserved() == 0 && x.loop.cluster.Converged()
}

// follow takes the step that the way takes.
func (x *dfs) follow(index int, enabled []EnabledStep) int {
	b := &x.path[index]
	if b.key != 0 && b.key != x.loop.lastKey() {
		x.diverged = true
		return prune
	}
	return x.take(index, enabled)
}

// take returns the index of the step that the way takes at its index-th state.
func (x *dfs) take(index int, enabled []EnabledStep) int {
	step := x.path[index].step
	if step.Kind == Fair {
		return beginFair
	}
	for i := range enabled {
		if enabled[i].Step == step {
			if index == len(x.path)-1 {
				x.path[index].heals = x.heals(step)
				if step.Kind == Tick && !x.search.NoReduction && x.bound == 0 {
					x.jump.begin(x.loop, enabled)
				}
			}
			return i
		}
	}
	x.diverged = true
	return prune
}

// observeStep looks at what the step before has done, of which the events from the given one on
// tell. If it was taken to be of no interest to others and is not, those steps have to be tried as
// well that were to be left out.
func (x *dfs) observeStep(from int) {
	if len(x.path) == 0 {
		return
	}
	b := &x.path[len(x.path)-1]
	switch {
	case b.deferred == nil:
	case b.step.Kind == Fair: // Nothing follows on it.
		b.deferred = nil
	case x.visible(b.step, from):
		b.rest = append(b.rest, b.deferred...)
		b.deferred = nil
		x.store(b)
	case len(b.rest) == 0:
		b.deferred = nil
	}
}

// backtrack goes back to the last state where something is left to be tried, and returns false if
// there is none.
func (x *dfs) backtrack() bool {
	for n := len(x.path); n > 0; n-- {
		if b := &x.path[n-1]; len(b.rest) > 0 {
			b.step, b.rest = b.rest[0], b.rest[1:]
			x.shorten(n)
			return true
		}
	}
	return false
}

// account puts a run into the report.
func (x *dfs) account(r *Report, result *Result) {
	if !result.Pruned {
		x.observeStep(x.events)
		if x.merges() {
			x.recordPath(len(x.path), continuation{nil, x.cache.executor.histories()})
		}
	}
	r.Schedules++
	r.Steps += result.Steps
	r.Coverage.Add(&result.Coverage)
	r.Targeted.Add(&result.Targeted)
	r.Digest = (r.Digest^result.TraceHash)*0x9e3779b97f4a7c15 + 1
	r.States, r.Transitions = x.seen.count+x.states.count, x.transitions
	if x.validatedRunner != nil {
		r.LocalHistories, r.Validated = x.cache.count, x.validated
	}
	r.Depth = max(r.Depth, len(x.path))
	r.Untried = x.open()
	r.Granted = r.Granted ||
		slices.ContainsFunc(result.Events,
			func(e history.Event) bool { return e.Kind == history.LockReturn && e.Err == "" })
	if result.CutOff {
		r.CutOff++
	}
	if result.Unsettled {
		r.Unsettled++
	}
	if result.Undecided {
		r.Totals.Unknown++
	}
	if len(result.Violations) > 0 {
		failure := &Failure{
			Schedule: r.Schedules - 1, Strategy: ExhaustiveStrategy,
			Deviations: slices.Clone(result.Deviations),
			Violations: result.Violations, OutOfContract: x.search.Scenario.outOfContract(result),
		}
		if x.search.Scenario.Fails(result) {
			r.Failure = failure
		} else if r.OutOfContractSchedules++; r.OutOfContract == nil {
			r.OutOfContract = failure
		}
	}
	switch {
	case x.validatedRunner != nil && x.mismatch != nil:
		r.Nondeterministic = x.mismatch
		r.Nondeterministic.Schedule = r.Schedules - 1
	case x.diverged:
		last := len(result.Events) - 1
		e := result.Events[last]
		r.Nondeterministic = &Nondeterminism{Schedule: r.Schedules - 1, Event: last, Second: &e}
	}
}

// open counts the steps that are left to be tried on the way.
func (x *dfs) open() (steps int) {
	for i := range x.path {
		steps += len(x.path[i].rest)
	}
	return steps
}

// raiseBound begins to search schedules with one more deviation, and returns false if there are to
// be no more.
func (x *dfs) raiseBound() bool {
	if x.bound >= x.search.MaxDeviations {
		return false
	}
	x.bound++
	x.shorten(0)
	return true
}

// deviations counts how often the way has deviated from the default policy.
func (x *dfs) deviations() int {
	if len(x.path) == 0 {
		return 0
	}
	b := &x.path[len(x.path)-1]
	if b.step != b.defaultStep {
		return b.deviations + 1
	}
	return b.deviations
}

// withinBound returns what is to be tried in a state where the number of deviations is bounded.
func (x *dfs) withinBound(enabled []EnabledStep, defaultIndex int) frame {
	b := frame{step: enabled[defaultIndex].Step}
	if x.deviations() == x.bound {
		return b
	}
	for i := range enabled {
		if i != defaultIndex && !(x.search.Symmetry && x.symmetric(enabled[i].Step)) {
			b.rest = append(b.rest, enabled[i].Step)
		}
	}
	return b
}

// newFrame returns what is to be tried in a state, the default policy's step first and faults last.
func (x *dfs) newFrame(enabled []EnabledStep, defaultIndex int) frame {
	if x.bound > 0 {
		return x.withinBound(enabled, defaultIndex)
	}
	var steps, ticks, faults []Step
	messages := slices.ContainsFunc(enabled, func(o EnabledStep) bool {
		return o.Kind == Serve || o.Kind == Deliver || o.Kind == Enter || o.Kind == Log ||
			o.Kind == Apply
	})
	still := !messages || x.idleTicks() < x.search.IdleTicks // Time may pass.
	for i := range enabled {
		switch o := &enabled[i]; {
		case x.search.Symmetry && x.symmetric(o.Step), x.heals(o.Step) && !still, x.commutes(o):
		case o.Kind == Fault:
			faults = append(faults, o.Step)
		case o.Kind == Tick:
			ticks = append(ticks, o.Step)
		default:
			steps = append(steps, o.Step)
			if i == defaultIndex {
				steps[0], steps[len(steps)-1] = steps[len(steps)-1], steps[0]
			}
		}
	}
	idle := len(steps) > 0 && (messages || !x.loop.awaitsTime())
	if !idle || x.idleTicks() < x.search.IdleTicks {
		steps = append(steps, ticks...)
	}
	all := append(steps, faults...)
	if !x.search.NoReduction && !x.search.jumpsOnly && !x.search.FairSuffixes {
		all = x.oneLogs(x.sleepSet(all))
		if first, deferred, ok := x.stubbornSet(all); ok {
			return frame{step: first[0], rest: first[1:], deferred: deferred, wasteful: idle}
		}
	}
	return frame{step: all[0], rest: all[1:], wasteful: idle}
}

// idleTicks counts the ticks on the way for which nothing waited.
func (x *dfs) idleTicks() int {
	if len(x.path) == 0 {
		return 0
	}
	b := &x.path[len(x.path)-1]
	if b.wasteful && b.step.Kind == Tick {
		return b.idleTicks + 1
	}
	return b.idleTicks
}

// visible reports whether a step that the way takes has done, with the events from the given one
// on, something that could break a property if others moved first. Then the step is not enough in a
// state: the steps of others are tried before it too. What the ensemble still does in the name of a
// process whose request waits for an answer may come before or after all that the process does.
func (x *dfs) visible(step Step, from int) bool {
	events := x.loop.log.Events()
	x.monitor.Observe(events)
	if mutated != unmutated && mutated.hides(events[from:]) {
		return false
	}
	if x.unknown || step.Process > 0 && x.loop.processes[step.Process-1].link.Delayed() {
		return slices.ContainsFunc(events[from:],
			func(e history.Event) bool { return history.OfLock(e.Kind) })
	}
	return x.monitor.VisibleSince(from)
}
