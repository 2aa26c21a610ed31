package scenarios

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// A Result is what a run was and whether it was right.
type Result struct {
	Events     []history.Event // good until the runner's next run
	Steps      int             // decisions
	Deviations []Deviation     // the schedule: where the decisions differ from the default policy's
	// the state key after each step, in a search only of those in which it chooses; good until the
	// runner's next run
	Keys      []uint64
	Coverage  FaultCoverage  // the faults that struck
	Targeted  TargetCoverage // those of them that struck a target that the plan names
	TraceHash uint64         // over all events
	// the strategy decided as often as it may in one run; what it would have done next is not known
	CutOff bool
	// requests of living processes were still under way when the run reached its last bound; what
	// would have come of them is not known
	Unsettled bool
	// the run ended in a state that the strategy has seen before: it has no liveness phase, and no
	// end
	Pruned bool

	Panic        string // what a process panicked with, and where; empty if none did
	PanicProcess int
	Leak         string // what the runtime says of goroutines that never ended; empty if all did

	// to most properties: they were not checked, as a run with the same outline kept them; see
	// [history.Outlined]
	VerdictCached bool
	// whether the lock is linearizable was not found out within the limits
	Undecided bool
	Vacuity   history.Vacuity // how often the run has put each property to the test
	Cost      history.Cost    // of locks and releases
	Reached   []bool          // which of the subject's goals the run has reached

	// the run's context ended before the run did, or before it was judged: nothing else in the
	// result is good
	cancelled bool

	// in the order of [Properties], at most one for each property that the lock claims
	Violations []*history.Violation
}

// A Runner performs runs, one after the other, and keeps their memory from one to the next. It is
// not safe for concurrent use; each worker has its own.
type Runner struct {
	t         *testing.T
	loop      *loop // the last one, in whose memory the next one is made; nil if there is none
	log       history.Log
	keys      []uint64
	noKeys    bool       // nobody counts states
	planLimit *planLimit // of the runs of a shrinker, nil of all others
	reached   []bool
	claims    []history.Property // in the run under way

	watchdog watchdog
	// a standstill is looked out for: a test that may take for ever may stand in a debugger
	watched bool

	owners owners // of the goroutines of the run under way

	cachedResult Result // of the last run that was rehearsed

	checking time.Duration // how long the runs so far have been checked
	checker  history.Checker
}

// NewRunner returns a runner. A bubble of virtual time needs the *testing.T of a test that is
// running; outside go test, [Main] provides one.
func NewRunner(t *testing.T) *Runner {
	_, watched := t.Deadline()
	return &Runner{t: t, watched: watched}
}

// Run performs one run of the scenario and checks all properties that the lock claims. If the
// strategy panics, so does Run, after the run has been torn down.
func (r *Runner) Run(scenario *Scenario, strategy Strategy) *Result {
	return r.runWithin(context.Background(), scenario, strategy)
}

// runWithin performs a run as Run does, and abandons it when the context ends.
func (r *Runner) runWithin(ctx context.Context, scenario *Scenario, strategy Strategy) *Result {
	result := &Result{Deviations: make([]Deviation, 0, 32)}
	r.run(ctx, scenario, strategy, result)
	return result
}

// run performs a run as runWithin does, in the memory of a result that is of no use any more.
func (r *Runner) run(ctx context.Context, scenario *Scenario, strategy Strategy, result *Result) {
	*result = Result{Keys: r.keys[:0], Deviations: result.Deviations[:0]}
	r.log.Reset()
	if scenario.Client == Real {
		defer simzk.Determinize()()
	}
	thrown := r.bubble(ctx, scenario, strategy, result)
	if thrown != nil {
		panic(thrown)
	}
	r.keys = result.Keys
	if result.cancelled {
		return
	}
	result.Events = r.log.Events()
	result.TraceHash = r.log.Hash()
	began := time.Now()
	r.check(ctx, &scenario.Subject, result)
	r.count(&scenario.Subject, result)
	r.checking += time.Since(began)
}

// runCached performs a run as runWithin does, with what is known of the processes' code in the
// place of their goroutines. It goes on from a snapshot of the runner's last run, unless that is
// nil. All of the result is good until the runner's next run.
func (r *Runner) runCached(ctx context.Context, scenario *Scenario, strategy Strategy,
	known *replayCache, from *snapshot,
) *Result {
	result := &r.cachedResult
	*result = Result{Keys: r.keys[:0], Deviations: result.Deviations[:0]}
	l := r.loop
	if from == nil {
		r.log.Reset()
		l = r.newLoop(ctx, scenario, strategy, result)
		l.useCache(known)
	} else {
		l.restore(from, result)
	}
	l.run()
	r.loop = l
	r.keys = result.Keys
	if result.cancelled {
		return result
	}
	result.Events = r.log.Events()
	result.TraceHash = r.log.Hash()
	r.check(ctx, &scenario.Subject, result)
	return result
}

