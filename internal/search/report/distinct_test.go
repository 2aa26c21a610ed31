package report_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/internal/search/report"
)

// However a search is divided, it keeps the same candidates, a bounded number of them, and one of
// the smallest cause.
func TestMergeDistinct(t *testing.T) {
	texts := func(all ...string) *rapid.Generator[[]string] {
		return rapid.Custom(func(t *rapid.T) (some []string) {
			for _, text := range all {
				if rapid.Bool().Draw(t, text) {
					some = append(some, text)
				}
			}
			return some
		})
	}
	faults, calls := texts("cut", "expire", "pause"),
		texts("create", "create: no answer", "delete", "exists", "session expired", "sync")
	rapid.Check(t, func(t *rapid.T) {
		all := make(report.DistinctFailures, rapid.IntRange(1, 60).Draw(t, "n"))
		smallest := report.Cause{Faults: []string{"cut", "expire", "pause", "x"}}
		for i := range all {
			f := &report.Failure{Schedule: i}
			c := report.Cause{Faults: faults.Draw(t, "faults"), Calls: calls.Draw(t, "calls")}
			all[i] = report.DistinctFailure{
				Signature: "same", Schedules: 1, First: f,
				Candidates: []report.Candidate{{Cause: c, Failure: f}},
			}
			if c.Compare(&smallest) < 0 {
				smallest = c
			}
		}
		var whole, merged report.DistinctFailures
		whole.Merge(all)
		for rest := all; len(rest) > 0; {
			var part report.DistinctFailures
			n := rapid.IntRange(1, len(rest)).Draw(t, "part")
			part.Merge(rest[:n])
			merged.Merge(part)
			rest = rest[n:]
		}
		if !reflect.DeepEqual(merged, whole) {
			t.Fatalf("merged\n%+v\nthe whole\n%+v", merged, whole)
		}
		kept := whole[0].Candidates
		if len(whole) != 1 || whole[0].Schedules != len(all) || len(kept) > 16 ||
			kept[0].Cause.Compare(&smallest) != 0 {
			t.Fatalf("%+v of %d, the smallest is %v", whole, len(all), smallest)
		}
	})
}

func TestCauseCovers(t *testing.T) {
	cause := func(fault string, calls ...string) *report.Cause {
		c := &report.Cause{Calls: calls}
		if fault != "" {
			c.Faults = []string{fault}
		}
		return c
	}
	for _, test := range []struct {
		name       string
		one, other *report.Cause
		want       bool
	}{
		{"the same", cause("", "create"), cause("", "create"), true},
		{"another call", cause("", "create"), cause("", "delete"), false},
		{"more calls, without a fault", cause("", "create"), cause("", "create", "delete"), false},
		{"another fault", cause("pause", "create"), cause("cut", "create"), false},
		{"more calls", cause("pause", "create"), cause("pause", "create", "delete"), true},
		{"fewer calls", cause("pause", "create", "delete"), cause("pause", "create"), false},
		{
			"another reason for the same", cause("cut", "create: no answer"),
			cause("lose-reply", "create: no answer"), true,
		},
		{
			"another request without an answer", cause("cut", "create: no answer"),
			cause("cut", "delete: no answer"), false,
		},
		{
			"more that a fault did", cause("expire", "create", "session expired"),
			cause("cut", "create", "create: no answer", "session expired"), true,
		},
	} {
		if got := test.one.Covers(test.other); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
