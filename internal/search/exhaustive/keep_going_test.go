package exhaustive_test

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A search that keeps going runs the schedules of one whose runs are all observed, and counts each
// signature in as many of them.
func TestExhaustiveKeepsGoing(t *testing.T) {
	search := exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.NoRecheck(), 3, 1, "cut=1"),
		Schedules: long.Count(2500, 6000),
	}
	observed, counts := search, make(map[string]int)
	observed.Each = func(r *engine.Result) {
		if r.Fails(&observed.Scenario) {
			for _, v := range r.Violations {
				counts[v.Signature()]++
			}
		}
	}
	want := observed.Run(context.Background(), t)
	search.KeepGoing = true
	got := search.Run(context.Background(), t)
	if got.Schedules != want.Schedules || got.Digest != want.Digest ||
		got.Complete != want.Complete || !got.Finished() {
		t.Errorf("%d schedules, digest %x, complete %v, finished %v; want %d, %x, %v",
			got.Schedules, got.Digest, got.Complete, got.Finished(), want.Schedules, want.Digest,
			want.Complete)
	}
	counted := make(map[string]int)
	for _, d := range got.Distinct {
		counted[d.Signature] = d.Schedules
	}
	if len(counted) < 2 || !reflect.DeepEqual(counted, counts) {
		t.Errorf("counted %v, want %v", counted, counts)
	}
	if got.Failure != got.Distinct[0].First {
		t.Errorf("the first failure is %+v, not %+v", got.Failure, got.Distinct[0].First)
	}
}

// A search that is interrupted and resumed keeps the failures that it has found.
func TestCheckpointKeepsFailures(t *testing.T) {
	search := exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.ExistsThenWait(), 2, 1, "none"),
		KeepGoing: true, NoMerge: true,
	}
	want := search.Run(context.Background(), t)
	search.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	var got *report.Exhaustive
	parts := 0
	for until := 5; got == nil || !got.Complete; until += 5 {
		e := search
		e.Schedules = until
		if err := e.Resume(t); err != nil {
			t.Fatal(err)
		}
		if got = e.Run(context.Background(), t); got.Unsaved != nil {
			t.Fatal(got.Unsaved)
		}
		parts++
	}
	if parts < 3 || len(got.Distinct) == 0 || len(got.Distinct) != len(want.Distinct) ||
		got.Digest != want.Digest {
		t.Fatalf("%d parts, %+v, want %+v", parts, got.Distinct, want.Distinct)
	}
	for i, d := range got.Distinct {
		w := want.Distinct[i]
		if d.Signature != w.Signature || d.Property != w.Property || d.Schedules != w.Schedules ||
			d.First.Schedule != w.First.Schedule ||
			!reflect.DeepEqual(d.First.Deviations, w.First.Deviations) ||
			len(d.Candidates) != len(w.Candidates) || len(d.Candidates) == 0 {
			t.Fatalf("%+v, want %+v", d, w)
		}
		for j, c := range d.Candidates {
			if other := w.Candidates[j]; !reflect.DeepEqual(c.Cause, other.Cause) ||
				c.Failure.Schedule != other.Failure.Schedule ||
				!reflect.DeepEqual(c.Failure.Deviations, other.Failure.Deviations) {
				t.Errorf("candidate %+v, want %+v", c, other)
			}
		}
	}
	if got.Failure != got.Distinct[0].First {
		t.Errorf("the first failure is %+v", got.Failure)
	}
}
