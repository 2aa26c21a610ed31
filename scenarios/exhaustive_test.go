package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func planned(t *testing.T, subject scenarios.Subject, clients, cycles int,
	plan string,
) scenarios.Scenario {
	t.Helper()
	parsed, err := faults.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	return scenarios.Scenario{Subject: subject, Clients: clients, Cycles: cycles, Faults: parsed}
}

func named(t *testing.T, name string) scenarios.Subject {
	t.Helper()
	subject, err := subjects.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return subject
}

// How many states a search stores changes only with the lock, the simulated server, or what a
// search takes to be the same or leaves out; whoever changes one of these should know that they
// did.
func TestStateCounts(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
		symmetry        bool
		states, runs    int
	}{
		{subjects.Textbook(), 1, 1, "none", false, 1, 1},
		{subjects.Textbook(), 2, 1, "none", false, 21, 14},
		{subjects.Textbook(), 2, 1, "none", true, 10, 7},
		{subjects.Textbook(), 2, 2, "none", false, 544, 471},
		{subjects.Textbook(), 3, 1, "none", true, 84, 78},
		{subjects.Textbook(), 3, 1, "none", false, 490, 468},
		{subjects.Textbook(), 1, 1, "any=1", false, 206, 280},
		{subjects.Textbook(), 2, 1, "crash=1", false, 155, 186},
		{subjects.Textbook(), 2, 1, "expire=1", false, 383, 422},
		{subjects.Herd(), 2, 1, "none", false, 21, 14},
		{subjects.Mutex(), 3, 1, "none", false, 1015, 1764},
	} {
		e := &scenarios.Exhaustive{
			Scenario: planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
			Symmetry: tc.symmetry,
		}
		r := e.Run(context.Background(), t)
		if !r.Complete || r.Failure != nil {
			t.Errorf("%v: complete %v, failure %+v", &e.Scenario, r.Complete, r.Failure)
		}
		if r.States != tc.states || r.Schedules != tc.runs {
			t.Errorf("%v, symmetry %v: %d states in %d runs, want %d in %d", &e.Scenario,
				tc.symmetry,
				r.States, r.Schedules, tc.states, tc.runs)
		}
	}
}

// Every broken lock is found in the smallest scenario in which it can break.
func TestBrokenLocksAreFound(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
		want            string // the property that breaks
	}{
		{subjects.NoRecheck(), 3, 1, "cancel=1", "server-mutual-exclusion"},
		{subjects.ExistsThenWait(), 2, 1, "none", "progress"},
		{subjects.NoGUID(), 1, 1, "lose-reply=1", "progress"},
		{subjects.LeakOnError(), 1, 1, "lose-reply=1", "no-leaked-nodes"},
		{subjects.DeleteOnce(), 1, 1, "cut=1", "no-leaked-nodes"},
		{subjects.DeafToExpiry(), 2, 1, "expire=1", "progress"},
		{subjects.NameOrder(), 2, 1, "none", "fifo"},
		{subjects.RetryProtected(), 1, 1, "lose-reply=1", "progress"},
		{subjects.PresumeExpiry(), 2, 2, "expire=1", "no-leaked-nodes"},
		{named(t, "silent-loss"), 1, 1, "any=1", "loss-notification"},
		{named(t, "stale-state"), 1, 1, "any=1", "no-leaked-nodes"},
		{named(t, "gives-up"), 1, 1, "any=1", "no-spurious-failure"},
		{named(t, "late-notice"), 2, 1, "cut=1", "client-mutual-exclusion"},
		{named(t, "uncounted"), 1, 1, "none", "reentrancy"},
		{named(t, "overcounted"), 1, 1, "none", "reentrancy"},
		{named(t, "clock-token"), 2, 1, "cut=1", "no-lost-update"},
		{named(t, "session-token"), 2, 1, "none", "monotonic-token"},
		{named(t, "unguarded"), 2, 1, "cut=1", "no-lost-update"},
		{named(t, "retry-loop"), 2, 2, "none", "no-starvation"},
		{named(t, "spin"), 2, 1, "crash=1", "no-livelock"},
		{named(t, "watch-first"), 3, 1, "none", "no-herd"},
		{named(t, "no-own-check"), 2, 1, "cut=1", "linearizable"},
		{named(t, "blind-clean-up"), 1, 1, "any=1", "progress"},
		{named(t, "forgotten-wait"), 2, 1, "cancel=1", "no-goroutine-leak"},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			e := &scenarios.Exhaustive{Scenario: planned(t, tc.subject, tc.clients, tc.cycles,
				tc.plan)}
			switch tc.subject.Name {
			case "spin": // Its schedules have no end.
				e.MaxDeviations = 1
			case "retry-loop": // It overtakes in schedules alone that become fair early.
				e.FairSuffixes = true
			}
			r := e.Run(context.Background(), t)
			if r.Failure == nil {
				t.Fatalf("nothing found in %v: complete %v after %d states", &e.Scenario,
					r.Complete, r.States)
			}
			if !slices.ContainsFunc(r.Failure.Violations,
				func(v *history.Violation) bool { return string(v.Property) == tc.want }) {
				t.Errorf("%v, want %s", r.Failure.Violations, tc.want)
			}
			if r.Complete {
				t.Error("a search that ended at a violation calls itself complete")
			}
			replayed := scenarios.NewRunner(t).Run(&e.Scenario,
				&scenarios.Replay{Deviations: r.Failure.Deviations})
			if len(replayed.Violations) == 0 {
				t.Error("the schedule does not fail when it is replayed")
			}
		})
	}
}

