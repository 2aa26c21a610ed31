package everylock

import (
	"context"
	"reflect"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// SameReport tests that a search with one worker and one with several have the same verdict and the
// same failure. The number of schedules must be the same to 1 %, except with fair suffixes: whether
// one is tried depends on the step before. It returns the report of several.
func SameReport(t *testing.T, one, several *exhaustive.Search) *report.Exhaustive {
	t.Helper()
	want := one.Run(context.Background(), t)
	got := several.Run(context.Background(), t)
	if got.Complete != want.Complete || got.Scope.String() != want.Scope.String() ||
		got.Granted != want.Granted || got.Untried != want.Untried ||
		got.Differing != want.Differing {
		t.Errorf("%v: %d workers report %+v, one reports %+v", &one.Scenario, several.Workers, got,
			want)
	}
	if !reflect.DeepEqual(got.Failure, want.Failure) {
		t.Errorf("%v: %d workers find %+v, one finds %+v", &one.Scenario, several.Workers,
			got.Failure, want.Failure)
	}
	difference := got.Schedules - want.Schedules
	if !one.FairSuffixes && max(difference, -difference)*100 > want.Schedules {
		t.Errorf("%v: %d workers run %d schedules, one runs %d", &one.Scenario, several.Workers,
			got.Schedules, want.Schedules)
	}
	return got
}
