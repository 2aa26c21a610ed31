package engine_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// The default policy completes a run in the order of the calls to Lock, without faults or
// deviations.
func TestDefaultPolicy(t *testing.T) {
	result := engine.NewRunner(t).Run(locktest.Scenario(subjects.Mutex(), 3, 1, 2),
		&engine.Replay{})
	if len(result.Violations) > 0 || len(result.Deviations) > 0 {
		t.Fatalf("violations %v, deviations %v, want none", result.Violations, result.Deviations)
	}
	var entered []int32
	for _, e := range result.Events {
		if e.Kind == history.Enter {
			entered = append(entered, e.Process)
		}
	}
	if want := []int32{1, 2, 3}; !slices.Equal(entered, want) {
		t.Errorf("processes entered in the order %v, want %v", entered, want)
	}
}

// Equal decisions yield equal histories, byte for byte, in every runner and after any other runs.
func TestSameSeedSameBytes(t *testing.T) { everylock.SameSeedSameBytes(t, subjects.All()) }

// Every property that a run checks is violated by some lock.
func TestEveryPropertyIsViolated(t *testing.T) {
	for _, tc := range []struct {
		subject scenarios.Subject
		want    []history.Property // each must be violated
	}{
		{locktest.NoLock(), []history.Property{
			history.ClientMutualExclusion,
			history.Linearizable,
		}},
		{locktest.NeverFree(), []history.Property{history.Progress, history.NoLeakedNodes}},
		{locktest.Panics(), []history.Property{history.NoPanic}},
		{locktest.Leaks(), []history.Property{history.NoGoroutineLeak}},
		{subjects.ExistsThenWait(), []history.Property{history.Progress}},
		{subjects.NoRecheck(), []history.Property{history.ServerMutualExclusion, history.FIFO}},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			broken := make(map[history.Property]bool)
			runner := engine.NewRunner(t)
			for i := range 600 {
				if !slices.ContainsFunc(tc.want, func(p history.Property) bool { return !broken[p] }) {
					break
				}
				for _, v := range runner.Run(locktest.Scenario(tc.subject, 3, 1, 2),
					strategy.NewRandom(3, i)).Violations {
					broken[v.Property] = true
				}
			}
			for _, p := range tc.want {
				if !broken[p] {
					t.Errorf("%s was not violated; violated were %v", p, broken)
				}
			}
		})
	}
}

// Errors of Unlock violate progress, and nothing else if the node is deleted.
func TestUnlockError(t *testing.T) {
	runner := engine.NewRunner(t)
	s := locktest.Scenario(locktest.UnlockFails(), 3, 2, 0)
	for i := range 200 {
		result := runner.Run(s, strategy.NewRandom(3, i))
		violated := false
		for _, v := range result.Violations {
			violated = true
			if v.Property != history.Progress {
				t.Fatal(result.Describe(s))
			}
		}
		// The first holder unlocks without a loss, unless a message was slow.
		slow := slices.ContainsFunc(result.Events, func(e history.Event) bool {
			return e.Kind == history.Tick && e.MayEndLock
		})
		if !violated && !slow {
			t.Fatalf("schedule %d violates nothing", i)
		}
	}
	if result := runner.Run(s, &engine.Replay{}); len(result.Violations) != 1 {
		t.Errorf("the default schedule violates %v, want progress", result.Violations)
	}
}

func TestLeakLocation(t *testing.T) {
	result := engine.NewRunner(t).Run(locktest.Scenario(locktest.Leaks(), 1, 1, 0),
		&engine.Replay{})
	if !strings.Contains(result.Leak, "defects.go") {
		t.Errorf("the leak is described as %q, want the file of the goroutine", result.Leak)
	}
}

// A goroutine that runs until the process's context ends is no leak.
func TestContextEndsTheLock(t *testing.T) {
	for _, tc := range []struct {
		closes bool
		broken []history.Property
	}{{true, nil}, {false, []history.Property{history.NoGoroutineLeak}}} {
		lasting := locktest.Subject("lasting", func(p *scenarios.Process) scenarios.LockerFunc {
			ended := make(chan struct{})
			go func() { <-ended }()
			if tc.closes {
				context.AfterFunc(p.Context(), func() { close(ended) })
			}
			textbook := subjects.Textbook()
			locker, err := textbook.Open(p)
			return func(ctx context.Context) (*scenarios.Hold, error) {
				if err != nil {
					return nil, err
				}
				return locker.Lock(ctx)
			}
		})
		lasting.Claims = []history.Property{history.ServerMutualExclusion}
		runner := engine.NewRunner(t)
		for i := range 50 {
			var broken []history.Property
			for _, v := range runner.Run(locktest.Scenario(lasting, 2, 1, 1),
				strategy.NewRandom(1, i)).Violations {
				broken = append(broken, v.Property)
			}
			if !slices.Equal(broken, tc.broken) {
				t.Fatalf("closes %v, schedule %d: violated %v, want %v", tc.closes, i, broken,
					tc.broken)
			}
		}
		e := &exhaustive.Search{Scenario: *locktest.Scenario(lasting, 2, 1, 0)}
		if r := e.Run(context.Background(), t); r.Complete != tc.closes {
			t.Errorf("closes %v: complete %v", tc.closes, r.Complete)
		}
	}
}