// ends returns what each process has lived through up to the end of a run, or until it has
// finished: the run ends with the last of them, so whether an event still reaches one that has
// finished before is a matter of who is the last. Runs that differ only in the order of steps that
// commute have this in common.
func ends(events []history.Event, processes int) string {
	lives := make([]strings.Builder, processes+2*scenarios.CyclesMax)
	finished := make([]bool, len(lives))
	for i := range events {
		if finished[events[i].Process] && events[i].Kind != history.FairPhase {
			continue
		}
		finished[events[i].Process] = events[i].Kind == history.Finished
		switch e := events[i]; e.Kind {
		case history.FairPhase:
			return join(lives)
		case history.LockCall, history.LockReturn, history.Enter, history.Leave, history.Lost,
			history.UnlockCall,
			history.UnlockReturn, history.Finished, history.Send, history.Reply, history.WatchEvent,
			history.Fault, history.Crashed:
			if e.Process == 0 {
				// In what phase a process is when a server is struck is no part of its life.
				e.Op = ""
			}
			fmt.Fprintf(&lives[e.Process], "%v %d %s %s %s;", e.Kind, e.Request, e.Op, e.Path,
				e.Err)
		}
	}
	return join(lives)
}

func join(lives []strings.Builder) string {
	var all []string
	for i := range lives {
		all = append(all, lives[i].String())
	}
	return strings.Join(all, "|")
}

// outcome is all that a search has found out.
type outcome struct {
	histories, verdicts map[string]bool
	report              *scenarios.Report
}

// search runs the campaign, or the exhaustive search that the environment asks for, as long as
// there is time.
func search(t *testing.T, e scenarios.Exhaustive) outcome {
	t.Helper()
	o := outcome{histories: make(map[string]bool), verdicts: make(map[string]bool)}
	e.Each = func(r *scenarios.Result) {
		for _, v := range r.Violations {
			o.verdicts[v.Signature()] = true
		}
		if !r.Pruned {
			o.histories[ends(r.Events, e.Scenario.Clients)] = true
		}
	}
	if o.report = e.Run(context.Background(), t); !o.report.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, o.report.States,
			o.report.Nondeterministic)
	}
	return o
}

