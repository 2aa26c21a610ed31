package exhaustive_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A search that is interrupted and resumed reports the same as an uninterrupted search.
func TestCheckpoint(t *testing.T) {
	for _, fair := range long.Sample([]bool{true, false}, 1) {
		testCheckpoint(t, 50, exhaustive.Search{Scenario: locktest.Planned(t, subjects.Textbook(),
			2, 1, "cancel=1"), FairSuffixes: fair})
	}
	testCheckpoint(t, 7, exhaustive.Search{Scenario: locktest.Planned(t, cutShort(), 2, 1,
		"cut:c1=1")})
	testCheckpoint(t, 30, exhaustive.Search{
		Scenario: locktest.Planned(t, subjects.Textbook(), 2, 1, "cancel=1"), NoMerge: true,
	})
}

// testCheckpoint compares a search that is repeatedly interrupted after the given number of
// schedules with an uninterrupted search.
func testCheckpoint(t *testing.T, schedules int, search exhaustive.Search) {
	t.Helper()
	parts, runs := 0, 0
	search.Each = func(*engine.Result) { runs++ }
	uninterrupted := search.Run(context.Background(), t)
	runs = 0
	file := filepath.Join(t.TempDir(), "checkpoint")
	var r *report.Exhaustive
	for until := schedules; r == nil || !r.Complete; until += schedules {
		e := search
		e.Schedules, e.Checkpoint = until, file
		if err := e.Resume(t); err != nil {
			t.Fatal(err)
		}
		if r = e.Run(context.Background(), t); r.Unsaved != nil {
			t.Fatal(r.Unsaved)
		}
		parts++
	}
	if parts < 3 || runs != uninterrupted.Schedules {
		t.Errorf("%d runs in %d parts, want %d runs", runs, parts, uninterrupted.Schedules)
	}
	if r.Digest != uninterrupted.Digest || r.Schedules != uninterrupted.Schedules ||
		r.Steps != uninterrupted.Steps ||
		r.States != uninterrupted.States ||
		r.Transitions != uninterrupted.Transitions || r.Depth != uninterrupted.Depth ||
		r.Coverage != uninterrupted.Coverage ||
		!search.NoMerge && (r.LocalHistories != uninterrupted.LocalHistories ||
			r.Validated != uninterrupted.Validated) ||
		r.Scope.String() != uninterrupted.Scope.String() {
		t.Errorf("interrupted\n%+v, uninterrupted\n%+v", r, uninterrupted)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the checkpoint of a completed search still exists: %v", err)
	}
}

// Wherever a search of a bundled lock is interrupted, the resumed one reports the same, also what it
// has found.
func TestCheckpointOfEveryLock(t *testing.T) {
	locks := subjects.All()
	compared := 0
	for _, lock := range long.Sample(locks, 2) {
		for _, plan := range []string{"none", "any=1"} {
			search := searchOf(t, lock.Name, 2, 1, 1, plan)
			search.KeepGoing, search.Schedules = true, 600
			want := search.Run(context.Background(), t)
			if want.LocalHistories == 0 { // Without cached reactions nothing is merged.
				continue
			}
			compared++
			compareInterrupted(t, search, want, []int{1, 7, 100, 350, 600})
		}
	}
	if compared < long.Count(2, 4) {
		t.Errorf("only %d searches are compared", compared)
	}
}

// A run that comes to a state of its own path again, because the lock spins, must not take it for
// one whose continuations are all known, also after the search was resumed.
func TestCheckpointOfRecurringStates(t *testing.T) {
	long.Only(t)
	search := searchOf(t, "spin", 2, 1, 1, "crash=1")
	search.KeepGoing, search.Schedules = true, 1500
	compareInterrupted(t, search, search.Run(context.Background(), t),
		[]int{3, 40, 170, 400, 900, 1500})
}