func TestPanicLocation(t *testing.T) {
	result := engine.NewRunner(t).Run(locktest.Scenario(locktest.Panics(), 2, 1, 0),
		&engine.Replay{})
	if result.PanicProcess != 1 || !strings.Contains(result.Panic, "on purpose") ||
		!strings.Contains(result.Panic, "defects.go") {
		t.Errorf("the panic of c%d is described as %q", result.PanicProcess, result.Panic)
	}
}

// The violation of a panic refers to the process's last event before the panic, and names the calls
// that led to it.
func TestPanicEvent(t *testing.T) {
	result := engine.NewRunner(t).Run(locktest.Scenario(locktest.Panics(), 2, 1, 0),
		&engine.Replay{})
	v := result.Violations[slices.IndexFunc(result.Violations,
		func(v *history.Violation) bool { return v.Property == history.NoPanic })]
	if e := result.Events[v.Event]; e.Kind != history.UnlockCall || e.Process != 1 {
		t.Errorf("the panic is at %v of c%d, want the call of Unlock of c1", e.Kind, e.Process)
	}
	want := regexp.MustCompile(
		`^c1 panicked: on purpose in \S*Panics\S* \(defects\.go:\d+\)$`)
	if !want.MatchString(v.Detail) {
		t.Errorf("the panic is described as %q", v.Detail)
	}
}

// Errors of the scenario are distinguished from panics of the lock.
func TestInvalidOpenAndLock(t *testing.T) {
	holding := func(hold *scenarios.Hold) scenarios.Subject {
		return locktest.Subject("x", func(*scenarios.Process) scenarios.LockerFunc {
			return func(context.Context) (*scenarios.Hold, error) { return hold, nil }
		})
	}
	opening := func(open func(p *scenarios.Process) (scenarios.Locker, error)) scenarios.Subject {
		s := holding(nil)
		s.Open = open
		return s
	}
	for want, subject := range map[string]scenarios.Subject{
		"c1 panicked: Lock returns neither a Hold nor an error": holding(nil),
		"c1 panicked: Lock returns a Hold without Unlock":       holding(&scenarios.Hold{}),
		"c1 panicked: Subject.Open returns neither a Locker nor an " +
			"error": opening(func(*scenarios.Process) (scenarios.Locker, error) {
			return nil,
				nil
		}),
		"c1 panicked: Subject.Open fails: no " +
			"luck": opening(func(*scenarios.Process) (scenarios.Locker, error) {
			return nil,
				errors.New("no luck")
		}),
		"c1 panicked: Process.Conn: the scenario runs a model of the " +
			"client": opening(func(p *scenarios.Process) (scenarios.Locker, error) {
			return nil,
				p.Conn().AddAuth("", nil)
		}),
	} {
		s := locktest.Scenario(subject, 1, 1, 0)
		if result := engine.NewRunner(t).Run(s,
			&engine.Replay{}); !strings.Contains(result.Describe(s), want) {
			t.Errorf("want %q, not\n%s", want, result.Describe(s))
		}
	}
}

func TestReplaySkipsImpossibleSteps(t *testing.T) {
	impossible := []engine.Deviation{
		{Index: 0, Step: sim.Step{Kind: sim.Deliver, Process: 1}},
		{Index: 1, Step: sim.Step{Kind: sim.Serve, Process: 77}},
		{Index: 100_000, Step: sim.Step{Kind: sim.Tick}},
	}
	replay := &engine.Replay{Deviations: impossible}
	runner := engine.NewRunner(t)
	hash := runner.Run(locktest.Scenario(subjects.Mutex(), 2, 1, 0), replay).TraceHash
	if !slices.Equal(replay.Skipped, impossible[:2]) {
		t.Errorf("skipped %v, want %v", replay.Skipped, impossible[:2])
	}
	if plain := runner.Run(locktest.Scenario(subjects.Mutex(), 2, 1, 0),
		&engine.Replay{}).TraceHash; plain != hash {
		t.Error("skipped steps changed the run")
	}
}