// What the reduction leaves out is nothing new: without it the same histories, up to steps that
// commute, and the same verdicts. The scenarios are those in which no time passes for anybody who
// goes on.
func TestReductionLosesNothing(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
	}{
		{subjects.Textbook(), 2, 1, "none"},
		{subjects.Textbook(), 2, 1, "cancel=1"},
		{subjects.Mutex(), 2, 1, "none"},
		{subjects.Herd(), 2, 1, "none"},
		{subjects.ExistsThenWait(), 2, 1, "none"},
		{subjects.NameOrder(), 2, 1, "none"},
		{subjects.NoRecheck(), 2, 2, "none"},
		{named(t, "unguarded"), 2, 1, "none"},
		{named(t, "uncounted"), 2, 1, "none"},
		{noLock(), 2, 1, "none"},
		{noLock(), 3, 1, "none"},
	} {
		t.Run(tc.subject.Name+" "+tc.plan, func(t *testing.T) {
			// A live search tells all pasts of all processes apart, so that it comes to the end of
			// every history.
			e := scenarios.Exhaustive{
				Scenario:      planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
				NoReplayCache: true,
			}
			reduced := search(t, e)
			e.NoReduction = true
			whole := search(t, e)
			if !maps.Equal(reduced.verdicts, whole.verdicts) {
				t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(reduced.verdicts)),
					slices.Sorted(maps.Keys(whole.verdicts)))
			}
			if !maps.Equal(reduced.histories, whole.histories) {
				t.Errorf("%d histories, want %d", len(reduced.histories), len(whole.histories))
			}
			if reduced.report.States > whole.report.States {
				t.Errorf("%d states, and %d without the reduction", reduced.report.States,
					whole.report.States)
			}
		})
	}
}

// locals returns all that single processes have lived through in the runs of a search, up to any
// moment. What the client asks for by itself, and how it is answered, does not reach the process.
func locals(t *testing.T, e scenarios.Exhaustive) (lives, verdicts map[string]bool,
	r *scenarios.Report,
) {
	t.Helper()
	lives, verdicts = make(map[string]bool), make(map[string]bool)
	e.Each = func(result *scenarios.Result) {
		for _, v := range result.Violations {
			verdicts[v.Signature()] = true
		}
		so := make(map[int32]string)
		for i := range result.Events {
			e := &result.Events[i]
			if e.Kind == history.FairPhase {
				break
			}
			if e.Op == "connect" || e.Op == "set-watches" {
				continue
			}
			switch e.Kind {
			case history.LockCall, history.LockReturn, history.Enter, history.Leave, history.Lost,
				history.UnlockCall,
				history.UnlockReturn, history.Finished, history.Send, history.Reply,
				history.WatchEvent,
				history.SessionState:
				so[e.Process] += fmt.Sprintf("%v %v %d %s %s %s %s;", e.At, e.Kind, e.Request, e.Op,
					e.Path,
					e.Name, e.Err)
				lives[fmt.Sprint(e.Process, so[e.Process])] = true
			}
		}
	}
	if r = e.Run(context.Background(), t); !r.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, r.States, r.Nondeterministic)
	}
	return lives, verdicts, r
}

// A search that remembers what the processes' code does misses nothing of what a search that runs
// it in every schedule finds, though that tells all pasts of all processes apart: whatever can
// happen to a process does, and the same properties break. Every single run is performed for real
// besides, and must come to the same, event by event.
func TestRehearsalLosesNothing(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
	}{
		{subjects.Textbook(), 2, 1, "none"},
		{subjects.Textbook(), 1, 1, "any=1"},
		{subjects.Textbook(), 2, 1, "crash=1"},
		{subjects.Textbook(), 2, 1, "cancel=1"},
		{subjects.Mutex(), 2, 1, "none"},
		{subjects.Mutex(), 1, 1, "any=1"},
		{subjects.Herd(), 2, 1, "none"},
		{subjects.ExistsThenWait(), 2, 1, "none"},
		{subjects.NameOrder(), 2, 1, "none"},
		{subjects.LeakOnError(), 1, 1, "any=1"},
		{subjects.NoGUID(), 1, 1, "any=1"},
		{subjects.DeleteOnce(), 1, 2, "cut=1"},
		{noLock(), 3, 1, "none"},
		{panics(), 2, 1, "none"},
		{subjects.Textbook(), 2, 1, "pause=1"},
		{subjects.Textbook(), 2, 1, "restart=1"},
		{subjects.Textbook(), 2, 1, "stall-requests=1"},
		{subjects.Textbook(), 2, 1, "slow-client=1"},
		{subjects.Textbook(), 2, 1, "jump-clock=1,fast-clock=1"},
		{subjects.Textbook(), 2, 1, "cut@hold=1"},
		{subjects.Mutex(), 1, 1, "restart=1"},
		{named(t, "unguarded"), 2, 1, "pause=1"},
		{named(t, "clock-token"), 2, 1, "none"},
	} {
		t.Run(fmt.Sprintf("%s %d×%d %s", tc.subject.Name, tc.clients, tc.cycles, tc.plan),
			func(t *testing.T) {
				e := scenarios.Exhaustive{
					Scenario:           planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
					ValidationInterval: 1, NoMerge: true,
				}
				lives, verdicts, r := locals(t, e)
				e.NoReplayCache = true
				wantLives, wantVerdicts, want := locals(t, e)
				if !maps.Equal(verdicts, wantVerdicts) {
					t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(verdicts)),
						slices.Sorted(maps.Keys(wantVerdicts)))
				}
				if !maps.Equal(lives, wantLives) {
					t.Errorf("%d lives of processes, want %d", len(lives), len(wantLives))
				}
				if r.Validated != r.Schedules || r.States > want.States {
					t.Errorf("%d of %d schedules performed for real; %d states, and %d in a live "+
						"search",
						r.Validated, r.Schedules, r.States, want.States)
				}
			})
	}
}

