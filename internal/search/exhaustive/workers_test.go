package exhaustive_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// compareWorkers searches with one worker and with several, and compares them. It returns the report
// of several.
func compareWorkers(t *testing.T, e exhaustive.Search, workers int) *report.Exhaustive {
	t.Helper()
	one, several := e, e
	return everylock.SameReport(t, &one, several.Crowded(workers))
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
	}, 4) {
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

// Every bundled lock on ZooKeeper has the same verdict for one worker and for several, if its search ends within
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
