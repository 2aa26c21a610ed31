// Package exhaustive searches all schedules of a scenario, by depth-first search with a state
// cache, partial-order reduction and merging of states.
package exhaustive

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/search/replay"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Search runs all schedules of a scenario, within the limits below. It ends when none is left or
// one violates a property, unless it keeps going.
//
// It is a depth-first search by re-execution, as in VeriSoft (Godefroid, "Model Checking for
// Programming Languages using VeriSoft", POPL 1997): the state of a running lock cannot be saved,
// so the path to it is executed again, from the last snapshot if the reactions of the processes are
// cached. Unlike VeriSoft the search stores the keys of visited states and prunes a run that
// reaches one again.
//
// # What is searched
//
// In every state the search tries every step: each request that can be served, each message that
// can be delivered, each gate of a critical section, each link that can be healed, and each fault
// that the plan still allows. Time could pass at any moment and for any duration; in a search it
// passes
//
//   - where nothing else can happen;
//   - also where no message in flight can arrive, no process is about to enter its critical
//     section, and something waits for time: data that will expire, such as a key of Redis, or,
//     once a fault has struck, an effect of the fault: a session is about to expire, or a client
//     whose link is up to dial. So a critical section can last for any time then, and messages take
//     no time while their connection holds. The timer of a process does not wait in this sense:
//     while another process is in its critical section, it fires only if something else lets time
//     pass. IdleTicks allows a number of ticks beyond this rule;
//   - in jumps to the next instant at which something happens: a transaction, a timer of a process,
//     or a new step.
//
// A process that does nothing for 10 minutes of virtual time counts as waiting for ever.
//
// Properties of the fair phase are judged at the end of each run, or from every state if
// FairSuffixes is set. [report.Exhaustive.Reach] says for which schedules a complete search has
// shown a property.
//
// # What is left out
//
// A step that only brings a process a reply or an event commutes with all that the server and other
// processes do, unless it lets the process do something that the state of a monitor depends on; see
// [dfs.stubbornSet]. NoReduction switches this off, and time jumps.
//
// Two states are merged if the ensemble and the processes are in the same state and each monitor
// remembers the same. The search cannot know what a claim without a monitor remembers. So with such
// a claim nothing is left out, and states are distinguished by all events before them, with their
// times. The times in a znode's stat are in no key, so code that decides by them needs
// NoReplayCache.
//
// States with equal keys are taken for equal. Among n states, two different ones share a key with a
// probability of about n²/2^65: 3 in 100 million for a million states.
type Search struct {
	Scenario      scenarios.Scenario
	NoReduction   bool
	Symmetry      bool // processes are interchangeable; see [dfs.symmetric]
	NoMerge       bool // distinguish all local histories of processes; see [state]
	NoReplayCache bool // run live processes in every run
	// FairSuffixes begins the fair phase from every state, so that progress, starvation and
	// livelock are judged there.
	FairSuffixes bool
	IdleTicks    int           // ticks allowed where nothing waits for time
	Schedules    int           // maximum number of runs; 0 for no bound
	Budget       time.Duration // maximum time; 0 for no bound
	// States ends the search, after the run under way, when it has stored this number of states; 0
	// for no bound.
	States int
	// MemoryLimit ends the search soon after heap and stacks hold this number of bytes, as
	// [DefaultMemoryLimit] returns; 0 for no bound.
	MemoryLimit int64

	// Workers is how many workers search, on one set of states; 0 for 1. The verdict and a failure
	// are the same for any number. There is only one unless [Search.Shares] allows more.
	Workers int
	// Solo is how many schedules one worker runs before others join; 0 for thousands.
	Solo int

	// MaxDeviations, if set, searches all schedules with at most this number of deviations from the
	// default policy, in the order of their number. Time may pass at any moment, and nothing is
	// left out, because the default policy goes by the order of messages, which is in no key.
	MaxDeviations int

	// Shard, if set, restricts a search with MaxDeviations to a part of its schedules. All parts
	// together run exactly the schedules of the search, and [report.Exhaustive.Part] says how they
	// join; see division.go. It cannot be combined with bounds by schedules or states.
	Shard report.Shard

	// Bitstate, if set, is the number of bytes in which the search notes visited states, as bits at
	// the places that hashes of their keys say. It takes some new states for visited ones, so it
	// is never complete; see [report.Bitstate]. It distinguishes all local histories. It cannot be
	// combined with MaxDeviations or Checkpoint.
	Bitstate int

	// KeepGoing continues after a failure and gathers all distinct failures.
	KeepGoing bool

	// Checkpoint, if set, is the file to which the search writes its state; see
	// [Search.Resume].
	Checkpoint string

	// ValidationInterval sets how many runs there are for each one that is validated with live
	// processes; default 512.
	ValidationInterval int

	// Each, if set, is called with every run, and a run that fails does not end the search. It must
	// not keep the result.
	Each func(*engine.Result)

	// Progress, if set, is called now and then with the report so far. It must not keep the report.
	Progress func(*report.Exhaustive)

	noSnapshots    bool   // execute every run from the start
	storeAll       bool   // store all states; see state_store.go
	jumpsOnly      bool   // reduce nothing but the steps of time jumps
	fairEverywhere bool   // begin the fair phase in every state without exception
	level          *level // of a part, or nil
	program        string
	fingerprint    engine.TraceHash
	differs        bool // the lock does not run alike twice, so there is no checkpoint
	resumed        *checkpoint
	outOfContract  *report.Failure // from the checkpoint
	distinct       report.DistinctFailures
	// claims and guarantees to be checked in runs that were pruned, and in those that ended,
	// because the monitor gives no verdict on them
	unjudged, unjudgedEnds []history.Property
}

