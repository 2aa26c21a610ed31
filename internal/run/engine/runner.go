package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Runner performs runs one after the other and reuses memory between them. It is not safe for
// concurrent use; each worker has its own.
type Runner struct {
	t *testing.T
	// the last one, whose memory the next one reuses; nil if that is not possible
	loop      *Loop
	log       history.Log
	keys      []uint64
	NoKeys    bool       // state keys are not needed
	PlanLimit *PlanLimit // set only while shrinking
	// Goroutines orders goroutines in runs whose strategy does not; nil for the default policy.
	Goroutines GoroutineStrategy
	reached    []bool
	claims     []history.Property // of the run under way

	// Schedule is the number of the next run's schedule, for the flight recorder.
	Schedule int
	recorder FlightRecorder
	stop     *stop // set only by [Runner.RunToDeath]

	watchdog watchdog
	// watched reports that the watchdog is on. It is off where the test has no deadline, because
	// the test may be stopped in a debugger.
	watched bool

	owners owners // of the goroutines of the run under way

	cachedResult Result // of the last run of [Runner.RunOn]

	Checking time.Duration // time spent in checkers so far
	checker  check.Checker
}

// NewRunner returns a runner. Bubbles of virtual time need the *testing.T of a running test;
// outside go test, a program has to make one, as the command interlock does.
func NewRunner(t *testing.T) *Runner {
	_, watched := t.Deadline()
	return &Runner{t: t, watched: watched, recorder: newRecorder()}
}

// GatherFacts sets whether the events of the runner's runs carry [history.Facts], which reports
// show. Runs that gather them are slower; their trace hashes and state keys are the same.
func (r *Runner) GatherFacts(on bool) { r.log.GatherFacts(on) }

// Run performs one run of the scenario and checks every property that the lock claims. If the
// strategy panics, Run tears the run down and panics too.
func (r *Runner) Run(scenario *scenarios.Scenario, strategy Strategy) *Result {
	return r.RunWithin(context.Background(), scenario, strategy)
}

// RunWithin performs a run as Run does, and cancels it when the context ends.
func (r *Runner) RunWithin(ctx context.Context, scenario *scenarios.Scenario,
	strategy Strategy,
) *Result {
	result := &Result{Deviations: make([]Deviation, 0, 32)}
	r.RunInto(ctx, scenario, strategy, result)
	return result
}

// RunInto performs a run as RunWithin does, and reuses the memory of the given result.
func (r *Runner) RunInto(ctx context.Context, scenario *scenarios.Scenario, strategy Strategy,
	result *Result,
) {
	*result = Result{Keys: r.keys[:0], Deviations: result.Deviations[:0]}
	r.log.Reset()
	if scenario.Client.Library() {
		defer scenario.Subject.EffectiveService().Determinize()()
	}
	r.recorder.Begin(scenario, r.Schedule)
	defer r.recorder.End()
	thrown := r.bubble(ctx, scenario, strategy, result)
	r.recorder.Judge()
	if thrown != nil {
		panic(thrown)
	}
	r.keys = result.Keys
	if result.Cancelled {
		return
	}
	result.Events = r.log.Events()
	result.TraceHash = r.log.Hash()
	began := time.Now()
	r.check(ctx, &scenario.Subject, result)
	r.count(&scenario.Subject, result)
	r.Checking += time.Since(began)
}

// RunOn performs a run as RunWithin does, but without goroutines, on the executor that the function
// on returns for the loop of the run. It continues from a snapshot of the runner's last run unless
// that is nil. The result is valid until the runner's next run.
func (r *Runner) RunOn(ctx context.Context, scenario *scenarios.Scenario, strategy Strategy,
	on func(*Loop) Executor, from *Snapshot,
) *Result {
	result := &r.cachedResult
	*result = Result{Keys: r.keys[:0], Deviations: result.Deviations[:0]}
	l := r.loop
	r.recorder.Begin(scenario, r.Schedule)
	defer r.recorder.End()
	if from == nil {
		r.log.Reset()
		l = r.newLoop(ctx, scenario, strategy, result, nil)
		l.executor = on(l)
	} else {
		l.restore(from, result)
		r.recorder.Resume(result.Deviations)
	}
	l.run()
	r.recorder.Judge()
	r.loop = l
	r.keys = result.Keys
	if result.Cancelled {
		return result
	}
	result.Events = r.log.Events()
	result.TraceHash = r.log.Hash()
	if m, ok := strategy.(monitoring); ok {
		if left, ok := m.Unjudged(result.Events, !result.Pruned); ok {
			r.claims = append(r.claims[:0], left...)
			r.judge(ctx, &scenario.Subject, result, r.claims, nil) // It measures no costs.
			return result
		}
	}
	r.check(ctx, &scenario.Subject, result)
	return result
}

// bubble runs the loop in a bubble of its own and returns what the strategy panicked with. A panic
// must not leave the bubble, or the testing package would end the program.
func (r *Runner) bubble(ctx context.Context, scenario *scenarios.Scenario, strategy Strategy,
	result *Result,
) (thrown any) {
	if r.watched {
		defer r.watchdog.watch(scenario.Subject.EffectiveService())()
	}
	finished := false
	var l *Loop
	defer func() {
		if !finished && thrown == nil {
			// The bubble gave up: its main goroutine ended, and others are blocked for ever.
			if recovered := recover(); recovered != nil && !result.Pruned {
				result.Leak = r.leak(l, scenario)
			}
		}
		if !finished {
			r.owners = owners{}
		}
	}()
	synctest.Test(r.t, func(*testing.T) {
		defer func() { thrown = recover() }()
		growStack(scenario.Clients)
		defer control(&l)()
		l = r.newLoop(ctx, scenario, strategy, result, &r.owners)
		var decides bool
		if l.goroutines, decides = strategy.(GoroutineStrategy); !decides {
			l.goroutines = r.Goroutines
		}
		l.run()
	})
	finished = true
	if thrown == nil {
		r.loop = l
	}
	return thrown
}

