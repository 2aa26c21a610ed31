package shard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

const build = "the build of this test"

// lockNamed returns a bundled lock.
func lockNamed(name string) (scenarios.Subject, error) {
	subject, err := subjects.Named(name)
	return subject, err
}

// run runs a range of a campaign, writes its record into a report, and reads it back.
func run(t *testing.T, c campaign.Campaign, part report.Range) *shard.Record {
	t.Helper()
	c.Range = part
	record := shard.New(build, &c, c.Run(context.Background(), t))
	return read(t, map[string]any{"status": 0, "shard": record}, name(part))
}

// name returns the name of the report of a range.
func name(part report.Range) string { return fmt.Sprintf("%d-%d.json", part.From, part.To) }

// read writes a report to a file and reads its record.
func read(t *testing.T, content any, name string) *shard.Record {
	t.Helper()
	report, err := shard.Read(write(t, content, name))
	if err != nil {
		t.Fatal(err)
	}
	return report.Campaign
}

// write writes a report to a file and returns its path.
func write(t *testing.T, content any, name string) string {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// text returns a record as JSON, without times and without the checksum over them.
func text(t *testing.T, r *shard.Record) string {
	t.Helper()
	timeless := *r
	timeless.Elapsed, timeless.Running, timeless.Checking = 0, 0, 0
	timeless.Checksum = ""
	content, err := json.MarshalIndent(&timeless, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The ranges of a campaign, split anywhere and merged in any order, have the report of the whole.
func TestAnySplitMerges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lock := rapid.SampledFrom([]string{"textbook", "no-recheck", "name-order", "mutex"}).
			Draw(rt, "lock")
		c := campaign.Campaign{
			Scenario: locktest.Planned(t, locktest.Named(t, lock), 3, 1, "any=2"),
			Seed:     rapid.Uint64().Draw(rt, "seed"),
			Strategy: rapid.SampledFrom([]string{"round-robin", "random", "pct10"}).
				Draw(rt, "strategy"),
			Schedules: rapid.IntRange(1, long.Count(30, 150)).Draw(rt, "schedules"),
			KeepGoing: rapid.Bool().Draw(rt, "keep going"),
			Workers:   rapid.IntRange(1, 3).Draw(rt, "workers"),
		}
		if lock == "mutex" { // One schedule in fifty is out of contract.
			c.Scenario.Faults = faults.Of(faults.CloseSession, 2)
		}
		if rapid.Bool().Draw(rt, "configurations") {
			fewer := c.Scenario
			fewer.Clients, fewer.Servers = 2, 3
			c.Configurations = []campaign.Configuration{
				{Scenario: c.Scenario, Weight: 2}, {Scenario: fewer, Weight: 1},
			}
		}
		cuts := rapid.SliceOfN(rapid.IntRange(0, c.Schedules), 0, 4).Draw(rt, "cuts")
		cuts = append(cuts, 0, c.Schedules)
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		var records []*shard.Record
		for i := range len(cuts) - 1 {
			records = append(records, run(t, c, report.Range{From: cuts[i], To: cuts[i+1]}))
		}
		records = rapid.Permutation(records).Draw(rt, "records")

		whole := c.Run(context.Background(), t)
		merged, r, err := shard.Merge(context.Background(), t, build, lockNamed, records)
		if err != nil {
			rt.Fatal(err)
		}
		want, got := text(t, shard.New(build, &c, whole)), text(t, shard.New(build, merged, r))
		if got != want {
			rt.Fatalf("merged\n%s\nthe whole\n%s", got, want)
		}
		if r.States != whole.States || r.StatesCapped != whole.StatesCapped ||
			r.Histories != whole.Histories || r.KeptGoing != whole.KeptGoing ||
			len(r.Distinct) > 0 && r.Distinct[0].First != r.Failure {
			rt.Fatalf("merged\n%+v\nthe whole\n%+v", r, whole)
		}
	})
}

// split returns the records of three ranges of a campaign of 90 schedules.
func split(t *testing.T) []*shard.Record {
	t.Helper()
	c := campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.Textbook(), 2, 1, 1), Seed: 7, Schedules: 90,
		Strategy: "round-robin",
	}
	return []*shard.Record{
		run(t, c, report.Range{From: 0, To: 30}), run(t, c, report.Range{From: 30, To: 60}),
		run(t, c, report.Range{From: 60, To: 90}),
	}
}