// Run searches until nothing is left, a violation is found, a bound is reached or the context ends.
// A schedule under way at that time is cancelled and does not count. With a Checkpoint, Run writes
// the file once a minute and when it ends early, and removes it when the search is complete or a
// violation has ended it.
func (e *Search) Run(ctx context.Context, t *testing.T) *report.Exhaustive {
	if e.Shard != (report.Shard{}) && e.level == nil {
		return e.runPart(ctx, t)
	}
	began := time.Now()
	e.restrict()
	bounded, end := report.WithBudget(ctx, e.Budget)
	defer end()
	x := &dfs{
		search: e, bound: min(1, e.MaxDeviations), memory: newMemoryGauge(),
		monitor: e.newMonitor(), states: newStates(e.Bitstate), pool: newPool(),
	}
	if e.level != nil {
		x.bound, x.states, x.division = e.level.bound, e.level.states, e.level.division
	}
	r := &report.Exhaustive{
		Runs: report.Runs{KeptGoing: e.KeepGoing}, Scope: e.Scope(),
	}
	runner := engine.NewRunner(t)
	if !e.NoReplayCache {
		x.ValidatedRunner = replay.NewValidatedRunner(&e.Scenario, t, e.newCache(t))
		defer x.Cache.Close()
		x.Every = cmp.Or(e.ValidationInterval, replay.ValidationInterval)
	}
	earlier := time.Duration(0)
	if c := e.resumed; c != nil {
		x.resume(c, r)
		earlier, e.resumed = time.Duration(c.ElapsedNs), nil
	}
	shown, saved := earlier, newSaving(earlier)
	for {
		x.setSavepoint()
		result := x.run(bounded, runner, &e.Scenario)
		if result.Cancelled {
			x.rollback()
			r.Elapsed, r.Interrupted = earlier+time.Since(began), ctx.Err() != nil
			if e.Checkpoint != "" {
				r.Unsaved = x.save(r)
			}
			return r
		}
		x.witness(result)
		if x.severalConnections() {
			e.NoReduction, e.NoReplayCache = true, true
			return e.again(ctx, t, r.Elapsed)
		}
		differing := r.Differing
		x.conclude(result)
		x.account(r, result)
		r.Elapsed = earlier + time.Since(began)
		if e.Each != nil && !x.division.guides() {
			r.Failure = nil
			e.Each(result)
		}
		if differing < r.Differing && r.Differing <= locateMax && len(r.DifferingLines) == 0 {
			e.locate(bounded, t, r, result)
		}
		if x.ValidatedRunner != nil && x.Mismatch != nil && (r.Failure == nil || e.KeepGoing) {
			return e.runLive(ctx, t, r)
		}
		if e.next(x, r) {
			return r
		}
		if r.Schedules >= cmp.Or(e.Solo, soloSchedules) && e.Shares() {
			return e.share(ctx, bounded, t, x, r, runner, began)
		}
		if e.Progress != nil && r.Elapsed-shown >= report.ProgressInterval {
			shown = r.Elapsed
			e.Progress(r)
		}
		if e.Checkpoint != "" && saved.due(r.Elapsed) {
			r.Unsaved = x.save(r)
			saved.done(r.Elapsed, earlier+time.Since(began))
		}
	}
}

