package reportcard_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// exclusion are the properties that two simultaneous holders violate: at least one of them.
var exclusion = []history.Property{
	history.ServerMutualExclusion, history.ClientMutualExclusion, history.Linearizable,
}

func breaksExclusion(result *engine.Result) bool {
	return slices.ContainsFunc(result.Violations, func(v *history.Violation) bool {
		return slices.Contains(exclusion, v.Property)
	})
}

// javaZKLockWays are the ways in which exclusion breaks, and for each a fault plan under which a
// search of few schedules finds it.
var javaZKLockWays = []struct {
	way     string
	subject scenarios.Subject
	plan    string
}{
	{reportcard.NoRecheckWay, subjects.JavaZKLock(), "cut=1"},
	{reportcard.FailedAttemptWay, subjects.JavaZKLock(), "expire=1"},
	{reportcard.NegativeCountWay, subjects.JavaZKLock(), "lose-reply@release=1"},
	{reportcard.SoleNodeWay, subjects.JavaZKLock(), "expire@list=1"},
	{reportcard.LostReentryWay, subjects.JavaZKLock(), "expire@hold=1"},
	{reportcard.LostNodeWay, subjects.JavaZKLock(), "expire@watch=1"},
	{reportcard.NoRecheckWay, subjects.JavaZKLockFinally(), "none"},
	{reportcard.NegativeCountWay, subjects.JavaZKLockFinally(), "none"},
}

// ZkLock breaks exclusion in five ways, each with one fault, or with none.
func TestJavaZKLockBreaksExclusion(t *testing.T) {
	for _, tc := range javaZKLockWays {
		t.Run(tc.subject.Name+"/"+tc.way, func(t *testing.T) {
			scenario := locktest.Planned(t, tc.subject, 3, 2, tc.plan)
			runner := engine.NewRunner(t)
			for i := range 2000 {
				result := runner.Run(&scenario, strategy.NewRandom(1, i))
				ways := reportcard.JavaZKLockWays(result.Events)
				if breaksExclusion(result) && slices.Contains(ways, tc.way) {
					t.Logf("schedule %d", i)
					return
				}
			}
			t.Error("no schedule breaks exclusion in this way")
		})
	}
}

// A search with the defaults of interlock check finds the five ways, and one more.
func TestJavaZKLockUnderDefaults(t *testing.T) {
	scenario := &scenarios.Scenario{
		Subject: subjects.JavaZKLock(), Clients: 3, Cycles: 2,
		Faults: faults.Default(),
	}
	want := []string{
		reportcard.NoRecheckWay, reportcard.LostNodeWay, reportcard.FailedAttemptWay,
		reportcard.NegativeCountWay, reportcard.SoleNodeWay, reportcard.LostReentryWay,
	}
	runner, found := engine.NewRunner(t), make(map[string]bool)
	for i := 0; i < 5000 && len(found) < len(want); i++ {
		result := runner.Run(scenario, strategy.NewRandom(1, i))
		if !breaksExclusion(result) {
			continue
		}
		for _, way := range reportcard.JavaZKLockWays(result.Events) {
			if !found[way] {
				t.Logf("schedule %d: %s", i, way)
			}
			found[way] = true
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("exclusion breaks in these ways: %q, want %q", got, want)
	}
}