// bubble runs the loop in a bubble of its own and returns what the strategy panicked with. A panic
// must not cross the edge of the bubble: the testing package would end the program.
func (r *Runner) bubble(ctx context.Context, scenario *Scenario, strategy Strategy,
	result *Result,
) (thrown any) {
	if r.watched {
		defer r.watchdog.watch()()
	}
	finished := false
	var l *loop
	defer func() {
		if !finished && thrown == nil {
			// The bubble itself gave up: its main goroutine ended, and others are blocked for good.
			if recovered := recover(); recovered != nil {
				result.Leak = r.leak(l)
			}
		}
		if !finished {
			r.owners = owners{}
		}
	}()
	synctest.Test(r.t, func(*testing.T) {
		defer func() { thrown = recover() }()
		growStack(scenario.Clients)
		l = r.newLoop(ctx, scenario, strategy, result)
		if scenario.Faults.Allows(faults.Crash) || scenario.Faults.Allows(faults.Restart) {
			l.own(&r.owners)
		}
		l.run()
	})
	finished = true
	if thrown == nil {
		r.loop = l
	}
	return thrown
}

// leak says where the goroutines stand that a run has left behind, other than those of processes
// that have crashed. It is empty if there are none.
func (r *Runner) leak(l *loop) string {
	crashed := func(p *process) bool { return p.link.Crashed() }
	if !slices.ContainsFunc(l.processes, crashed) {
		return leakedGoroutines()
	}
	return r.owners.left(func(process int) bool { return !crashed(l.processes[process-1]) })
}

// newLoop returns the loop of a run. It is made in the memory of the last run, if nothing of that
// is left: r.loop is set only once all goroutines of a run have ended.
func (r *Runner) newLoop(ctx context.Context, scenario *Scenario, strategy Strategy,
	result *Result,
) *loop {
	l := r.loop
	if l == nil {
		l = &loop{progress: &r.watchdog.progress}
	}
	r.loop, l.planLimit = nil, r.planLimit
	l.reset(scenario, strategy, &r.log, result)
	l.noKeys, l.ctx = r.noKeys, ctx
	return l
}

// Properties returns the names of all properties, in the order in which reports list them.
func Properties() []history.Property {
	return append(history.Properties(), history.ZooKeeperConsistency, NoPanic, NoGoroutineLeak)
}

// struck tells whether the fault of that name has struck; of no name, that there need be none.
func (r *Result) struck(name string) bool {
	for kind := range faults.Kinds {
		if kind.String() == name {
			return r.Coverage.Total(kind) > 0
		}
	}
	return name == ""
}

// count finds out what the run has tested.
func (r *Runner) count(subject *Subject, result *Result) {
	result.Vacuity.Add(result.Events)
	r.reached = r.reached[:0]
	for i := range subject.Sometimes {
		goal := &subject.Sometimes[i]
		r.reached = append(r.reached, result.struck(goal.Fault) && goal.Reached(result.Events))
	}
	result.Reached = r.reached
}

// properties are those of package history, listed once.
var properties = history.Properties()

// toJudge returns the properties of package history that are to be checked.
func (r *Runner) toJudge(subject *Subject, result *Result) []history.Property {
	r.claims = r.claims[:0]
	for _, property := range properties {
		if subject.Claimed(property) && !(result.Pruned && history.JudgedAtEnd(property)) {
			r.claims = append(r.claims, property)
		}
	}
	return r.claims
}

// check judges a run. If the context ends before anything is found the run is abandoned.
func (r *Runner) check(ctx context.Context, subject *Subject, result *Result) {
	r.checker.Limits, r.checker.Cut = subject.limits(), result.Pruned
	r.checker.Exclusive = subject.Claimed(history.ServerMutualExclusion)
	var herd *history.Violation
	result.Cost, herd = history.Measure(result.Events, subject.limits())
	if result.cancelled = ctx.Err() != nil && result.Panic == "" &&
		result.Leak == ""; result.cancelled {
		return
	}
	claims := r.toJudge(subject, result)
	result.VerdictCached = r.checker.VerdictCached(claims, result.Events)
	claims = slices.DeleteFunc(claims, func(p history.Property) bool {
		return p == history.NoHerd || result.VerdictCached && history.CacheableVerdict(p)
	})
	result.Violations = append(result.Violations,
		r.checker.CheckAll(append(claims, history.ZooKeeperConsistency), result.Events)...)
	result.Undecided = slices.Contains(claims, history.Linearizable) && r.checker.Undecided()
	if herd != nil && subject.Claimed(history.NoHerd) { // It has been decided with the measuring.
		result.Violations = append(result.Violations, herd)
		slices.SortStableFunc(result.Violations, func(a, b *history.Violation) int {
			order := Properties()
			return slices.Index(order, a.Property) - slices.Index(order, b.Property)
		})
	}
	if !result.VerdictCached && len(result.Violations) == 0 && !result.Undecided {
		r.checker.CacheVerdict()
	}
	if result.Panic != "" {
		result.Violations = append(result.Violations, panicked(result))
	}
	if result.Leak != "" && !result.Pruned {
		result.Violations = append(result.Violations, &history.Violation{
			Property: NoGoroutineLeak, Event: len(result.Events) - 1,
			Reason: "goroutines stay blocked after the run", Detail: result.Leak,
		})
	}
}