// locateMax is for how many schedules that differed the search tries to find the line. One may run
// alike each time that it is run again.
const locateMax = 8

// locate finds the line at which the run of a lock that is nondeterministic began to differ.
func (e *Search) locate(ctx context.Context, t *testing.T, r *report.Exhaustive,
	result *engine.Result,
) {
	deviations := slices.Clone(result.Deviations)
	again := func() engine.Strategy { return &engine.Replay{Deviations: deviations} }
	located := new(engine.Nondeterminism)
	engine.NewRunner(t).Locate(ctx, &e.Scenario, again, located)
	if r.Differing == 1 {
		r.Nondeterministic.Line = located.Line
	}
	if located.Line != "" {
		r.DifferingLines = append(r.DifferingLines, located.Line)
	}
}

// runLive begins the search anew with live processes in every run, because the cached reactions of
// a nondeterministic lock contradict one another. The new report counts what differed before.
func (e *Search) runLive(ctx context.Context, t *testing.T,
	before *report.Exhaustive,
) *report.Exhaustive {
	e.NoReplayCache, e.differs = true, true
	r := e.again(ctx, t, before.Elapsed)
	r.Differing += before.Differing
	r.Nondeterministic = before.Nondeterministic
	r.DifferingLines = append(before.DifferingLines, r.DifferingLines...)
	r.Complete = false
	return r
}

// severalConnections reports whether a process has opened a further client, and the search relies
// on one connection each.
func (x *dfs) severalConnections() bool {
	return !(x.search.NoReduction && x.search.NoReplayCache) && x.view.Several()
}

// again begins the search anew within the rest of its budget.
func (e *Search) again(ctx context.Context, t *testing.T, elapsed time.Duration,
) *report.Exhaustive {
	if e.Budget > 0 {
		e.Budget = max(1, e.Budget-elapsed)
	}
	r := e.Run(ctx, t)
	r.Elapsed += elapsed
	return r
}

// restrict switches off what the system of the scenario, or a claim without a monitor, does not
// support.
func (e *Search) restrict() {
	system := e.Scenario.Subject.EffectiveService().New()
	// What reaches one thread of a process may concern the others. In a search by deviations, few
	// steps are tried in each schedule, so that code seldom runs twice after the same inputs.
	if e.Scenario.Threads > 1 || e.MaxDeviations > 0 {
		e.NoReduction, e.NoReplayCache = true, true
	}
	if _, ok := system.(sim.Independent); !ok || len(check.Unmonitored(e.properties())) > 0 {
		e.NoReduction = true
	}
	if _, ok := system.(sim.Stubber); !ok {
		e.NoReplayCache = true
	}
	if scheduler.Enabled { // Cached reactions have one order of goroutines.
		e.NoReplayCache = true
	}
	e.listUnjudged()
}