// compareInterrupted interrupts a search after each of the numbers of schedules, of which the last
// is its bound, and compares it with the report of the uninterrupted one.
func compareInterrupted(t *testing.T, search exhaustive.Search, want *report.Exhaustive,
	schedules []int,
) {
	t.Helper()
	search.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	var got *report.Exhaustive
	for _, until := range schedules {
		e := search
		e.Schedules = min(until, want.Schedules)
		if err := e.Resume(t); err != nil {
			t.Fatalf("%v: %v", &e.Scenario, err)
		}
		if got = e.Run(context.Background(), t); got.Unsaved != nil {
			t.Fatalf("%v: %v", &e.Scenario, got.Unsaved)
		}
		if got.Complete || got.Differing > 0 || until >= want.Schedules {
			break
		}
	}
	if !reflect.DeepEqual(withoutTime(got), withoutTime(want)) ||
		got.Scope.String() != want.Scope.String() {
		t.Errorf("%v: interrupted\n%+v, uninterrupted\n%+v", &search.Scenario, got, want)
	}
}

// A search that is cancelled again and again, after any number of runs, reports the same in the end.
func TestCheckpointOfCancelledSearch(t *testing.T) {
	search := exhaustive.Search{
		Scenario: locktest.Planned(t, subjects.Textbook(), 2, 1, "crash=1"), KeepGoing: true,
	}
	want := search.Run(context.Background(), t)
	search.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	var got *report.Exhaustive
	parts := 0
	for got == nil || !got.Complete {
		parts++
		e, left := search, parts
		ctx, cancel := context.WithCancel(context.Background())
		e.Each = func(*engine.Result) {
			if left--; left == 0 {
				cancel()
			}
		}
		if err := e.Resume(t); err != nil {
			t.Fatal(err)
		}
		if got = e.Run(ctx, t); got.Unsaved != nil || got.Interrupted == got.Complete {
			t.Fatalf("%+v", got)
		}
		cancel()
	}
	if parts < 10 || !reflect.DeepEqual(withoutTime(got), withoutTime(want)) ||
		got.Scope.String() != want.Scope.String() {
		t.Errorf("in %d parts\n%+v, uninterrupted\n%+v", parts, got, want)
	}
}

// A checkpoint does not fit a lock whose code reacts in another way in some schedule, although its
// default schedule is the same.
func TestCheckpointOfOtherReactions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoint")
	before := &exhaustive.Search{
		Scenario:   locktest.Planned(t, subjects.Textbook(), 2, 1, "cancel=1"),
		Checkpoint: file, Schedules: 100,
	}
	if err := before.Resume(t); err != nil {
		t.Fatal(err)
	}
	before.Run(context.Background(), t)
	after := &exhaustive.Search{
		Scenario:   locktest.Planned(t, asksWhenCancelled(), 2, 1, "cancel=1"),
		Checkpoint: file,
	}
	if err := after.Resume(t); err == nil || !strings.Contains(err.Error(), "does not run as before") ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
}

// asksWhenCancelled is the textbook lock that asks for something once an attempt has been cancelled.
func asksWhenCancelled() scenarios.Subject {
	s := subjects.Textbook()
	open := s.Open
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			hold, err := locker.Lock(ctx)
			if err != nil {
				_, _, _ = p.Client.Exists(p.Directory)
			}
			return hold, err
		}), err
	}
	return s
}

// withoutTime returns a report without its time, without its scenario, whose functions compare
// unequal, and without the histories of violations.
func withoutTime(r *report.Exhaustive) report.Exhaustive {
	timeless := *r
	timeless.Elapsed, timeless.Failure, timeless.OutOfContract = 0, nil, nil
	timeless.Distinct, timeless.DistinctOutOfContract = nil, nil
	timeless.Scope.Scenario = nil
	for _, d := range r.Distinct {
		d.First = &report.Failure{Schedule: d.First.Schedule, Deviations: d.First.Deviations}
		d.Candidates = slices.Clone(d.Candidates)
		for i, c := range d.Candidates {
			d.Candidates[i].Failure = &report.Failure{
				Schedule: c.Failure.Schedule, Deviations: c.Failure.Deviations,
			}
		}
		timeless.Distinct = append(timeless.Distinct, d)
	}
	return timeless
}

