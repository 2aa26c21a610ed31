package likelihood_test

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/likelihood"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// read returns the recorded counterexample of a broken lock.
func read(t *testing.T, name string) (*recording.Recording, *scenarios.Scenario) {
	t.Helper()
	r, err := recording.Read(filepath.Join("..", "..", "..", "history", "explain", "testdata",
		name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := subjects.Named(r.Lock)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := r.Scenario(subject)
	if err != nil {
		t.Fatal(err)
	}
	return r, scenario
}

func of(t *testing.T, r *recording.Recording, s *scenarios.Scenario) *explain.Likelihood {
	t.Helper()
	l := likelihood.Of(context.Background(), engine.NewRunner(t), s, r.Deviations, r.Signature)
	if l == nil {
		t.Fatal("no likelihood")
	}
	return l
}

// The curve of a broken lock rises at its jump and reaches 1 at its end, and not before. The
// decision that could have avoided the violation avoids it: the schedule with the other choice
// violates nothing.
func TestBrokenLocks(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		lock      string
		property  history.Property
		avoidable bool
	}{
		{"exists-then-wait", history.Progress, true},
		{"no-recheck", history.ServerMutualExclusion, true},
		{"deaf-holder", history.SessionLoss, true},
		{"name-order", history.FIFO, true},
		{"spin", history.NoLivelock, true},
		{"watch-first", history.NoHerd, false},
		{"blind-clean-up", history.NoPanic, true},
		{"forgotten-wait", history.NoGoroutineLeak, true},
	}, 3) {
		t.Run(tc.lock, func(t *testing.T) {
			r, scenario := read(t, tc.lock)
			if r.Property != string(tc.property) {
				t.Fatalf("the recording is one of %s", r.Property)
			}
			l := of(t, r, scenario)
			checkCurve(t, l)
			if (l.Avoidable != nil) != tc.avoidable {
				t.Fatalf("avoidable %v", l.Avoidable)
			}
			if tc.avoidable {
				checkAvoidable(t, r, scenario, l.Avoidable)
			}
		})
	}
}

func checkCurve(t *testing.T, l *explain.Likelihood) {
	t.Helper()
	last := len(l.Curve) - 1
	for i, point := range l.Curve {
		if point.Probability < 0 || point.Probability > 1 ||
			i > 0 && point.Step <= l.Curve[i-1].Step {
			t.Errorf("point %d is %v", i, point)
		}
	}
	if l.Curve[last].Probability != 1 || last > 0 && l.Curve[last-1].Probability == 1 {
		t.Errorf("the curve ends with %v", l.Curve[max(0, last-1):])
	}
	rise := l.Rise()
	if rise < 0 || l.Jump == nil || l.Jump.Step != l.Curve[rise].Step {
		t.Fatalf("the jump is %v, the rise at point %d", l.Jump, rise)
	}
	if before, after := l.Curve[rise], l.Curve[rise+1]; before.Probability >= after.Probability {
		t.Errorf("the curve falls from %v to %v", before, after)
	}
}

// checkAvoidable replays the schedule with the other choice, and the one without.
func checkAvoidable(t *testing.T, r *recording.Recording, s *scenarios.Scenario,
	d *explain.Decision,
) {
	t.Helper()
	runner := engine.NewRunner(t)
	if result := runner.Run(s, &engine.Replay{Deviations: r.Deviations}); len(
		result.Violations) == 0 {
		t.Error("the schedule violates nothing")
	}
	other, err := sim.ParseStep(d.Instead)
	if err != nil {
		t.Fatal(err)
	}
	with := likelihood.Instead(r.Deviations, d.Step, other)
	taken := &witness{Replay: engine.Replay{Deviations: with}, at: d.Step}
	if result := runner.Run(s, taken); len(result.Violations) > 0 {
		t.Errorf("%v violates %s", d, result.Describe(s))
	}
	if len(taken.Skipped) > 0 || taken.step != other {
		t.Errorf("%v: %v was taken, and %v skipped", d, taken.step, taken.Skipped)
	}
	taken = &witness{Replay: engine.Replay{Deviations: r.Deviations}, at: d.Step}
	runner.Run(s, taken)
	if taken.step.String() != d.Taken {
		t.Errorf("%v: the schedule takes %v", d, taken.step)
	}
}