// listUnjudged lists the claims and guarantees on which the monitor gives no verdict. Whether a
// whole history is linearizable is the answer of an algorithm of its own.
func (e *Search) listUnjudged() {
	all := check.Unmonitored(slices.Concat(e.properties(), e.Scenario.Subject.Guarantees()))
	e.unjudged = slices.DeleteFunc(slices.Clone(all), check.JudgedAtEnd)
	e.unjudgedEnds = all
	if e.Scenario.Subject.Claimed(history.Linearizable) {
		e.unjudgedEnds = append(e.unjudgedEnds, history.Linearizable)
	}
}

// merges reports whether states are merged by what is visible from outside. They are not where a
// fault that has struck can put later violations out of contract.
func (e *Search) merges() bool {
	closes := e.Scenario.Faults.Names(faults.CloseSession) &&
		(e.Scenario.Subject.Claimed(history.ClientMutualExclusion) ||
			e.Scenario.Subject.Claimed(history.Reentrancy))
	return !e.NoMerge && e.Bitstate == 0 &&
		e.Scenario.EffectiveSeverity().Within(e.Scenario.Contract()) &&
		!closes &&
		len(check.Unmonitored(e.properties())) == 0
}

// next moves the search to the next run and reports whether the search ends.
func (e *Search) next(x *dfs, r *report.Exhaustive) bool {
	left := false
	switch {
	case r.Failure != nil && !e.KeepGoing:
	case x.backtrack(), x.raiseBound():
		r.Deviations = max(0, x.bound-1)
		r.MemoryExhausted = x.memoryExhausted(r.Schedules)
		left = r.MemoryExhausted || e.Schedules > 0 && r.Schedules >= e.Schedules || e.States > 0 &&
			r.States >= e.States
		if !left {
			return false
		}
	default:
		e.finish(r)
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

// finish completes the report of a search that has nothing left to try.
func (e *Search) finish(r *report.Exhaustive) {
	r.Cover(e.MaxDeviations)
}

// Scope describes what the search covers.
func (e *Search) Scope() report.Scope {
	return report.Scope{
		Scenario: &e.Scenario, MaxDeviations: e.MaxDeviations, IdleTicks: e.IdleTicks,
		FairSuffixes: e.FairSuffixes, Symmetry: e.Symmetry,
	}
}

// A dfs is the strategy of an exhaustive search: it follows its path to the last frame, and from
// there takes the first step of each new frame.
type dfs struct {
	search *Search
	view   engine.View
	bound  int // maximum number of deviations of a schedule; 0 for any
	states *states
	path   []frame
	// local histories, in each state of the path, if states are merged
	histories []replay.LocalHistory
	reached   []replay.LocalHistory // in the current state; its memory is reused
	events    int                   // length of the log at the last decision
	lastStep  int                   // where the events of the last step start in the log
	jump      timeJump
	diverged  bool // a run did not follow the path
	memory    memoryGauge

	monitor    *check.Monitor // of the claims of the lock
	savepoint  savepoint
	rolledBack []uint64 // keys that a cancelled run had added

	hasEnded      func(process int32) bool // ended, as a value
	scratch       frameScratch
	transitions   int           // not in the report yet
	freeSnapshots []*savedState // whose memory can be reused

	pool    *pool
	base    int      // how many frames of the path were there when the task began
	holds   *opening // that is open because of the task
	past    state    // that the task does not wait for
	resumes bool     // the run under way continues one that was parked

	witnesses []replay.Witness // of what the cache holds, for a checkpoint

	division *division // of a search of which only a part is run, or nil

	*replay.ValidatedRunner // nil in a live search
}

func (x *dfs) run(ctx context.Context, runner *engine.Runner,
	scenario *scenarios.Scenario,
) *engine.Result {
	var from *engine.Snapshot
	if saved := x.latest(); saved != nil {
		from = &saved.run
		x.monitor.Copy(saved.monitor)
	} else {
		x.monitor.Reset()
	}
	if x.ValidatedRunner == nil {
		return runner.RunWithin(ctx, scenario, x)
	}
	if x.saves() { // Half a run could not be undone.
		if ctx.Err() != nil {
			return &engine.Result{Cancelled: true}
		}
		ctx = context.WithoutCancel(ctx)
	}
	return x.ValidatedRunner.Run(ctx, runner, x, from)
}

// A frame is a state on the path, and the steps to be tried there.
type frame struct {
	key         uint64
	visit       uint64     // see [dfs.visitKey]
	step        sim.Step   // that the path takes
	defaultStep sim.Step   // that the default policy takes
	rest        []sim.Step // to be tried
	// to be tried if the step turns out to be visible; see [dfs.stubbornSet]
	deferred   []sim.Step
	idleTicks  int         // idle ticks on the path so far
	deviations int         // deviations on the path so far
	wasteful   bool        // a tick here would be an idle one
	continues  bool        // it would continue an idle period
	heals      bool        // the step heals a link; see [dfs.heals]
	stored     bool        // the state is stored; see state_store.go
	unstored   int         // how many frames in a row, up to this one, are not stored
	snapshot   *savedState // of the state, or nil

	// of the subtrees of the steps to be tried, if only a part of the schedules is run
	spans []span

	// If states are merged:
	opening                 *opening // nil if it is not stored
	last                    state    // with the same key, stored before
	histories, historiesEnd int      // where the local histories are among those of the path
	crashed                 uint32   // see [stateRecord]
}

// Join begins a run.
func (x *dfs) Join(v engine.View) {
	x.view, x.events, x.diverged = v, 0, false
	x.jump.active, x.jump.quiet = false, false
}

// Settled returns the steps of the path up to its last frame. The strategy has nothing to choose
// there, because the cache knows how processes react.
func (x *dfs) Settled(steps int) (step sim.Step, deviates, ok bool) {
	if x.ValidatedRunner == nil || steps >= len(x.path)-1 {
		return step, false, false
	}
	f := &x.path[steps]
	return f.step, f.step != f.defaultStep, true
}

// Choose follows the path, and then explores what is new.
func (x *dfs) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	x.lastStep, x.events = x.events, len(x.view.Events())
	if index < len(x.path) {
		return x.follow(index, enabled)
	}
	x.observeStep(x.lastStep)
	if x.jump.continues(x.view, enabled, x.lastStep) {
		step := x.pass()
		x.push(frame{
			step: step, defaultStep: enabled[defaultIndex].Step, idleTicks: x.idleTicks(),
		})
		return indexOf(step, enabled)
	}
	key := x.view.Key()
	x.transitions++
	visit := x.visitKey(key)
	var last state
	if x.bound == 0 {
		var known bool
		if known, last = x.visited(visit); known {
			return engine.Prune
		}
	}
	b := x.newFrame(enabled, defaultIndex)
	b.last = last
	b.key, b.visit, b.idleTicks, b.defaultStep = key, visit, x.idleTicks(),
		enabled[defaultIndex].Step
	b.deviations = x.deviations()
	if x.search.FairSuffixes && x.tryFairSuffix() {
		b.rest = append(b.rest, sim.Step{Kind: sim.Fair})
	}
	b.snapshot = x.snapshot(&b)
	x.push(b)
	if !x.onNewState() {
		x.shorten(index)
		return engine.Prune
	}
	return x.take(index, enabled)
}

// push adds a frame to the path.
func (x *dfs) push(f frame) {
	f.histories = len(x.histories)
	x.path = append(x.path, f)
}

// properties returns the claims that the events of a run decide.
func (e *Search) properties() []history.Property {
	return slices.DeleteFunc(slices.Clone(e.Scenario.Subject.Claims),
		func(p history.Property) bool {
			return p == history.NoPanic || p == history.NoGoroutineLeak
		})
}

// newMonitor returns a monitor of those claims, and of those guarantees of the service, that have
// one.
func (e *Search) newMonitor() *check.Monitor {
	return check.NewMonitor(slices.Concat(e.properties(), e.Scenario.Subject.Guarantees()),
		e.Scenario.Subject.EffectiveLimits())
}

// visitKey returns the key of the state for the search. Besides the state it covers the last step
// and which processes are twins, because the steps to try may depend on them, and the state of the
// monitors, because the continuations that violate a property depend on that.
func (x *dfs) visitKey(key uint64) uint64 {
	x.monitor.Observe(x.view.Events())
	if x.hasEnded == nil {
		x.hasEnded = x.ended
	}
	key = hash64.Mix(key, x.monitor.State(x.hasEnded))
	key = hash64.Mix(hash64.Mix(key, uint64(x.idleTicks())),
		uint64(x.lastLeaver())<<32|uint64(x.healed())|hash64.Bit(x.continuesIdle())<<63)
	if x.search.Symmetry {
		key = x.mixTwins(key)
	}
	return key
}

// Unjudged returns the claims and guarantees on which the monitor gives no verdict.
func (x *dfs) Unjudged(log []history.Event, ended bool) (left []history.Property, ok bool) {
	x.monitor.Observe(log)
	switch {
	case x.monitor.Violated():
		return nil, false
	case !ended:
		return x.search.unjudged, true
	}
	return x.search.unjudgedEnds, len(x.monitor.Finish(log)) == 0
}

// ended reports whether a process will neither act nor be told anything again, and has no request
// in flight.
func (x *dfs) ended(number int32) bool {
	client := x.view.Client(number)
	if !client.Crashed() && !x.view.Ended(number) {
		return false
	}
	return client.Unserved() == 0 && x.view.Converged()
}

// follow takes the step of the path. Cached reactions cannot lead elsewhere than before.
func (x *dfs) follow(index int, enabled []sim.EnabledStep) int {
	b := &x.path[index]
	if x.ValidatedRunner == nil && b.key != 0 && b.key != x.view.Key() {
		x.diverged = true
		return engine.Prune
	}
	return x.take(index, enabled)
}

// take returns the index of the step of the frame.
func (x *dfs) take(index int, enabled []sim.EnabledStep) int {
	step := x.path[index].step
	if index == len(x.path)-1 {
		f := &x.path[index]
		f.heals = x.heals(step)
		x.jump.quiet = false
		if step.PassesTime() && x.jumps(f) {
			single := x.search.NoReduction && f.wasteful && !x.view.Expires()
			x.jump.begin(x.view, enabled, f.wasteful, single)
		}
	}
	at := indexOf(step, enabled)
	x.diverged = x.diverged || at == engine.Prune
	return at
}

// ChooseGoroutine follows the path, and then tries all choices. A choice among goroutines is a
// frame without a state: processes are still reacting to the last step.
func (x *dfs) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	if index < len(x.path) {
		is := func(o sim.EnabledStep) bool { return o.Step == x.path[index].step }
		chosen := slices.IndexFunc(choices, is)
		if chosen < 0 {
			x.diverged = true
			return engine.Prune
		}
		return chosen
	}
	f := frame{
		step: choices[0].Step, defaultStep: choices[0].Step, idleTicks: x.idleTicks(),
		deviations: x.deviations(),
	}
	if x.bound == 0 || f.deviations < x.bound {
		for i := range choices[1:] {
			f.rest = append(f.rest, choices[i+1].Step)
		}
	}
	if index > 0 {
		f.unstored = x.path[index-1].unstored
	}
	x.push(f)
	return 0
}