// A shrunk counterexample has the same failure and fewer deviations, and none of them can be
// omitted.
func TestShrink(t *testing.T) {
	broken := []scenarios.Subject{subjects.ExistsThenWait(), subjects.NoRecheck()}
	for _, subject := range long.Sample(broken, 1) {
		t.Run(subject.Name, func(t *testing.T) {
			runner := engine.NewRunner(t)
			original := locktest.Scenario(subject, 3, 2, 3)
			var failed *engine.Result
			for i := 0; failed == nil; i++ {
				if r := runner.Run(original, strategy.NewRandom(5, i)); len(r.Violations) > 0 {
					failed = r
				}
			}
			signature := failed.Violations[0].Signature()
			before := len(failed.Deviations)
			small, deviations := shrink.Shrink(context.Background(), runner, *original,
				failed.Deviations, signature)
			if small.Cycles > 1 || small.Faults.Names(faults.Any) || len(deviations) > 2 {
				t.Errorf("shrunk from %d to %v with %d deviations", before, &small, len(deviations))
			}
			fails := func(deviations []engine.Deviation) bool {
				for _, v := range runner.Run(&small,
					&engine.Replay{Deviations: deviations}).Violations {
					if v.Signature() == signature {
						return true
					}
				}
				return false
			}
			if !fails(deviations) {
				t.Error("the shrunk schedule does not fail")
			}
			for i := range deviations {
				if fails(slices.Delete(slices.Clone(deviations), i, i+1)) {
					t.Errorf("%v can be omitted", deviations[i].Step)
				}
			}
		})
	}
}

// For a run whose verdict is cached, a runner reports the same as a checker without a cache.
func TestCachedVerdictsAreKept(t *testing.T) {
	for _, tc := range []struct {
		subject scenarios.Subject
		plan    string
		breaks  bool
	}{
		{subjects.Mutex(), "none", false},
		{subjects.Textbook(), "any=1", false},
		{subjects.ExistsThenWait(), "none", true},
		{subjects.LeakOnError(), "any=1", true},
		{subjects.NoGUID(), "any=1", true},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			scenario := locktest.Planned(t, tc.subject, 2, 1, tc.plan)
			runner, cached, broken := engine.NewRunner(t), 0, 0
			for i := range long.Count(500, 1500) {
				result := runner.Run(&scenario, strategy.NewRandom(1, i))
				got := map[history.Property]bool{}
				for _, v := range result.Violations {
					got[v.Property] = true
				}
				var fresh check.Checker
				for _, p := range check.Properties() {
					if broken := scenario.Subject.Claimed(p) &&
						fresh.Check(p, result.Events) != nil; broken != got[p] {
						t.Fatalf("schedule %d violates %s: %v, cached %v", i, p, broken,
							result.VerdictCached)
					}
				}
				if result.VerdictCached {
					cached++
				}
				if len(got) > 0 {
					broken++
				}
			}
			if cached == 0 || (broken > 0) != tc.breaks {
				t.Errorf("%d runs with cached verdicts and %d with a violation", cached, broken)
			}
		})
	}
}

// Without state keys, a run has the same history.
func TestRunsWithoutStateKeys(t *testing.T) {
	scenario := locktest.Planned(t, subjects.Textbook(), 3, 1, "any=2")
	counted, uncounted := engine.NewRunner(t), engine.NewRunner(t).Keyless()
	for i := range 100 {
		with, without := counted.Run(&scenario, strategy.NewRandom(1, i)),
			uncounted.Run(&scenario, strategy.NewRandom(1, i))
		if with.TraceHash != without.TraceHash || len(with.Keys) != with.Steps ||
			len(without.Keys) != 0 {
			t.Fatalf("schedule %d: traces %x and %x, %d and %d keys of %d states", i,
				with.TraceHash, without.TraceHash, len(with.Keys), len(without.Keys), with.Steps)
		}
	}
}

// A run does not depend on the earlier runs of its runner: other scenarios, leaks and panics.
func TestRunsInReusedMemory(t *testing.T) {
	used := engine.NewRunner(t)
	others := []scenarios.Scenario{
		locktest.Planned(t, subjects.Textbook(), 5, 2, "any=3"), locktest.Planned(t,
			locktest.Panics(), 2, 1, "none"),
		locktest.Planned(t, subjects.Mutex(), 2, 1, "restart=1"),
		locktest.Planned(t, locktest.Leaks(), 2, 1, "none"),
		{Subject: subjects.Textbook(), Clients: 3, Cycles: 1, Servers: 3},
	}
	scenario := locktest.Planned(t, subjects.Mutex(), 3, 1, "any=2")
	for i := range 100 {
		fresh := engine.NewRunner(t).Run(&scenario, strategy.NewRandom(1, i))
		hash := fresh.TraceHash
		used.Run(&others[i%len(others)], strategy.NewRandom(2, i))
		if again := used.Run(&scenario, strategy.NewRandom(1, i)); again.TraceHash != hash ||
			!slices.Equal(fresh.Keys, again.Keys) {
			t.Fatalf("schedule %d differs after a schedule of %v", i, &others[i%len(others)])
		}
	}
}