// Resume rejects a file that is not a checkpoint of the same search.
func TestCheckpointRejections(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoint")
	other := &exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.Textbook(), 2, 1, "none"),
		Schedules: 5, Checkpoint: file,
	}
	if err := other.Resume(t); err != nil {
		t.Fatal(err)
	}
	other.Run(context.Background(), t)
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, content string
		subject       scenarios.Subject
		want          string
	}{
		{"of another search", string(written), subjects.Herd(), "is of another search"},
		{"of one that begins the fair phase", strings.Replace(string(written), "live false",
			"live false, fair", 1), subjects.Textbook(), "is of another search"},
		{"of other code", string(written), renamed(subjects.Herd(), "textbook"), "another version"},
		{
			"of another build",
			regexp.MustCompile(`"program":"[0-9a-f]{64}"`).ReplaceAllString(string(written),
				`"program":"0"`), subjects.Textbook(), "another build",
		},
		{"cut short", string(written[:len(written)/2]), subjects.Textbook(), "is damaged"},
		{
			"of a later version", strings.Replace(string(written), `"version":8`, `"version":9`, 1),
			subjects.Textbook(), "version 8",
		},
		{
			"with a state missing", strings.Replace(string(written), `"seen":"`, `"seen":"AAAA`,
				1),
			subjects.Textbook(), "is damaged",
		},
		{
			"with malformed states", strings.Replace(string(written), `"seen":"`, `"seen":"!`,
				1),
			subjects.Textbook(), "is damaged",
		},
		{
			"of something else", `{"format":"interlock-schedule"}`, subjects.Textbook(),
			"not a checkpoint",
		},
	} {
		if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		e := &exhaustive.Search{
			Scenario:   locktest.Planned(t, tc.subject, 2, 1, "none"),
			Checkpoint: file,
		}
		if err := e.Resume(t); err == nil || !strings.Contains(err.Error(), tc.want) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want an error that names the file and contains %q", tc.name, err,
				tc.want)
		}
	}
}

// A checkpoint with a flipped bit is refused, whether states are merged or not.
func TestDamagedCheckpoint(t *testing.T) {
	for _, plain := range []bool{false, true} {
		e := &exhaustive.Search{
			Scenario:   locktest.Planned(t, subjects.Textbook(), 2, 1, "none"),
			Checkpoint: filepath.Join(t.TempDir(), "checkpoint"), Schedules: 2,
			NoMerge: plain,
		}
		if err := e.Resume(t); err != nil {
			t.Fatal(err)
		}
		e.Run(t.Context(), t)
		written, err := os.ReadFile(e.Checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			damaged, at := bytes.Clone(written), i*(len(written)-1)/39
			damaged[at] ^= 1 << (i % 8)
			if err := os.WriteFile(e.Checkpoint, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := e.Resume(t); err == nil || !strings.Contains(err.Error(), e.Checkpoint) {
				t.Errorf("not merged %v: byte %d of %d: %v", plain, at, len(written), err)
			}
		}
	}
}

// A search that begins the fair phase in every state is a different search, and an unreadable
// checkpoint is an error.
func TestCheckpointsOfOtherSearches(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "checkpoint")
	plain := &exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.Textbook(), 2, 1, "none"),
		Schedules: 5, Checkpoint: file,
	}
	if err := plain.Resume(t); err != nil {
		t.Fatal(err)
	}
	plain.Run(context.Background(), t)
	fair := &exhaustive.Search{Scenario: plain.Scenario, FairSuffixes: true, Checkpoint: file}
	if err := fair.Resume(t); err == nil || !strings.Contains(err.Error(), "is of another search") {
		t.Errorf("with the fair phase: %v", err)
	}
	fair.Checkpoint = directory
	if err := fair.Resume(t); err == nil || !strings.Contains(err.Error(), directory) {
		t.Errorf("from a directory: %v", err)
	}
}

func renamed(s scenarios.Subject, name string) scenarios.Subject {
	s.Name = name
	return s
}