// Reports that do not belong together, or are not all, are refused in one line that names them.
func TestMergeRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func([]*shard.Record) []*shard.Record
		want   string
	}{
		{"nothing", func([]*shard.Record) []*shard.Record { return nil }, "no reports"},
		{"gap", func(all []*shard.Record) []*shard.Record {
			return []*shard.Record{all[2], all[0]}
		}, "no report has schedules 30 to 59"},
		{"gaps", func(all []*shard.Record) []*shard.Record {
			all[1].Range.To = 59
			return all[1:2]
		}, "no report has schedules 0 to 29, schedules 59 to 89"},
		{"one schedule", func(all []*shard.Record) []*shard.Record {
			all[2].Range.From = 61
			return all
		}, "no report has schedule 60"},
		{"overlap", func(all []*shard.Record) []*shard.Record {
			all[1].Range.From = 20
			return all
		}, "0-30.json and *30-60.json overlap: both have schedules 20 to 29"},
		{"twice", func(all []*shard.Record) []*shard.Record {
			return append(all, all[2])
		}, "60-90.json and *60-90.json overlap: both have schedules 60 to 89"},
		{"interrupted", func(all []*shard.Record) []*shard.Record {
			all[1].Interrupted = true
			return all
		}, "30-60.json was interrupted: run the shard of schedules 30 to 59 again"},
		{"build", func(all []*shard.Record) []*shard.Record {
			all[1].Build = "another"
			return all
		}, "30-60.json was written by another build than *0-30.json: another, not " + build},
		{"build of this program", func(all []*shard.Record) []*shard.Record {
			for _, s := range all {
				s.Build = "another"
			}
			return all
		}, "0-30.json was written by another build than this program: another, not " + build},
		{"seed", func(all []*shard.Record) []*shard.Record {
			all[2].Campaign.Seed = 8
			return all
		}, "60-90.json is of another campaign than *0-30.json: seed 8, not 7"},
		{"lock", func(all []*shard.Record) []*shard.Record {
			all[2].Campaign.Lock = "mutex"
			return all
		}, "60-90.json is of another campaign than *0-30.json: lock mutex, not textbook"},
		{"faults", func(all []*shard.Record) []*shard.Record {
			all[2].Campaign.Faults = faults.Of(faults.Any, 2)
			return all
		}, "60-90.json is of another campaign than *0-30.json: faults any=2, not any=1"},
		{"configurations", func(all []*shard.Record) []*shard.Record {
			all[2].Campaign.Configurations = slices.Grow(all[2].Campaign.Configurations, 1)[:1]
			return all
		}, "60-90.json is of another campaign than *0-30.json: other configurations"},
		{"coverage", func(all []*shard.Record) []*shard.Record {
			all[2].Campaign.RequiredCoverage = []string{"cut@hold"}
			return all
		}, "60-90.json is of another campaign than *0-30.json: required coverage " +
			`["cut@hold"], not []`},
		{"unknown lock", func(all []*shard.Record) []*shard.Record {
			for _, s := range all {
				s.Campaign.Lock = "absent"
			}
			return all
		}, `0-30.json: *"absent"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := shard.Merge(context.Background(), t, build, lockNamed, tc.change(split(t)))
			var failed *shard.FailedError
			if err == nil || errors.As(err, &failed) || strings.Contains(err.Error(), "\n") ||
				!inOrder(err.Error(), strings.Split(tc.want, "*")) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// inOrder reports whether a text has the parts, one after the other.
func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// A shard that ends the campaign makes later schedules irrelevant, as on one machine.
func TestMergeEndsWithFirstFailure(t *testing.T) {
	c := campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.ExistsThenWait(), 2, 1, 0), Seed: 3,
		Schedules: 400, Strategy: "random",
	}
	whole := c.Run(context.Background(), t)
	if whole.Failure == nil || whole.Failure.Schedule >= 200 {
		t.Fatalf("the first failure is %+v", whole.Failure)
	}
	_, r, err := shard.Merge(context.Background(), t, build, lockNamed,
		[]*shard.Record{run(t, c, report.Range{From: 0, To: 200})})
	if err != nil || r.Failure == nil || r.Failure.Schedule != whole.Failure.Schedule ||
		r.Schedules != whole.Schedules || r.Digest != whole.Digest {
		t.Errorf("error %v, merged %+v", err, r)
	}
}

// The whole report counts the schedules of the shards that did not run the same way twice. A
// schedule that does not fail again is an error of another kind than reports that do not belong
// together.
func TestMergeReportsNondeterminism(t *testing.T) {
	records := split(t)
	records[1].Nondeterminism = "schedule 31 did not run the same way twice"
	records[1].RunTwice, records[1].Differing = 2, 1
	records[1].DifferingLines = []string{"lock.go:7"}
	_, whole, err := shard.Merge(context.Background(), t, build, lockNamed, records)
	if err != nil || whole.Nondeterministic == nil || whole.DescribeDiffering() !=
		"nondeterministic: 1 of 2 schedules that were run twice differed, from lock.go:7" {
		t.Errorf("error %v, merged %+v", err, whole)
	}

	c := campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.ExistsThenWait(), 2, 1, 0), Seed: 3,
		Schedules: 200, Strategy: "random",
	}
	record := run(t, c, report.Range{From: 0, To: 200})
	record.Failure.Deviations = nil
	record.Failure.Signatures = []string{"fifo: as it was"}
	_, _, err = shard.Merge(context.Background(), t, build, lockNamed, []*shard.Record{record})
	checkFailed(t, err, `violated ["fifo: as it was"], and [`)
}

// The end of the context ends a merge that runs schedules again.
func TestMergeCanceled(t *testing.T) {
	c := campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.ExistsThenWait(), 2, 1, 0), Seed: 3,
		Schedules: 200, Strategy: "random",
	}
	record := run(t, c, report.Range{From: 0, To: 200})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := shard.Merge(ctx, t, build, lockNamed, []*shard.Record{record})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func checkFailed(t *testing.T, err error, want string) {
	t.Helper()
	var failed *shard.FailedError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// Files that are not reports of shards, or are damaged, are refused in one line that names them.
func TestReadRefuses(t *testing.T) {
	good := split(t)[1]
	damaged := func(change func(*shard.Record)) map[string]any {
		s := *good
		change(&s)
		return map[string]any{"shard": &s}
	}
	for _, tc := range []struct {
		name    string
		content any
		want    string
	}{
		{"no object", 3, "is not a report of a shard, or is damaged"},
		{"no shard", map[string]any{"version": 5}, "is not a report of a shard: check --shard"},
		{
			"format", damaged(func(s *shard.Record) { s.Format = "other" }),
			`the format of the shard is "other", not "interlock-shard"`,
		},
		{
			"version", damaged(func(s *shard.Record) { s.Version = 99 }),
			"version 99 of the format, and this program reads only version 5",
		},
		{
			"range", damaged(func(s *shard.Record) { s.Range.To = 91 }),
			"damaged: the range from 30 to 91 is not one of 90 schedules",
		},
		{
			"empty range", damaged(func(s *shard.Record) { s.Range.To = 30 }),
			"damaged: the range from 30 to 30 is not one",
		},
		{
			"too few", damaged(func(s *shard.Record) { s.Schedules-- }),
			"damaged: it has run only 29 of 30 schedules",
		},
		{
			"too many", damaged(func(s *shard.Record) { s.Schedules++ }),
			"damaged: it has run 31 of 30 schedules",
		},
		{
			"counts", damaged(func(s *shard.Record) { s.Seen = nil }),
			"damaged: counts are missing",
		},
		{
			"configurations",
			damaged(func(s *shard.Record) { s.Configurations = make([]report.ConfigurationStats, 2) }),
			"damaged: it has more configurations than the campaign",
		},
		{
			"out of contract", damaged(func(s *shard.Record) { s.OutOfContractSchedules = 2 }),
			"damaged: violations out of contract are missing",
		},
		{
			"another count", damaged(func(s *shard.Record) { s.Steps++ }),
			"damaged: its checksum is wrong; run the shard again",
		},
		{"type", map[string]any{"shard": map[string]any{
			"format": "interlock-shard", "version": 5, "schedules": "many",
		}}, "damaged: json: "},
		{"keys", map[string]any{"shard": map[string]any{
			"format": "interlock-shard", "version": 5, "seen": map[string]any{"states": "AAA="},
		}}, "damaged: a list of state keys is damaged"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := write(t, tc.content, "bad.json")
			_, err := shard.Read(path)
			if err == nil || !strings.HasPrefix(err.Error(), path) ||
				!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
