package shard_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// runSearch runs a shard of a search, writes its record into a report, and reads it back.
func runSearch(t *testing.T, e exhaustive.Search, index, of int) *shard.SearchRecord {
	t.Helper()
	e.Shard = report.Shard{Index: index, Of: of}
	c := &campaign.Campaign{
		Scenario: e.Scenario, Strategy: strategy.ExhaustiveName, KeepGoing: e.KeepGoing, Seed: 1,
	}
	record := shard.NewSearch(build, c, shard.Search{
		MaxDeviations: e.MaxDeviations, FairSuffixes: e.FairSuffixes,
		Shards: of,
	}, e.Run(context.Background(), t))
	read, err := shard.Read(write(t, map[string]any{"shard": record}, fmt.Sprint(index, ".json")))
	if err != nil {
		t.Fatal(err)
	}
	return read.Search
}

// runShards runs all shards of a search.
func runShards(t *testing.T, e exhaustive.Search, of int) (records []*shard.SearchRecord) {
	t.Helper()
	for i := range of {
		records = append(records, runSearch(t, e, i, of))
	}
	return records
}

// comparable returns a report without what depends on time or on the division, and without its
// scenario, whose functions compare unequal.
func comparable(r *report.Exhaustive) report.Exhaustive {
	same := *r
	same.Elapsed, same.Scope.Scenario = 0, nil
	return same
}

// The merged report of all shards, in any order, is that of the search of one machine.
func TestSearchShardsMerge(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		lock            string
		clients, cycles int
		plan            string
		deviations      int
		keepGoing       bool
		fails           int // the deviations of the first failure, or -1 if there is none
	}{
		{"textbook", 2, 1, "none", 2, false, -1},
		{"mutex", 2, 1, "close-session=1", 1, false, -1}, // Some schedules are out of contract.
		{"mutex", 1, 1, "any=1", 1, false, -1},
		{"exists-then-wait", 2, 1, "none", 2, false, 2},
		{"no-guid", 1, 1, "lose-reply=1", 2, true, 1},
		{"delete-once", 1, 1, "cut=1", 2, false, 1},
		{"name-order", 2, 1, "none", 2, true, 1},
		{"spin", 2, 1, "crash=1", 1, false, 1},
	}, 5) {
		e := exhaustive.Search{
			Scenario: locktest.Planned(t, locktest.Named(t, tc.lock), tc.clients, tc.cycles,
				tc.plan),
			MaxDeviations: tc.deviations, KeepGoing: tc.keepGoing,
		}
		want := e.Run(context.Background(), t)
		if failed := want.Failure != nil; failed != (tc.fails >= 0) ||
			failed && len(want.Failure.Deviations) != tc.fails {
			t.Errorf("%v: the search of one machine reports %+v", &e.Scenario, want)
		}
		for _, of := range long.Sample([]int{3, 1, 2, 7}, 1) {
			records := runShards(t, e, of)
			slices.Reverse(records)
			_, got, err := shard.MergeSearch(context.Background(), t, build, lockNamed, records)
			if err != nil {
				t.Errorf("%v, %d shards: %v", &e.Scenario, of, err)
				continue
			}
			if !reflect.DeepEqual(comparable(got), comparable(want)) ||
				got.Scope.String() != want.Scope.String() {
				t.Errorf("%v: %d shards report\n%+v\none machine\n%+v", &e.Scenario, of, got, want)
			}
		}
	}
}

// Shards after the first violation of the search are not needed.
func TestSearchMergeEndsWithFirstFailure(t *testing.T) {
	e := exhaustive.Search{
		Scenario:      locktest.Planned(t, locktest.Named(t, "delete-once"), 1, 1, "cut=1"),
		MaxDeviations: 2,
	}
	want := e.Run(context.Background(), t)
	records := runShards(t, e, 3)
	first := slices.IndexFunc(records, func(s *shard.SearchRecord) bool {
		return s.Levels[0].Failure != nil
	})
	if first < 0 || first == 2 {
		t.Fatalf("the first failure is in shard %d", first)
	}
	_, got, err := shard.MergeSearch(context.Background(), t, build, lockNamed, records[:first+1])
	if err != nil || !reflect.DeepEqual(comparable(got), comparable(want)) ||
		got.Scope.String() != want.Scope.String() {
		t.Errorf("error %v, merged %+v, want %+v", err, got, want)
	}
}