// Of several servers the ones that lag behind are a part of the search: a lock that takes what a
// follower says for the truth is found.
func TestExhaustiveOnSeveralServers(t *testing.T) {
	for _, tc := range []struct {
		subject             scenarios.Subject
		clients             int
		plan                string
		states, runs, lives int
	}{
		{subjects.Textbook(), 2, "none", 108, 98, 0},
		{subjects.ExistsThenWait(), 2, "none", 104, 98, 0},
		{subjects.Textbook(), 1, "kill-server=1", 471, 604, 318},
		{subjects.Textbook(), 1, "reset=1", 82, 77, 226},
		{subjects.NoGUID(), 1, "lose-reply=1", 63, 50, 0},
	} {
		t.Run(fmt.Sprintf("%s %d×1 %s", tc.subject.Name, tc.clients, tc.plan), func(t *testing.T) {
			e := scenarios.Exhaustive{
				Scenario:           planned(t, tc.subject, tc.clients, 1, tc.plan),
				ValidationInterval: 1, NoMerge: true,
			}
			e.Scenario.Servers = 3
			lives, verdicts, r := locals(t, e)
			if r.States != tc.states || r.Schedules != tc.runs {
				t.Errorf("%d states in %d runs, want %d in %d", r.States, r.Schedules, tc.states,
					tc.runs)
			}
			e.NoReplayCache = true
			wantLives, wantVerdicts, _ := locals(t, e)
			for life := range lives {
				delete(wantLives, life)
			}
			if len(wantLives) > 0 || tc.lives > 0 && len(lives) != tc.lives ||
				!maps.Equal(verdicts, wantVerdicts) {
				t.Errorf("%d lives and verdicts %v, want %d and %v, %d more", len(lives), verdicts,
					tc.lives,
					wantVerdicts, len(wantLives))
			}
			reduced := search(t, e)
			e.NoReduction = true
			whole := search(t, e)
			if !maps.Equal(reduced.verdicts, whole.verdicts) ||
				!maps.Equal(reduced.histories, whole.histories) {
				t.Errorf("reduced, %d histories and verdicts %v, want %d and %v",
					len(reduced.histories), reduced.verdicts, len(whole.histories), whole.verdicts)
			}
		})
	}
}

// A search that is interrupted and goes on ends as one that is not. With a checkpoint all pasts are
// told apart.
func TestCheckpoint(t *testing.T) {
	for _, fair := range []bool{false, true} {
		testCheckpoint(t, 30, scenarios.Exhaustive{Scenario: planned(t, subjects.Textbook(), 2, 1,
			"cancel=1"), FairSuffixes: fair})
	}
	testCheckpoint(t, 7, scenarios.Exhaustive{Scenario: planned(t, cutShort(), 2, 1, "cut:c1=1")})
}

