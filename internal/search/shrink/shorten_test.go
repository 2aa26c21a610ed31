package shrink_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// dependsOnFirst returns a lock that every process is granted. Its Unlock depends on which process
// was the first in the run.
func dependsOnFirst(unlock func(first *atomic.Int32) error) scenarios.Subject {
	first := new(atomic.Int32)
	s := locktest.Subject("first-is", func(p *scenarios.Process) scenarios.LockerFunc {
		first.Store(0)
		return func(context.Context) (*scenarios.Hold, error) {
			p.Client.Exists(p.Directory)
			first.CompareAndSwap(0, int32(p.Number))
			leave := func(context.Context) error { return unlock(first) }
			return &scenarios.Hold{Unlock: leave}, nil
		}
	})
	s.Claims = []history.Property{history.ClientMutualExclusion}
	return s
}

// findReport returns the report of a search that ended with the first schedule that satisfies the
// function.
func findReport(t *testing.T, s *scenarios.Scenario,
	wanted func(*engine.Result) bool,
) *report.Runs {
	t.Helper()
	runner := engine.NewRunner(t)
	for i := range 40_000 {
		r := runner.Run(s, strategy.NewRandom(1, i))
		failed := r.Fails(s)
		if !wanted(r) {
			continue
		}
		failure := &report.Failure{
			Schedule: i, Deviations: slices.Clone(r.Deviations),
			Violations: r.Violations,
		}
		if failed {
			return &report.Runs{Schedules: i + 1, Failure: failure}
		}
		return &report.Runs{
			Schedules: i + 1, OutOfContract: failure,
			OutOfContractSchedules: 1,
		}
	}
	t.Fatalf("no schedule of %v satisfies the function", s)
	return nil
}

func breaks(r *engine.Result, p history.Property) bool {
	return slices.ContainsFunc(r.Violations,
		func(v *history.Violation) bool { return v.Property == p })
}

// checkFirstViolation checks that a violation of the property is first in all parts of the
// counterexample.
func checkFirstViolation(t *testing.T, c *recording.Counterexample, p history.Property) {
	t.Helper()
	first := c.Result.Violations[0]
	if first.Property != p || c.Recording.Property != string(p) ||
		c.Recording.Signature != first.Signature() || c.Explain().Timeline.Violations[0] != first {
		t.Errorf("%s is first in the counterexample, %q in the recording, want %s",
			first.Signature(), c.Recording.Signature, p)
	}
	c.ReplayBy = func(string) string { return "" }
	directory, err := c.Write(t.TempDir())
	if err != nil || !strings.Contains(directory, "/"+c.Scenario.Subject.Name+"-"+string(p)+"-") {
		t.Errorf("written to %s, error %v", directory, err)
	}
	if text := c.Result.Describe(&c.Scenario); !strings.HasPrefix(text, first.Signature()) {
		t.Errorf("described as %s", text)
	}
}

// A panic is first in the report of a schedule with other violations. The shrunk schedule still
// panics, although the other violations do not need the fault that causes the panic.
func TestShortenKeepsPanicFirst(t *testing.T) {
	panicsWhenCut := locktest.Subject("panics-when-cut",
		func(p *scenarios.Process) scenarios.LockerFunc {
			return func(context.Context) (*scenarios.Hold, error) {
				if _, _, err := p.Client.Exists(p.Directory); err != nil {
					panic(err)
				}
				return &scenarios.Hold{Unlock: locktest.Free}, nil
			}
		})
	panicsWhenCut.Claims = []history.Property{history.ClientMutualExclusion}
	c := &campaign.Campaign{
		Scenario: locktest.Planned(t, panicsWhenCut, 3, 2, "cut=2,cancel=1"),
		Seed:     1,
	}
	report := findReport(t, &c.Scenario, func(r *engine.Result) bool {
		return r.Panic != "" && len(r.Violations) > 1
	})
	if v := report.Failure.Violations; v[0].Property != history.NoPanic ||
		v[1].Property != history.ClientMutualExclusion {
		t.Errorf("found: %v", v)
	}
	short := shorten(t, c, report)
	checkFirstViolation(t, short, history.NoPanic)
	smallest := locktest.Planned(t, panicsWhenCut, 1, 1, "cut=1")
	if short.Result.Panic == "" || short.Scenario.String() != smallest.String() {
		t.Errorf("shrunk to %v with %v, which panics with %q", &short.Scenario,
			short.Recording.Deviations, short.Result.Panic)
	}
}