// observeStep looks at the events of the last step. If the step was assumed to be invisible and is
// not, its deferred steps have to be tried too.
func (x *dfs) observeStep(from int) {
	last := len(x.path) - 1
	for last >= 0 && x.path[last].step.OfGoroutines() {
		last--
	}
	if last < 0 {
		return
	}
	b := &x.path[last]
	switch {
	case b.deferred == nil:
	case b.step.Kind == sim.Fair: // Nothing follows on it.
		b.deferred = nil
	case x.visible(b.step, from):
		if x.store(last, false) { // Otherwise another worker tries the steps.
			b.rest = append(b.rest, b.deferred...)
		}
		b.deferred = nil
	case len(b.rest) == 0 && last == len(x.path)-1:
		b.deferred = nil // Otherwise the step may be visible with another order of goroutines.
	}
}

// backtrack returns to the last frame with a step to try. It returns false if there is none.
func (x *dfs) backtrack() bool {
	if x.division != nil {
		return x.backtrackInPart()
	}
	for n := len(x.path); n > 0; n-- {
		if b := &x.path[n-1]; len(b.rest) > 0 {
			b.step, b.rest = b.rest[0], b.rest[1:]
			x.shorten(n)
			return true
		}
	}
	return false
}

// conclude notes where a run has ended that was neither pruned nor cancelled.
func (x *dfs) conclude(result *engine.Result) {
	if result.Pruned || result.Cancelled {
		return
	}
	x.observeStep(x.events)
	if x.merges() {
		x.reached = x.Cache.Executor.Histories(x.reached[:0])
		x.states.join(x.parent(len(x.path)), 0, x.reached)
	}
}