// testCheckpoint compares a search that is broken off after so many schedules, over and over, with
// one that is not.
func testCheckpoint(t *testing.T, schedules int, search scenarios.Exhaustive) {
	t.Helper()
	search.NoMerge = true
	parts, runs := 0, 0
	search.Each = func(*scenarios.Result) { runs++ }
	whole := search.Run(context.Background(), t)
	runs = 0
	file := filepath.Join(t.TempDir(), "checkpoint")
	var r *scenarios.Report
	for until := schedules; r == nil || !r.Complete; until += schedules {
		e := search
		e.NoMerge, e.Schedules, e.Checkpoint = false, until, file
		if err := e.Resume(t); err != nil {
			t.Fatal(err)
		}
		if r = e.Run(context.Background(), t); r.Unsaved != nil {
			t.Fatal(r.Unsaved)
		}
		parts++
	}
	if parts < 3 || runs != whole.Schedules {
		t.Errorf("%d runs in %d parts, want %d", runs, parts, whole.Schedules)
	}
	if r.Digest != whole.Digest || r.Schedules != whole.Schedules || r.Steps != whole.Steps ||
		r.States != whole.States ||
		r.Transitions != whole.Transitions || r.Depth != whole.Depth ||
		r.Coverage != whole.Coverage ||
		r.Scope != whole.Scope {
		t.Errorf("in parts\n%+v, at once\n%+v", r, whole)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the checkpoint of a search that has ended still stands: %v", err)
	}
}

// Nobody goes on from what is no checkpoint of the same search.
func TestCheckpointsThatDoNotFit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoint")
	other := &scenarios.Exhaustive{
		Scenario:  planned(t, subjects.Textbook(), 2, 1, "none"),
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
		{"cut short", string(written[:len(written)/2]), subjects.Textbook(), "not a whole one"},
		{
			"of a later version", strings.Replace(string(written), `"version":4`, `"version":5`, 1),
			subjects.Textbook(), "version 5",
		},
		{
			"with a state too little", strings.Replace(string(written), `"seen":"`, `"seen":"AAAA`,
				1),
			subjects.Textbook(), "not whole",
		},
		{
			"with states that are none", strings.Replace(string(written), `"seen":"`, `"seen":"!`,
				1),
			subjects.Textbook(), "not whole",
		},
		{
			"of something else", `{"format":"interlock-schedule"}`, subjects.Textbook(),
			"not a checkpoint",
		},
	} {
		if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		e := &scenarios.Exhaustive{Scenario: planned(t, tc.subject, 2, 1, "none"), Checkpoint: file}
		if err := e.Resume(t); err == nil || !strings.Contains(err.Error(), tc.want) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want an error that names the file and says %q", tc.name, err, tc.want)
		}
	}
}

// A search that begins the fair phase in every state is another one, and what cannot be read is
// none.
func TestCheckpointsOfOtherSearches(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "checkpoint")
	plain := &scenarios.Exhaustive{
		Scenario:  planned(t, subjects.Textbook(), 2, 1, "none"),
		Schedules: 5, Checkpoint: file,
	}
	if err := plain.Resume(t); err != nil {
		t.Fatal(err)
	}
	plain.Run(context.Background(), t)
	fair := &scenarios.Exhaustive{Scenario: plain.Scenario, FairSuffixes: true, Checkpoint: file}
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

// With faults after which time passes, histories differ in when things happened, but not in whether
// they were right.
func TestReductionKeepsVerdicts(t *testing.T) {
	for _, tc := range []struct {
		subject scenarios.Subject
		clients int
		plan    string
	}{
		{subjects.Textbook(), 1, "any=1"},
		{subjects.NoGUID(), 1, "any=1"},
		{subjects.LeakOnError(), 1, "any=1"},
		{subjects.DeleteOnce(), 1, "any=1"},
		{subjects.RetryProtected(), 1, "any=1"},
		{subjects.PresumeExpiry(), 1, "any=1"},
		{subjects.Mutex(), 1, "any=1"},
		{subjects.Textbook(), 2, "crash=1"},
		{subjects.Textbook(), 2, "restart=1"},
		{subjects.Textbook(), 2, "cut:c2@release=1,delay-rewatch=1"},
		{subjects.DeafToExpiry(), 2, "expire=1"},
		{named(t, "deaf-holder"), 2, "close-session:c1=1"},
		{named(t, "unguarded"), 2, "pause=1"},
		{named(t, "clock-token"), 2, "crash=1"},
		{named(t, "session-token"), 2, "none"},
		{noLock(), 3, "none"},
	} {
		e := scenarios.Exhaustive{Scenario: planned(t, tc.subject, tc.clients, 1, tc.plan)}
		reduced := search(t, e)
		e.NoReduction = true
		whole := search(t, e)
		if !maps.Equal(reduced.verdicts, whole.verdicts) {
			t.Errorf("%v: verdicts %v, want %v", &e.Scenario,
				slices.Sorted(maps.Keys(reduced.verdicts)),
				slices.Sorted(maps.Keys(whole.verdicts)))
		}
	}
}

