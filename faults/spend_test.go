package faults_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/faults"
)

// The faults that a run has spent form a plan that allows the run and is empty after it, never
// allows more than the whole plan, and round-trips through Parse.
func TestSpentPlanAdmitsWhatWasSpent(t *testing.T) {
	type event struct {
		kind  faults.Kind
		phase faults.Phase
		at    faults.Place
	}
	rapid.Check(t, func(t *rapid.T) {
		plan := scarce.Draw(t, "plan")
		left, spent := plan, faults.Plan{}
		var run []event
		for range 40 {
			s := event{
				faults.Kind(rapid.IntRange(0, int(faults.Kinds)-1).Draw(t, "kind")),
				faults.Phase(rapid.IntRange(0, int(faults.Phases)-1).Draw(t, "phase")),
				somePlace.Draw(t, "place"),
			}
			if rapid.Bool().Draw(t, "of few kinds") {
				s.kind = rapid.SampledFrom([]faults.Kind{
					faults.Cut, faults.KillServer,
					faults.PartitionLinkOneway,
				}).Draw(t, "kind")
			}
			if left.AllowsIn(s.kind, s.phase, s.at) {
				spent.Add(left.Spend(s.kind, s.phase, s.at))
				run = append(run, s)
			}
		}
		if got := total(spent); got != len(run) {
			t.Fatalf("%v is spent of %v by %d faults", spent, plan, len(run))
		}
		if parsed, err := faults.Parse(spent.String()); err != nil || parsed != spent {
			t.Fatalf("%v is parsed as %v, error %v", spent, parsed, err)
		}
		for k := range faults.Kinds {
			for phase := range faults.Phases {
				at := somePlace.Draw(t, "elsewhere")
				if budget(&spent, k, phase, at) > budget(&plan, k, phase, at) {
					t.Fatalf("%v allows %v, phase %v, at %v more often than %v", spent, k, phase,
						at, plan)
				}
			}
		}
		again := spent
		for _, s := range run {
			if !again.AllowsIn(s.kind, s.phase, s.at) {
				t.Fatalf("%v, spent of %v, does not admit %v of %v", spent, plan, s, run)
			}
			again.Spend(s.kind, s.phase, s.at)
		}
		if !again.Empty() {
			t.Fatalf("%v is left of %v", again, spent)
		}
	})
}

// scarce draws a plan with at most two faults in each entry, so that runs exhaust it.
var scarce = rapid.Custom(func(t *rapid.T) (plan faults.Plan) {
	plan = somePlan.Draw(t, "plan")
	for i := range plan.Entries() {
		plan.Entries()[i].Left = min(plan.Entries()[i].Left, 2)
	}
	return plan
})

// A plan holds at most TargetedFaultsMax targeted faults.
func TestAddPanics(t *testing.T) {
	full, err := faults.Parse(
		"cut:c1=1,cut:c2=1,cut:c3=1,cut:c4=1,cut:c5=1,cut:c6=1,cut:c7=1,cut:c8=1")
	if err != nil {
		t.Fatal(err)
	}
	other, err := faults.Parse("expire:c1=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Errorf("%v has room for one more", full)
		}
	}()
	full.Add(other.Entries()[0])
}