// account adds a run to the report.
func (x *dfs) account(r *report.Exhaustive, result *engine.Result) {
	if x.division.guides() { // Another part counts the run.
		x.transitions = 0
		x.notice(r, result)
		return
	}
	if !x.resumes { // Otherwise it was counted when it was parked.
		r.Add(result)
	}
	r.States = x.states.len()
	if x.states.bits != nil {
		r.Bitstate = &report.Bitstate{Bytes: x.search.Bitstate, Omissions: x.states.omissions()}
	}
	r.Transitions, x.transitions = r.Transitions+x.transitions, 0
	if x.ValidatedRunner != nil {
		r.LocalHistories = x.Cache.Count()
		r.Validated, x.Validated = r.Validated+x.Validated, 0
	}
	r.Depth = max(r.Depth, len(x.path))
	r.Untried = x.open()
	r.Granted = r.Granted ||
		slices.ContainsFunc(result.Events,
			func(e history.Event) bool { return e.Kind == history.LockReturn && e.Err == "" })
	if result.CutOff {
		r.CutOff++
	}
	if len(result.Violations) > 0 {
		failure := &report.Failure{
			Schedule:      x.search.level.first() + r.Schedules - 1,
			Strategy:      strategy.ExhaustiveName,
			Deviations:    slices.Clone(result.Deviations),
			Violations:    result.Violations,
			OutOfContract: result.OutOfContractViolations(&x.search.Scenario),
		}
		if x.search.KeepGoing {
			r.DistinctOutOfContract.AddOutOfContract(failure)
		}
		if result.Fails(&x.search.Scenario) {
			r.Failure = cmp.Or(r.Failure, failure)
			if x.search.KeepGoing {
				r.Distinct.Add(failure, result.Events)
			}
		} else if r.OutOfContractSchedules++; r.OutOfContract == nil {
			r.OutOfContract = failure
		}
	}
	x.notice(r, result)
}