// Time that passes where nothing waits for it changes nothing for a lock that looks at no clock.
func TestSlackChangesNothing(t *testing.T) {
	for _, subject := range []scenarios.Subject{
		subjects.Textbook(), subjects.ExistsThenWait(),
		subjects.NameOrder(),
	} {
		e := scenarios.Exhaustive{Scenario: planned(t, subject, 2, 1, "none"), NoMerge: true}
		want := search(t, e)
		e.IdleTicks = 2
		got := search(t, e)
		if !maps.Equal(got.verdicts, want.verdicts) || !maps.Equal(got.histories, want.histories) {
			t.Errorf("%s: %d histories and verdicts %v, want %d and %v", subject.Name,
				len(got.histories),
				got.verdicts, len(want.histories), want.verdicts)
		}
	}
}

// What is found does not depend on which process is which.
func TestSymmetryKeepsVerdicts(t *testing.T) {
	for _, subject := range []scenarios.Subject{
		subjects.Textbook(), subjects.ExistsThenWait(),
		subjects.NoGUID(), subjects.DeafToExpiry(), noLock(),
	} {
		e := scenarios.Exhaustive{Scenario: planned(t, subject, 2, 1, "lose-reply=1")}
		want := search(t, e)
		e.Symmetry = true
		if got := search(t, e); !maps.Equal(got.verdicts, want.verdicts) {
			t.Errorf("%s: verdicts %v, want %v", subject.Name, got.verdicts, want.verdicts)
		}
	}
}

// A search by deviations runs each schedule with so few deviations once, deepens only when it has
// them all, and finds what whole searches have no end of.
func TestExhaustiveByDeviations(t *testing.T) {
	ran := make(map[string]int)
	e := &scenarios.Exhaustive{
		Scenario:      planned(t, subjects.Textbook(), 2, 1, "none"),
		MaxDeviations: 2,
	}
	e.Each = func(r *scenarios.Result) {
		if len(r.Deviations) > 2 {
			t.Errorf("%d deviations", len(r.Deviations))
		}
		ran[fmt.Sprint(r.Deviations)]++
	}
	r := e.Run(context.Background(), t)
	if !r.Complete || r.Deviations != 2 || !strings.Contains(r.Scope, "at most 2 times") {
		t.Errorf("complete %v, %d deviations, scope %q", r.Complete, r.Deviations, r.Scope)
	}
	// The one without any and those with one are run with each bound.
	if repeated := r.Schedules - len(ran); ran["[]"] != 2 || repeated < 10 ||
		repeated > len(ran)/4 {
		t.Errorf("%d different schedules in %d, the default policy %d times", len(ran), r.Schedules,
			ran["[]"])
	}
	e.Schedules, e.Each = r.Schedules/2, nil
	if r := e.Run(context.Background(), t); r.Complete || r.Deviations != 1 {
		t.Errorf("cut short: complete %v, %d deviations", r.Complete, r.Deviations)
	}
}

