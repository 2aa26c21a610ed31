package redislocks_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
)

const (
	waitsForEver = "progress: a process waits for the lock for ever"
	twoInside    = "client-mutual-exclusion: a process entered its critical section while another " +
		"was inside"
	foreignKey = "own-release: a process deleted a key that another process had set"
)

// An exhaustive search, also of the fair phase, finds every violation within its bounds. A
// search that distinguishes all local histories of the processes finds the same.
func TestExhaustive(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		subject scenarios.Subject
		plan    string
		ticks   int // on which nothing waits
		want    []string
	}{
		{redislocks.SetNX(), "crash=1", 0, []string{waitsForEver}},
		{redislocks.SetNX(), "fail-over=1", 0, nil},
		{redislocks.SetNX(), "stall-server=1", 0, nil},
		{redislocks.SetNX(), "none", 0, nil},
		{redislocks.SetNXExpire(), "crash:c1=1", 0, []string{twoInside, foreignKey, waitsForEver}},
		{redislocks.SetNXExpire(), "none", 0, []string{twoInside, foreignKey}},
		{redislocks.SetNXLease(), "none", 0, nil},
	}, 2) {
		t.Run(tc.subject.Name+" "+tc.plan, func(t *testing.T) {
			e := exhaustive.Search{
				Scenario:     locktest.Planned(t, tc.subject, 2, 1, tc.plan),
				FairSuffixes: true, Schedules: 20_000, IdleTicks: tc.ticks,
			}
			merged, states := verdicts(t, e)
			e.NoMerge = true
			unmerged, all := verdicts(t, e)
			t.Logf("%d states, without merging %d; %q", states, all, merged)
			if !slices.Equal(merged, tc.want) || !slices.Equal(unmerged, tc.want) {
				t.Errorf("found %q, without merging %q, want %q", merged, unmerged, tc.want)
			}
		})
	}
}

// verdicts returns the signatures of all violations that a search finds, and its states.
func verdicts(t *testing.T, e exhaustive.Search) (found []string, states int) {
	t.Helper()
	all := make(map[string]bool)
	e.Each = func(r *engine.Result) {
		for _, v := range r.Violations {
			all[v.Signature()] = true
		}
	}
	r := e.Run(context.Background(), t)
	// A schedule in which a process waits for ever is cut off.
	if !r.Complete && r.CutOff == 0 || r.Schedules == e.Schedules || r.Nondeterministic != nil {
		t.Fatalf("not complete after %d schedules, %v", r.Schedules, r.Nondeterministic)
	}
	return slices.Sorted(maps.Keys(all)), r.States
}