// notice notes that a run was not as before.
func (x *dfs) notice(r *report.Exhaustive, result *engine.Result) {
	switch {
	case x.ValidatedRunner != nil && x.Mismatch != nil:
		x.Mismatch.Schedule = r.Schedules - 1
		r.Differ(x.Mismatch)
	case x.diverged:
		last := len(result.Events) - 1
		e := result.Events[last]
		r.Differ(&engine.Nondeterminism{Schedule: r.Schedules - 1, Event: last, Second: &e})
	}
}

// open counts the steps of the path that are left to be tried.
func (x *dfs) open() (steps int) {
	for i := range x.path {
		steps += len(x.path[i].rest)
	}
	return steps
}

// raiseBound allows one more deviation. It returns false if the maximum is reached.
func (x *dfs) raiseBound() bool {
	if x.bound >= x.search.MaxDeviations {
		return false
	}
	x.bound++
	x.shorten(0)
	return true
}

// deviations counts the deviations of the path.
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

// withinBound returns the steps to try where the number of deviations is bounded.
func (x *dfs) withinBound(enabled []sim.EnabledStep, defaultIndex int) frame {
	b := frame{step: enabled[defaultIndex].Step}
	if x.deviations() == x.bound {
		return b
	}
	for i := range enabled {
		if i != defaultIndex {
			b.rest = append(b.rest, enabled[i].Step)
		}
	}
	return b
}