func TestExhaustiveBounds(t *testing.T) {
	e := &scenarios.Exhaustive{
		Scenario:  planned(t, subjects.Textbook(), 3, 1, "none"),
		Schedules: 10,
	}
	if r := e.Run(context.Background(), t); r.Complete || r.Schedules != 10 || r.Untried == 0 {
		t.Errorf("complete %v after %d schedules with %d steps open", r.Complete, r.Schedules,
			r.Untried)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := e.Run(ctx, t); !r.Interrupted || r.Complete {
		t.Errorf("interrupted %v, complete %v", r.Interrupted, r.Complete)
	}
	runtime.GC() // Or else nobody might know yet what the heap holds.
	e.Schedules, e.MemoryLimit = 0, 1
	if r := e.Run(context.Background(), t); !r.MemoryExhausted || r.Complete || r.Schedules == 0 ||
		r.Schedules > 100 || r.Untried == 0 {
		t.Errorf("full %v, complete %v after %d schedules with %d steps open", r.MemoryExhausted,
			r.Complete, r.Schedules, r.Untried)
	}
	e.MemoryLimit = math.MaxInt64
	if r := e.Run(context.Background(), t); r.MemoryExhausted || !r.Complete {
		t.Errorf("with memory for all: full %v, complete %v", r.MemoryExhausted, r.Complete)
	}
}

// The same search goes the same way.
func TestExhaustiveIsDeterministic(t *testing.T) {
	e := &scenarios.Exhaustive{
		Scenario:  planned(t, subjects.Textbook(), 2, 1, "any=1"),
		Schedules: 1000,
	}
	first, second := e.Run(context.Background(), t), e.Run(context.Background(), t)
	if first.Digest != second.Digest || first.States != second.States {
		t.Errorf("digests %x and %x, %d and %d states", first.Digest, second.Digest, first.States,
			second.States)
	}
}

// A lock that does not run the same way twice is noticed by the way to a state, which does not lead
// there again.
func TestExhaustiveNoticesNondeterminism(t *testing.T) {
	for _, live := range []bool{false, true} {
		e := &scenarios.Exhaustive{
			Scenario:      planned(t, fickle(), 2, 1, "none"),
			NoReplayCache: live,
		}
		e.Scenario.Subject.Claims = nil
		if r := e.Run(context.Background(), t); r.Nondeterministic == nil || r.Complete {
			t.Errorf("live %v: a lock that behaves differently every time was not noticed: %+v",
				live, r)
		}
	}
}

// first takes the first option, and so decides by the state alone, where the default policy looks
// at ages too.
type first struct {
	replay scenarios.Replay
	from   int // the index of the first decision of its own
}

func (f *first) Choose(index int, options []scenarios.EnabledStep, usual int) int {
	if index < f.from {
		return f.replay.Choose(index, options, usual)
	}
	return 0
}

// future returns what a run comes to that goes on by itself from a decision on, and the state key
// at that decision.
func future(runner *scenarios.Runner, s *scenarios.Scenario, deviations []scenarios.Deviation,
	from int,
) (string, uint64) {
	result := runner.Run(s, &first{replay: scenarios.Replay{Deviations: deviations}, from: from})
	text := ends(result.Events, s.Clients)
	for _, v := range result.Violations {
		text += v.Signature()
	}
	return text, result.Keys[from-1]
}

// Two states with equal keys have equal futures.
func TestEqualKeysHaveEqualFutures(t *testing.T) {
	type state struct {
		deviations []scenarios.Deviation
		steps      int
	}
	for _, subject := range []scenarios.Subject{
		subjects.Textbook(), subjects.Mutex(),
		subjects.RetryProtected(),
	} {
		runner, pairs := scenarios.NewRunner(t), 0
		s := planned(t, subject, 2, 1, "any=1")
		seen := make(map[uint64]state)
		for schedule := range 300 {
			result := runner.Run(&s, scenarios.NewRandom(4, schedule))
			keys, deviations := slices.Clone(result.Keys), result.Deviations
			for i, key := range keys {
				until := slices.IndexFunc(deviations,
					func(d scenarios.Deviation) bool { return d.Index > i })
				if until < 0 {
					until = len(deviations)
				}
				now := state{deviations[:until], i + 1}
				before, ok := seen[key]
				if !ok {
					seen[key] = now
					continue
				}
				if slices.Equal(before.deviations, now.deviations) || i%7 != 0 {
					continue
				}
				pairs++
				one, oneKey := future(runner, &s, before.deviations, before.steps)
				two, twoKey := future(runner, &s, now.deviations, now.steps)
				if oneKey != key || twoKey != key {
					continue // The liveness phase had begun.
				}
				if one != two {
					t.Fatalf("%s: after %v and %v:\n%s\n\n%s", subject.Name, before.deviations,
						now.deviations,
						one, two)
				}
			}
		}
		if pairs < 20 {
			t.Errorf("%s: only %d pairs of ways to the same state", subject.Name, pairs)
		}
	}
}