// A schedule without a panic is shrunk to one without a panic, although the schedule without
// deviations violates the same property and panics.
func TestShrinkAddsNoPanic(t *testing.T) {
	firstPanics := dependsOnFirst(func(first *atomic.Int32) error {
		if first.Load() == 1 {
			panic("c1 was first")
		}
		return nil
	})
	c := &campaign.Campaign{Scenario: locktest.Planned(t, firstPanics, 3, 1, "none"), Seed: 1}
	if r := engine.NewRunner(t).Run(&c.Scenario, &engine.Replay{}); r.Panic == "" ||
		!breaks(r, history.ClientMutualExclusion) {
		t.Fatalf("the default policy violates %v", r.Violations)
	}
	short := shorten(t, c, findReport(t, &c.Scenario, func(r *engine.Result) bool {
		return r.Panic == "" && breaks(r, history.ClientMutualExclusion)
	}))
	checkFirstViolation(t, short, history.ClientMutualExclusion)
	if short.Result.Panic != "" || len(short.Recording.Deviations) == 0 {
		t.Errorf("shrunk to %v with %v, which panics with %q", &short.Scenario,
			short.Recording.Deviations, short.Result.Panic)
	}
}

// If a shrunk out-of-contract schedule violates a claim, the lock has failed, and that violation is
// first in the counterexample.
func TestBrokenClaimPrecedesOutOfContract(t *testing.T) {
	s := subjects.Mutex()
	open := s.Open
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			hold, err := locker.Lock(ctx)
			if err != nil || p.Number > 1 || !strings.HasSuffix(hold.Node, "-0000000000") {
				return hold, err
			}
			return nil, errors.Join(hold.Unlock(ctx), errors.New("whoever is first must not be c1"))
		}), err
	}
	s.Claims = []history.Property{history.ClientMutualExclusion, history.NoSpuriousFailure}
	c := &campaign.Campaign{Scenario: locktest.Planned(t, s, 2, 1, "pause=2"), Seed: 1}
	c.Scenario.Severity = faults.Severity{Pause: 10 * time.Second}
	report := findReport(t, &c.Scenario, func(r *engine.Result) bool {
		return len(r.Violations) == 1 && r.OutOfContract(&c.Scenario, r.Violations[0])
	})
	short := shorten(t, c, report)
	checkFirstViolation(t, short, history.NoSpuriousFailure)
	if report.Failure == nil || !short.Scenario.Faults.Empty() {
		t.Errorf("failed: %v, shrunk to %v with %v", report.Failure != nil, &short.Scenario,
			short.Recording.Deviations)
	}
}

// impatient is a correct lock, except that two kinds of processes are granted the lock at once: a
// process after the second restart of a run with two clients, and a process that waited long for an
// answer. Only a long pause causes the latter, and puts it out of contract.
func impatient() scenarios.Subject {
	s := locktest.Subject("impatient", func(p *scenarios.Process) scenarios.LockerFunc {
		right, _ := subjects.Textbook().Open(p)
		return func(ctx context.Context) (*scenarios.Hold, error) {
			asked := time.Now()
			if _, _, err := p.Client.Exists(p.Directory); err != nil {
				return nil, err
			}
			if p.Number > 3 || time.Since(asked) > 30*time.Second {
				return &scenarios.Hold{Unlock: locktest.Free}, nil
			}
			return right.Lock(ctx)
		}
	})
	s.Claims = []history.Property{history.ClientMutualExclusion}
	return s
}

// A failure is not shrunk to an out-of-contract schedule, although a schedule with one long pause
// violates the same property as a schedule with two restarts.
func TestShortenKeepsFailureWithinContract(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: locktest.Planned(t, impatient(), 2, 1, "pause=1,restart=2"),
		Seed:     1,
	}
	c.Scenario.Severity = faults.Severity{Pause: time.Minute}
	paused := findReport(t, &c.Scenario, func(r *engine.Result) bool {
		return len(r.Violations) > 0 && r.Coverage.Total(faults.Restart) < 2
	})
	if paused.OutOfContract == nil || paused.Failure != nil {
		t.Fatal("a violation after a long pause is not out of contract")
	}
	short := shorten(t, c, findReport(t, &c.Scenario, func(r *engine.Result) bool {
		return r.Fails(&c.Scenario)
	}))
	checkFirstViolation(t, short, history.ClientMutualExclusion)
	if short.Result.OutOfContract(&c.Scenario, short.Result.Violations[0]) ||
		short.Scenario.Faults.Allows(faults.Pause) {
		t.Errorf("shrunk to %v with %v", &short.Scenario, short.Recording.Deviations)
	}
}

// A run without a violation, or with another violation than the requested one, is no
// counterexample.
func TestNoCounterexampleWithoutViolation(t *testing.T) {
	runner := engine.NewRunner(t)
	c, err := recording.NewCounterexample(runner, *locktest.Scenario(subjects.Textbook(), 2, 1, 0),
		nil, "", 1, 7)
	if err == nil || !strings.HasPrefix(err.Error(),
		"schedule 7 violated a property, and violates nothing when it is run again\nlikely "+
			"causes") {
		t.Errorf("of a correct run: %+v, error %v", c, err)
	}
	c, err = recording.NewCounterexample(runner, *locktest.Scenario(locktest.NoLock(), 2, 1, 0),
		nil, "fifo: as it was", 1, 7)
	if err == nil || !strings.HasPrefix(err.Error(),
		`schedule 7 violated "fifo: as it was", and violates "client-mutual-exclusion: `) {
		t.Errorf("of a run with another violation: %+v, error %v", c, err)
	}
}

