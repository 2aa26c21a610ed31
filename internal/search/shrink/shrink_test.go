package shrink_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// pollLimitedContext is a context that ends after a number of calls of Err.
type pollLimitedContext struct {
	context.Context
	left int
}

func (p *pollLimitedContext) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// drawPlan draws the text of a plan with few faults, most of them bound to a phase, a target or
// both.
var drawPlan = rapid.Custom(func(t *rapid.T) string {
	kinds := []string{
		"cut", "lose-reply", "expire", "crash", "cancel", "stall-requests", "pause",
		"restart", "any",
	}
	var parts []string
	some := rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), 1, 3, rapid.ID)
	for _, name := range some.Draw(t, "kinds") {
		if target := rapid.IntRange(0, 3).Draw(t, "target"); target > 0 && name != "any" {
			name += fmt.Sprintf(":c%d", target)
		}
		if rapid.Bool().Draw(t, "phased") {
			aimed := name + "@" + rapid.SampledFrom(faults.PhaseKeys()).Draw(t, "phase")
			if _, err := faults.Parse(aimed + "=1"); err == nil { // It can strike there.
				name = aimed
			}
		}
		parts = append(parts, fmt.Sprintf("%s=%d", name, rapid.IntRange(1, 2).Draw(t, "count")))
	}
	return strings.Join(parts, ",")
})

// drawFailing returns a scenario of a broken lock with a random plan, and a failing schedule of it.
// It reports whether it found one.
func drawFailing(t *rapid.T, runner *engine.Runner) (*scenarios.Scenario, *engine.Result,
	bool,
) {
	broken := []string{
		"no-recheck", "no-guid", "leak-on-error", "delete-once", "deaf-to-expiry",
		"name-order", "silent-loss", "stale-state", "gives-up", "unguarded", "blind-clean-up",
	}
	subject, err := subjects.Named(rapid.SampledFrom(broken).Draw(t, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := faults.Parse(drawPlan.Draw(t, "plan"))
	if err != nil {
		t.Fatal(err)
	}
	s := &scenarios.Scenario{
		Subject: subject, Clients: 3, Faults: plan,
		Cycles: rapid.IntRange(1, 2).Draw(t, "cycles"),
	}
	if rapid.IntRange(0, 4).Draw(t, "servers") == 0 {
		s.Servers = 3
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	seed := rapid.Uint64Range(0, 1000).Draw(t, "seed")
	for i := range long.Count(20, 60) {
		if r := runner.Run(s, strategy.NewRandom(seed, i)); r.Fails(s) {
			return s, r, true
		}
	}
	return s, nil, false
}

// replayExactly replays a schedule with a plan and checks that all of its decisions are possible
// and that it has the violation.
func replayExactly(t *rapid.T, runner *engine.Runner, s scenarios.Scenario, plan faults.Plan,
	d []engine.Deviation, signature string,
) uint64 {
	s.Faults = plan
	replay := &engine.Replay{Deviations: d}
	r := runner.Run(&s, replay)
	r.Fails(&s)
	if len(replay.Skipped) > 0 || len(replay.Unreached()) > 0 || !slices.Equal(r.Deviations, d) {
		t.Fatalf("%v with %v: skipped %v and %v", &s, d, replay.Skipped, replay.Unreached())
	}
	if !slices.ContainsFunc(r.Violations,
		func(v *history.Violation) bool { return v.Signature() == signature }) {
		t.Fatalf("%v with %v violates %v, not %s", &s, d, r.Violations, signature)
	}
	return r.TraceHash
}

func faultsOf(deviations []engine.Deviation) (n int) {
	for _, d := range deviations {
		if d.Step.Kind == sim.Fault {
			n++
		}
	}
	return n
}

// Shrink returns a scenario no larger than the given one, and a schedule that both the given and
// the returned plan allow, for every plan and whenever it is canceled.
func TestShrinkStaysWithinThePlan(t *testing.T) {
	runner := engine.NewRunner(t)
	drawn, failed, aimed := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		original, found, ok := drawFailing(t, runner)
		if !ok {
			return
		}
		failed++
		signature, given := found.Violations[0].Signature(), slices.Clone(found.Deviations)
		polls := 1 << rapid.SampledFrom([]int{0, 8, 12, 14, 16, 17}).Draw(t, "polls")
		small, d := shrink.Shrink(&pollLimitedContext{context.Background(), polls}, runner,
			*original, given, signature)
		if small.Clients > original.Clients || small.Cycles > original.Cycles ||
			small.Servers != original.Servers || faultsOf(d) > faultsOf(given) {
			t.Fatalf("%v with %v, shrunk to %v with %v", original, given, &small, d)
		}
		if err := small.Validate(); err != nil {
			t.Fatalf("%v with %v, shrunk to %v: %v", original, given, &small, err)
		}
		recorded := replayExactly(t, runner, small, small.Faults, d, signature)
		asGiven := replayExactly(t, runner, small, original.Faults, d, signature)
		if asGiven != recorded {
			t.Fatalf("%v with %v has trace hash %x, and %x with %v", &small, d, recorded, asGiven,
				original.Faults)
		}
		if small.Faults.IsTargeted() {
			aimed++
		}
	})
	// The plans are random: these bounds are far below the mean of a third and a fifth of them.
	if !t.Failed() && (failed < drawn/20 || aimed == 0) {
		t.Errorf("%d of %d plans had a failing schedule; %d shrunk plans have a target", failed,
			drawn, aimed)
	}
}