// A frameScratch is memory that newFrame reuses.
type frameScratch struct{ steps, ticks, faults, first []sim.Step }

// newFrame returns the steps to try in a state: the default policy's first, faults last.
func (x *dfs) newFrame(enabled []sim.EnabledStep, defaultIndex int) frame {
	if x.bound > 0 {
		return x.withinBound(enabled, defaultIndex)
	}
	steps, ticks, strikes := x.scratch.steps[:0], x.scratch.ticks[:0], x.scratch.faults[:0]
	messages := slices.ContainsFunc(enabled, func(o sim.EnabledStep) bool {
		return o.Kind == sim.Serve || o.Kind == sim.Deliver || o.Kind == sim.Enter ||
			o.Kind == sim.Log ||
			o.Kind == sim.Apply
	})
	continues := x.continuesIdle()
	allowed := continues || x.idleTicks() < x.search.IdleTicks
	still := !messages || allowed // Time may pass.
	for i := range enabled {
		switch o := &enabled[i]; {
		case x.search.Symmetry && x.symmetric(o.Step), x.heals(o.Step) && !still, x.commutes(o):
		case o.Kind == sim.Fault:
			strikes = append(strikes, o.Step)
		case o.Kind == sim.Tick:
			ticks = append(ticks, x.pass())
		default:
			steps = append(steps, o.Step)
			if i == defaultIndex {
				steps[0], steps[len(steps)-1] = steps[len(steps)-1], steps[0]
			}
		}
	}
	idle := len(steps) > 0 && (messages || !x.view.AwaitsTime())
	if !idle || allowed {
		steps = append(steps, ticks...)
	}
	all := append(steps, strikes...)
	x.scratch.steps, x.scratch.ticks, x.scratch.faults = all, ticks, strikes
	if !x.search.NoReduction && !x.search.jumpsOnly && !x.search.FairSuffixes {
		all = x.oneLogs(x.sleepSet(all))
		if first, deferred, ok := x.stubbornSet(all); ok {
			return frame{
				step: first[0], rest: slices.Clone(first[1:]), deferred: deferred, wasteful: idle,
				continues: continues,
			}
		}
	}
	return frame{
		step: all[0], rest: slices.Clone(all[1:]), wasteful: idle, continues: continues,
	}
}

// idleTicks counts the idle ticks of the path.
func (x *dfs) idleTicks() int {
	if len(x.path) == 0 {
		return 0
	}
	b := &x.path[len(x.path)-1]
	if b.wasteful && !b.continues && b.step.PassesTime() {
		return b.idleTicks + 1
	}
	return b.idleTicks
}

// continuesIdle reports whether a tick here would continue an idle period of the path: only time
// has passed since, and nobody could notice but a process whose timer has fired. Without reduction,
// a period goes on while data will expire.
func (x *dfs) continuesIdle() bool {
	return x.jump.quiet && (!x.search.NoReduction || x.view.Expires())
}

// visible reports whether the last step, whose events start at the given index, did something that
// could violate a property if others had moved first. Then the stubborn set must hold the steps of
// others too. What the ensemble still does for a process whose request waits for a reply may come
// before or after everything that the process does.
func (x *dfs) visible(step sim.Step, from int) bool {
	events := x.view.Events()
	x.monitor.Observe(events)
	if step.Process > 0 && x.client(step.Process).Delayed() {
		return slices.ContainsFunc(events[from:],
			func(e history.Event) bool { return check.OfLock(e.Kind) })
	}
	return x.monitor.SoonerHides(from)
}
