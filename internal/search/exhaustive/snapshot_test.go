package exhaustive_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/zookeeper"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A search that continues its runs from snapshots has the same runs as one that starts each run at
// the initial state, event by event and key by key, for every fault.
func TestSnapshotsChangeNothing(t *testing.T) {
	for kind := range faults.Kinds {
		if kind.Needs() == faults.RealClient || !(zookeeper.Service{}).Supports(kind) {
			continue
		}
		counts := long.Sample([]int{1, 3}, 1)
		if kind.Needs() == faults.SeveralServers {
			counts = []int{3}
		}
		for _, servers := range counts {
			s, schedules := locktest.Planned(t, subjects.Mutex(), 2, 1, kind.String()+"=1"), 30
			// delay-rewatch needs a client that lost its connection and sends a request before it
			// has another.
			switch kind {
			case faults.SlowOpen:
				s = locktest.Planned(t, subjects.Mutex(), 2, 1, "cut:c1=1,slow-open=1")
			case faults.DelayRewatch:
				s, schedules = locktest.Planned(t, subjects.Textbook(), 2, 1,
					"cut:c2@release=1,delay-rewatch=1"), 250
			}
			s.Servers = servers
			if landed := compareWithoutSnapshots(t, exhaustive.Search{
				Scenario:  s,
				Schedules: long.Count(schedules, 400),
			}); landed.Total(kind) == 0 {
				t.Errorf("%v: no fault struck", &s)
			}
		}
	}
	compareWithoutSnapshots(t, exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.Mutex(), 2, 2, "any=2"),
		Schedules: long.Count(30, 2000),
	})
	compareWithoutSnapshots(t, exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.Mutex(), 2, 2, "any=2"),
		Schedules: long.Count(20, 1000), FairSuffixes: true,
	})
	compareWithoutSnapshots(t, exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.Textbook(), 3, 1, "none"),
		Schedules: long.Count(20, 1000),
	})
	compareWithoutSnapshots(t, exhaustive.Search{
		Scenario:  locktest.Planned(t, locktest.Named(t, "reentrant"), 2, 1, "cut=1,restart=1"),
		Schedules: long.Count(20, 1000),
	})
}

// compareWithoutSnapshots compares the first runs of a search with and without snapshots, and
// returns their fault coverage.
func compareWithoutSnapshots(t *testing.T, e exhaustive.Search) engine.FaultCoverage {
	t.Helper()
	rooted := e
	got, want := e.Run(context.Background(), t), rooted.Rooted().Run(context.Background(), t)
	if got.Digest != want.Digest || got.States != want.States ||
		got.Transitions != want.Transitions ||
		got.Coverage != want.Coverage {
		t.Errorf("%v: digest %x, %d states, %d transitions; without snapshots %x, %d, %d",
			&e.Scenario, got.Digest, got.States, got.Transitions, want.Digest, want.States,
			want.Transitions)
	}
	if got.Nondeterministic != nil || want.Nondeterministic != nil {
		t.Errorf("%v: %v, without snapshots %v", &e.Scenario, got.Nondeterministic,
			want.Nondeterministic)
	}
	return got.Coverage
}