// sometimes is a lock that grants every process in the runs for which the function returns true,
// and is correct in all others. Runs are numbered from 1.
func sometimes(broken func(run int64) bool) scenarios.Subject {
	var run atomic.Int64
	s := locktest.Subject("sometimes", func(p *scenarios.Process) scenarios.LockerFunc {
		if p.Number == 1 {
			run.Add(1)
		}
		right, _ := subjects.Textbook().Open(p)
		return func(ctx context.Context) (*scenarios.Hold, error) {
			p.Client.Exists(p.Directory) // All processes of the run have begun when it returns.
			if broken(run.Load()) {
				return &scenarios.Hold{Unlock: locktest.Free}, nil
			}
			return right.Lock(ctx)
		}
	})
	s.Claims = subjects.Textbook().Claims
	return s
}

// If only the shrunk schedule is not reproduced, the failure is recorded as found. If the failure
// itself is not reproduced, Shorten returns an error that says so.
func TestShortenUnreproducibleFailure(t *testing.T) {
	report := func(s *scenarios.Scenario) *report.Runs {
		result := engine.NewRunner(t).Run(s, strategy.NewRandom(1, 0))
		if !result.Fails(s) {
			t.Fatal("the first run did not fail")
		}
		return &report.Runs{Failure: &report.Failure{
			Deviations: slices.Clone(result.Deviations), Violations: result.Violations,
		}}
	}
	runs := int64(0)
	count := func(run int64) bool { runs = run; return true }
	always := &campaign.Campaign{Scenario: *locktest.Scenario(sometimes(count), 2, 2, 0)}
	short := shorten(t, always, report(&always.Scenario))
	last := runs // the run of the recorded schedule

	isFirst := func(run int64) bool { return run == 1 }
	once := &campaign.Campaign{Scenario: *locktest.Scenario(sometimes(isFirst), 2, 2, 0)}
	c, err := shrink.Shorten(context.Background(), engine.NewRunner(t), once,
		report(&once.Scenario))
	if c != nil || err == nil || !strings.Contains(err.Error(),
		"violates nothing when it is run again") {
		t.Errorf("%+v, error %v", c, err)
	}

	isNotLast := func(run int64) bool { return run != last }
	long := &campaign.Campaign{Scenario: *locktest.Scenario(sometimes(isNotLast), 2, 2, 0)}
	found := report(&long.Scenario)
	c = shorten(t, long, found)
	checkFirstViolation(t, c, found.Failure.Violations[0].Property)
	if !slices.Equal(c.Recording.Deviations, found.Failure.Deviations) ||
		len(short.Recording.Deviations) >= len(found.Failure.Deviations) {
		t.Errorf("recorded with %v, found with %v", c.Recording.Deviations,
			found.Failure.Deviations)
	}
}

// When canceled before its first run or within any, Shorten returns a counterexample of the found
// failure.
func TestShortenInterrupted(t *testing.T) {
	s := locktest.Planned(t, locktest.Named(t, "no-guid"), 3, 2, "any@create=1,cut:c2=1")
	c := &campaign.Campaign{Scenario: s, Seed: 1}
	report := findReport(t, &s,
		func(r *engine.Result) bool { return breaks(r, history.Progress) })
	for polls := 0; polls < 3000; polls = polls*5/4 + 1 {
		ctx := &pollLimitedContext{context.Background(), polls}
		short, err := shrink.Shorten(ctx, engine.NewRunner(t), c, report)
		if err != nil {
			t.Fatalf("after %d polls: %v", polls, err)
		}
		checkFirstViolation(t, short, report.Failure.Violations[0].Property)
		replay := &engine.Replay{Deviations: short.Recording.Deviations}
		engine.NewRunner(t).Run(&short.Scenario, replay)
		if len(replay.Skipped)+len(replay.Unreached()) > 0 {
			t.Errorf("after %d polls %v with %v: skipped %v", polls, &short.Scenario,
				short.Recording.Deviations, replay.Skipped)
		}
	}
}

// The same failure is shrunk to the same bytes.
func TestShortenIsDeterministic(t *testing.T) {
	searchMore(t)
	for _, name := range []string{"name-order", "silent-loss"} {
		var recorded [2]string
		for i := range recorded {
			s := locktest.Planned(t, locktest.Named(t, name), 2, 1, "any=1,cut:c2@list=1")
			c := &campaign.Campaign{Scenario: s, Seed: 1, Schedules: 3000, Workers: 1 + i}
			text, err := json.Marshal(shorten(t, c, c.Run(context.Background(), t)).Recording)
			if err != nil {
				t.Fatal(err)
			}
			recorded[i] = string(text)
		}
		if recorded[0] != recorded[1] {
			t.Errorf("%s\n%s", recorded[0], recorded[1])
		}
	}
}
