package exhaustive_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// compareWorkers searches with one worker and with several, and requires the same verdict and the
// same failure. The number of schedules must be the same to 1 %, except with fair suffixes: whether
// one is tried depends on the step before. It returns the report of several.
func compareWorkers(t *testing.T, e exhaustive.Search, workers int) *report.Exhaustive {
	t.Helper()
	one, several := e, e
	want := one.Run(context.Background(), t)
	got := several.Crowded(workers).Run(context.Background(), t)
	if got.Complete != want.Complete || got.Scope.String() != want.Scope.String() || got.Granted != want.Granted ||
		got.Untried != want.Untried || got.Differing != want.Differing {
		t.Errorf("%v: %d workers report %+v, one reports %+v", &e.Scenario, workers, got, want)
	}
	if !reflect.DeepEqual(got.Failure, want.Failure) {
		t.Errorf("%v: %d workers find %+v, one finds %+v", &e.Scenario, workers, got.Failure,
			want.Failure)
	}
	difference := got.Schedules - want.Schedules
	if !e.FairSuffixes && max(difference, -difference)*100 > want.Schedules {
		t.Errorf("%v: %d workers run %d schedules, one runs %d", &e.Scenario, workers,
			got.Schedules, want.Schedules)
	}
	return got
}

func TestWorkersReportTheSame(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		e      exhaustive.Search
		shared bool // nothing is found, so that the report is that of several workers
	}{
		{searchOf(t, "textbook", 2, 2, 1, "none"), true},
		{searchOf(t, "mutex", 3, 1, 1, "none"), true},
		{searchOf(t, "mutex", 2, 1, 1, "cut=1"), true},
		{searchOf(t, "herd", 2, 1, 1, "crash=1"), true},
		{searchOf(t, "textbook", 2, 1, 3, "none"), true},
		{exhaustive.Search{
			Scenario: locktest.Planned(t, subjects.Textbook(), 2, 1, "crash=1"), NoMerge: true,
		}, true},
		{exhaustive.Search{
			Scenario: locktest.Planned(t, subjects.Textbook(), 2, 1, "none"), NoReplayCache: true,
		}, true},
		{exhaustive.Search{
			Scenario: locktest.Planned(t, subjects.Textbook(), 2, 1, "none"), FairSuffixes: true,
		}, true},
		{searchOf(t, "no-recheck", 3, 1, 1, "cancel=1"), false},
		{searchOf(t, "exists-then-wait", 2, 1, 1, "none"), false},
		{searchOf(t, "late-notice", 2, 1, 1, "cut=1"), false},
		{searchOf(t, "name-order", 2, 1, 1, "none"), false},
	}, 6) {
		got := compareWorkers(t, tc.e, 3)
		if tc.shared != (got.Workers == 3) {
			t.Errorf("%v: the report is that of %d workers", &tc.e.Scenario, got.Workers)
		}
	}
}

// search2 returns a search of a bundled lock.
func searchOf(t *testing.T, name string, clients, cycles, servers int,
	plan string,
) exhaustive.Search {
	s := locktest.Planned(t, locktest.Named(t, name), clients, cycles, plan)
	if servers > 1 {
		s.Servers = servers
	}
	return exhaustive.Search{Scenario: s}
}

// Every bundled lock has the same verdict for one worker and for several, if its search ends within
// some thousand schedules.
func TestWorkersAgreeOnEveryLock(t *testing.T) {
	long.Only(t)
	compared := 0
	for _, subject := range subjects.All() {
		e := searchOf(t, subject.Name, 2, 1, 1, "none")
		bounded := e
		bounded.Schedules = 4000
		if r := bounded.Run(context.Background(), t); r.Complete || r.Failure != nil {
			compareWorkers(t, e, 2)
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("the searches of only %d locks end", compared)
	}
}