// leak describes where goroutines that the run left behind are blocked, except those of crashed
// processes and of those that [KeepStopped] keeps. It returns "" if there are none.
func (r *Runner) leak(l *Loop, scenario *scenarios.Scenario) string {
	owned := scenario.Subject.EffectiveService().OwnsFrame
	left := func(p *Process) bool { return p.Client.Crashed() || p.tornDown && l.keeps(p) }
	if !slices.ContainsFunc(l.Processes, left) {
		return leakedGoroutines(owned)
	}
	lives := func(number int) bool {
		process, _ := history.ProcessOf(int32(number))
		return !left(l.Processes[process-1])
	}
	return r.owners.left(lives, owned)
}

// newLoop returns the loop of a run. It reuses the memory of the last run if all goroutines of that
// run have ended; only then is r.loop set.
func (r *Runner) newLoop(ctx context.Context, scenario *scenarios.Scenario, strategy Strategy,
	result *Result, owners *owners,
) *Loop {
	l := r.loop
	if l == nil {
		l = &Loop{progress: &r.watchdog.progress}
	}
	r.loop, l.planLimit = nil, r.PlanLimit
	l.reset(scenario, strategy, &r.log, result, owners)
	l.recorder, l.stop = r.recorder, r.stop
	l.noKeys, l.ctx = r.NoKeys, ctx
	return l
}

// count adds up what the run has tested.
func (r *Runner) count(subject *scenarios.Subject, result *Result) {
	result.Vacuity.Add(result.Events, subject.EffectiveLimits())
	result.Margins = check.MeasureMargins(result.Events)
	r.reached = r.reached[:0]
	for i := range subject.Sometimes {
		condition := &subject.Sometimes[i]
		r.reached = append(r.reached, result.struck(condition.Fault) &&
			condition.Reached(result.Events))
	}
	result.Reached = r.reached
}

// properties are those of package history. They are listed once, to save allocations.
var properties = check.Properties()

// toJudge returns the claims to check, except for those about goroutines and panics, and the
// guarantees of the service.
func (r *Runner) toJudge(subject *scenarios.Subject, result *Result) []history.Property {
	r.claims = r.claims[:0]
	for _, property := range properties {
		if subject.Claimed(property) && !(result.Pruned && check.JudgedAtEnd(property)) {
			r.claims = append(r.claims, property)
		}
	}
	r.claims = append(r.claims, subject.Guarantees()...)
	return r.claims
}

// check judges a run. If the context ends before a violation is found, the run is cancelled.
func (r *Runner) check(ctx context.Context, subject *scenarios.Subject, result *Result) {
	var herd *history.Violation
	result.Cost, herd = check.Measure(result.Events, subject.EffectiveLimits())
	r.judge(ctx, subject, result, r.toJudge(subject, result), herd)
}

// judge checks properties. Whether there was a herd has been decided.
func (r *Runner) judge(ctx context.Context, subject *scenarios.Subject, result *Result,
	claims []history.Property, herd *history.Violation,
) {
	if result.Cancelled = ctx.Err() != nil && result.Panic == "" &&
		result.Leak == ""; result.Cancelled {
		return
	}
	if len(claims) > 0 {
		r.judgeHistory(subject, result, claims)
	}
	if herd != nil && subject.Claimed(history.NoHerd) { // It has been decided with the measuring.
		result.Violations = append(result.Violations, herd)
		slices.SortStableFunc(result.Violations, func(a, b *history.Violation) int {
			order := check.Claimable()
			return slices.Index(order, a.Property) - slices.Index(order, b.Property)
		})
	}
	if subject.Distinguish != nil {
		for _, v := range result.Violations {
			if kind := subject.Distinguish(v, result.Events); kind != "" {
				v.Reason += ": " + kind
			}
		}
	}
	if result.Panic != "" {
		result.Violations = append(result.Violations,
			panicked(result, subject.EffectiveService().OwnsFrame))
	}
	if result.Leak != "" && !result.Pruned {
		result.Violations = append(result.Violations, &history.Violation{
			Property: history.NoGoroutineLeak, Event: len(result.Events) - 1,
			Reason: "goroutines stay blocked after the run", Detail: result.Leak,
			Evidence: history.Evidence{Message: result.Leak},
		})
	}
}

// judgeHistory checks properties of the events, without [history.NoHerd].
func (r *Runner) judgeHistory(subject *scenarios.Subject, result *Result,
	claims []history.Property,
) {
	r.checker.Limits, r.checker.Cut = subject.EffectiveLimits(), result.Pruned
	r.checker.Exclusive = subject.Claimed(history.ServerMutualExclusion)
	r.checker.Barrier = subject.Claimed(history.NoEarlyPass)
	cacheable := slices.ContainsFunc(claims, check.CacheableVerdict)
	result.VerdictCached = cacheable && r.checker.VerdictCached(claims, result.Events)
	claims = slices.DeleteFunc(claims, func(p history.Property) bool {
		return p == history.NoHerd || result.VerdictCached && check.CacheableVerdict(p)
	})
	result.Violations = append(result.Violations, r.checker.CheckAll(claims, result.Events)...)
	result.Undecided = slices.Contains(claims, history.Linearizable) && r.checker.Undecided()
	if cacheable && !result.VerdictCached && len(result.Violations) == 0 && !result.Undecided {
		r.checker.CacheVerdict()
	}
}