// Records that do not belong together, or are not all, are refused in one line that names them.
func TestSearchMergeRefuses(t *testing.T) {
	e := exhaustive.Search{
		Scenario:      locktest.Planned(t, locktest.Named(t, "textbook"), 2, 1, "none"),
		MaxDeviations: 1,
	}
	for _, tc := range []struct {
		name   string
		change func([]*shard.SearchRecord) []*shard.SearchRecord
		want   string
	}{
		{"nothing", func([]*shard.SearchRecord) []*shard.SearchRecord { return nil }, "no reports"},
		{"missing", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			return all[1:2]
		}, "no report has shard 0/3, 2/3"},
		{"twice", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			return append(all, all[1])
		}, "1.json and *1.json are both shard 1/3"},
		{"interrupted", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			all[1].Levels[0].Covered = false
			return all
		}, "1.json was interrupted: run shard 1/3 again"},
		{"build", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			all[1].Build = "another"
			return all
		}, "1.json was written by another build than *0.json: another, not " + build},
		{"build of this program", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			for _, s := range all {
				s.Build = "another"
			}
			return all
		}, "0.json was written by another build than this program: another, not " + build},
		{"faults", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			all[2].Campaign.Faults = faults.Of(faults.Any, 2)
			return all
		}, "2.json is of another campaign than *0.json: faults any=2, not none"},
		{"bound", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			all[2].Campaign.Search.MaxDeviations = 2
			return all
		}, "2.json is of another campaign than *0.json: max-deviations 2, not 1"},
		{"number of shards", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			all[2] = runSearch(t, e, 1, 2)
			return all
		}, "1.json is of another campaign than *0.json: number of shards 2, not 3"},
		{"fair suffixes", func(all []*shard.SearchRecord) []*shard.SearchRecord {
			all[2].Campaign.Search.FairSuffixes = true
			return all
		}, "2.json is of another campaign than *0.json: fair-suffixes true, not false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			records := tc.change(runShards(t, e, 3))
			_, _, err := shard.MergeSearch(context.Background(), t, build, lockNamed, records)
			var failed *shard.FailedError
			if err == nil || errors.As(err, &failed) || strings.Contains(err.Error(), "\n") ||
				!inOrder(err.Error(), strings.Split(tc.want, "*")) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// Shards that do not join have run the same schedule in different ways.
func TestSearchMergeNoticesGaps(t *testing.T) {
	e := exhaustive.Search{
		Scenario:      locktest.Planned(t, locktest.Named(t, "textbook"), 2, 1, "none"),
		MaxDeviations: 1,
	}
	for _, change := range []func([]*shard.SearchRecord){
		func(all []*shard.SearchRecord) { all[0].Levels[0].End[0].Index++ },
		func(all []*shard.SearchRecord) { all[2].Levels[0].Begin = nil },
		func(all []*shard.SearchRecord) { all[2].Levels[0].End = []engine.Deviation{} },
	} {
		records := runShards(t, e, 3)
		change(records)
		_, _, err := shard.MergeSearch(context.Background(), t, build, lockNamed, records)
		checkFailed(t, err, "the shards do not join")
	}
}

// Damaged records are refused.
func TestReadRefusesSearches(t *testing.T) {
	e := exhaustive.Search{
		Scenario:      locktest.Planned(t, locktest.Named(t, "name-order"), 2, 1, "none"),
		MaxDeviations: 2, KeepGoing: true,
	}
	good := runSearch(t, e, 0, 1)
	for _, tc := range []struct {
		name   string
		change func(*shard.SearchRecord)
		want   string
	}{
		{"version", func(s *shard.SearchRecord) { s.Version = 99 }, "version 99 of the format"},
		{"index", func(s *shard.SearchRecord) { s.Index = 1 }, "damaged: 1/1 is no shard"},
		{"levels", func(s *shard.SearchRecord) { s.Levels = nil }, "damaged: it has 0 levels of 2"},
		{
			"strategy", func(s *shard.SearchRecord) { s.Campaign.Strategy = "pct" },
			"damaged: it is of no exhaustive search",
		},
		{
			"gap", func(s *shard.SearchRecord) { s.Levels[0].Covered = false },
			"damaged: it went on after an incomplete level 1",
		},
		{
			"failure", func(s *shard.SearchRecord) { s.Levels[1].Failure.Schedule = 0 },
			"damaged: schedule 0 is not one of schedules ",
		},
		{
			"count", func(s *shard.SearchRecord) { s.Levels[0].Steps++ },
			"damaged: its checksum is wrong; run the shard again",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := *good
			s.Levels = slices.Clone(good.Levels)
			for i := range s.Levels {
				failure := *s.Levels[i].Failure
				s.Levels[i].Failure = &failure
			}
			tc.change(&s)
			path := write(t, map[string]any{"shard": &s}, "bad.json")
			_, err := shard.Read(path)
			if err == nil || !strings.HasPrefix(err.Error(), path) ||
				!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