// A witness replays a schedule and keeps the step taken at one decision, and the others possible.
type witness struct {
	engine.Replay
	at     int
	step   sim.Step
	others []sim.Step
}

func (w *witness) Choose(index int, enabled []sim.EnabledStep, defaultIndex int) int {
	chosen := w.Replay.Choose(index, enabled, defaultIndex)
	if index == w.at {
		w.step, w.others = sim.Step{Kind: sim.Fair}, nil
		for i := range enabled {
			if i == chosen {
				w.step = enabled[i].Step
			} else if enabled[i].Kind != sim.Fault {
				w.others = append(w.others, enabled[i].Step)
			}
		}
	}
	return chosen
}

// No later decision has another choice that avoids the violation.
func TestAvoidableIsTheLast(t *testing.T) {
	for _, lock := range long.Sample([]string{"no-guid", "no-recheck"}, 1) {
		t.Run(lock, func(t *testing.T) {
			r, scenario := read(t, lock)
			last := of(t, r, scenario).Avoidable.Step
			runner := engine.NewRunner(t)
			steps := runner.Run(scenario, &engine.Replay{Deviations: r.Deviations}).Steps
			tried := 0
			for at := last + 1; at < steps; at++ {
				w := &witness{Replay: engine.Replay{Deviations: r.Deviations}, at: at}
				runner.Run(scenario, w)
				for _, other := range w.others {
					tried++
					if result := runner.Run(scenario, &engine.Replay{
						Deviations: likelihood.Instead(r.Deviations, at, other),
					}); len(result.Violations) == 0 {
						t.Errorf("step %d: %v avoids the violation", at, other)
					}
				}
			}
			if tried == 0 {
				t.Error("no later decision has another choice")
			}
		})
	}
}

// The result depends on the arguments only, not on earlier runs of the runner.
func TestDeterministic(t *testing.T) {
	r, scenario := read(t, "no-guid")
	first := of(t, r, scenario)
	runner := engine.NewRunner(t)
	for range long.Count(1, 2) {
		again := likelihood.Of(context.Background(), runner, scenario, r.Deviations, r.Signature)
		if !reflect.DeepEqual(first, again) {
			t.Errorf("got %+v, then %+v", first, again)
		}
	}
}

// A schedule that always fails has one point. One with thousands of steps has only some of its
// points, and fewer samples of each.
func TestExtremes(t *testing.T) {
	r, scenario := read(t, "overcounted")
	if l := of(t, r, scenario); len(l.Curve) != 1 || l.Jump != nil || l.Samples != 100 ||
		l.Curve[0] != (explain.Point{Step: 0, Probability: 1}) {
		t.Errorf("overcounted: %+v", l)
	}
	if real.RaceDetector {
		return // The other schedule takes too long.
	}
	usual := likelihood.CurveStepsMax
	t.Cleanup(func() { likelihood.CurveStepsMax = usual })
	likelihood.CurveStepsMax /= long.Count(2, 1)
	r, scenario = read(t, "heartbeat")
	l := of(t, r, scenario)
	checkCurve(t, l)
	if l.Samples < 20 || l.Samples >= 100 || len(l.Curve) > 20 {
		t.Errorf("heartbeat: %d samples at %d points", l.Samples, len(l.Curve))
	}
}

// There is no likelihood of a schedule that does not fail in that way, and none if there is no
// time.
func TestNone(t *testing.T) {
	r, scenario := read(t, "no-guid")
	runner := engine.NewRunner(t)
	ended, end := context.WithCancel(context.Background())
	end()
	real := *scenario
	real.Client = scenarios.Real
	for name, l := range map[string]*explain.Likelihood{
		"another signature": likelihood.Of(context.Background(), runner, scenario, r.Deviations,
			strings.ToUpper(r.Signature)),
		"no deviations":   likelihood.Of(context.Background(), runner, scenario, nil, r.Signature),
		"ended context":   likelihood.Of(ended, runner, scenario, r.Deviations, r.Signature),
		"the real client": likelihood.Of(context.Background(), runner, &real, r.Deviations, r.Signature),
	} {
		if l != nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
