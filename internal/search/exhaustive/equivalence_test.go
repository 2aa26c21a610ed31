package exhaustive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// processHistories returns the history of each process until it finishes or the run ends. Whether
// an event still reaches a finished process depends on which process is the last. Runs that differ
// only in the order of independent steps have equal process histories.
func processHistories(events []history.Event, processes int) string {
	prefixes := make([]strings.Builder, processes+2*scenarios.CyclesMax)
	finished := make([]bool, len(prefixes))
	for i := range events {
		if finished[events[i].Process] && events[i].Kind != history.FairPhase {
			continue
		}
		finished[events[i].Process] = events[i].Kind == history.Finished
		switch e := events[i]; e.Kind {
		case history.FairPhase:
			return joinHistories(prefixes)
		case history.LockCall, history.LockReturn, history.Enter, history.Leave, history.Lost,
			history.UnlockCall,
			history.UnlockReturn, history.Finished, history.Send, history.Reply, history.WatchEvent,
			history.Fault, history.Crashed:
			if e.Process == 0 {
				// The phase of a process at a server fault is not part of its history.
				e.Op = ""
			}
			fmt.Fprintf(&prefixes[e.Process], "%v %d %s %s %s;", e.Kind, e.Request, e.Op, e.Path,
				e.Err)
		}
	}
	return joinHistories(prefixes)
}

func joinHistories(prefixes []strings.Builder) string {
	var all []string
	for i := range prefixes {
		all = append(all, prefixes[i].String())
	}
	return strings.Join(all, "|")
}

// outcome is the result of a search.
type outcome struct {
	histories, verdicts map[string]bool
	report              *report.Exhaustive
}

func search(t *testing.T, e exhaustive.Search) outcome {
	t.Helper()
	o := outcome{histories: make(map[string]bool), verdicts: make(map[string]bool)}
	e.Each = func(r *engine.Result) {
		for _, v := range r.Violations {
			o.verdicts[v.Signature()] = true
		}
		if !r.Pruned {
			o.histories[processHistories(r.Events, e.Scenario.Clients)] = true
		}
	}
	if o.report = e.Run(context.Background(), t); !o.report.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, o.report.States,
			o.report.Nondeterministic)
	}
	return o
}

// Partial-order reduction loses nothing: without it, a search has the same histories, up to
// independent steps, and the same verdicts. In these scenarios no time passes for a process that
// can continue.
func TestReductionLosesNothing(t *testing.T) {
	for _, tc := range long.Sample([]struct {
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
		{locktest.Named(t, "unguarded"), 2, 1, "none"},
		{locktest.Named(t, "uncounted"), 2, 1, "none"},
		{locktest.NoLock(), 2, 1, "none"},
		{locktest.NoLock(), 3, 1, "none"},
	}, 3) {
		t.Run(tc.subject.Name+" "+tc.plan, func(t *testing.T) {
			// Without a replay cache, a search distinguishes all local histories, and therefore
			// completes every history.
			e := exhaustive.Search{
				Scenario:      locktest.Planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
				NoReplayCache: true,
			}
			reduced := search(t, e)
			e.NoReduction = true
			unreduced := search(t, e)
			if !maps.Equal(reduced.verdicts, unreduced.verdicts) {
				t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(reduced.verdicts)),
					slices.Sorted(maps.Keys(unreduced.verdicts)))
			}
			if !maps.Equal(reduced.histories, unreduced.histories) {
				t.Errorf("%d histories, want %d", len(reduced.histories), len(unreduced.histories))
			}
			if reduced.report.States > unreduced.report.States {
				t.Errorf("%d states, without reduction %d", reduced.report.States,
					unreduced.report.States)
			}
		})
	}
}

// A processPrefix stands for a prefix of the history of one process, by the hash of its events.
type processPrefix struct {
	process int32
	hash    uint64
}

// processPrefixes returns all prefixes of the histories of single processes in the runs of a
// search; the value reports whether the prefix goes on after the end of its process, which no
// checker considers. It omits the client's own requests and their replies, which do not reach the
// process.
func processPrefixes(t *testing.T, e exhaustive.Search) (prefixes map[processPrefix]bool,
	verdicts map[string]bool, r *report.Exhaustive,
) {
	t.Helper()
	prefixes, verdicts = make(map[processPrefix]bool), make(map[string]bool)
	e.Each = func(result *engine.Result) {
		for _, v := range result.Violations {
			verdicts[v.Signature()] = true
		}
		hashes, finished := make(map[int32]uint64), make(map[int32]bool)
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
				history.UnlockCall, history.UnlockReturn, history.Finished, history.Send,
				history.Reply, history.WatchEvent, history.SessionState:
				hashes[e.Process] = hashEvent(hashes[e.Process], &history.Event{
					At: e.At, Kind: e.Kind, Request: e.Request, Op: e.Op, Path: e.Path,
					Name: e.Name, Err: e.Err,
				})
				prefixes[processPrefix{e.Process, hashes[e.Process]}] = finished[e.Process]
				finished[e.Process] = finished[e.Process] || e.Kind == history.Finished
			}
		}
	}
	if r = e.Run(context.Background(), t); !r.Complete {
		t.Fatalf("%v: not complete after %d states, %v", &e.Scenario, r.States, r.Nondeterministic)
	}
	return prefixes, verdicts, r
}

// A search with cached reactions finds everything that a search finds that runs the code in every
// schedule and distinguishes all local histories: the same process histories and the same
// violations. In addition, every schedule is validated with live goroutines, event by event.
func TestReplayCacheLosesNothing(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
	}{
		{subjects.Textbook(), 2, 1, "none"},
		{subjects.Mutex(), 1, 1, "any=1"},
		{subjects.Textbook(), 2, 1, "crash=1"},
		{subjects.Textbook(), 2, 1, "cancel=1"},
		{subjects.Mutex(), 2, 1, "none"},
		{subjects.Textbook(), 1, 1, "any=1"},
		{subjects.Herd(), 2, 1, "none"},
		{subjects.ExistsThenWait(), 2, 1, "none"},
		{subjects.NameOrder(), 2, 1, "none"},
		{subjects.LeakOnError(), 1, 1, "any=1"},
		{subjects.NoGUID(), 1, 1, "any=1"},
		{subjects.DeleteOnce(), 1, 2, "cut=1"},
		{locktest.NoLock(), 3, 1, "none"},
		{locktest.Panics(), 2, 1, "none"},
		{subjects.Textbook(), 2, 1, "pause=1"},
		{subjects.Textbook(), 2, 1, "restart=1"},
		{subjects.Textbook(), 2, 1, "stall-requests=1"},
		{subjects.Textbook(), 2, 1, "slow-client=1"},
		{subjects.Textbook(), 2, 1, "slow-link=1"},
		{subjects.Textbook(), 2, 1, "cut:c1=1,slow-open=1"},
		{subjects.Textbook(), 2, 1, "jump-clock=1,fast-clock=1"},
		{subjects.Textbook(), 2, 1, "cut@hold=1"},
		{subjects.Mutex(), 1, 1, "restart=1"},
		{locktest.Named(t, "unguarded"), 2, 1, "pause=1"},
		{locktest.Named(t, "clock-token"), 2, 1, "none"},
	}, 4) {
		t.Run(fmt.Sprintf("%s %d×%d %s", tc.subject.Name, tc.clients, tc.cycles, tc.plan),
			func(t *testing.T) {
				e := exhaustive.Search{
					Scenario: locktest.Planned(t, tc.subject, tc.clients, tc.cycles,
						tc.plan),
					ValidationInterval: 1, NoMerge: true,
				}
				prefixes, verdicts, r := processPrefixes(t, e)
				e.NoReplayCache = true
				wantPrefixes, wantVerdicts, want := processPrefixes(t, e)
				if !maps.Equal(verdicts, wantVerdicts) {
					t.Errorf("verdicts %v, want %v", slices.Sorted(maps.Keys(verdicts)),
						slices.Sorted(maps.Keys(wantVerdicts)))
				}
				if !maps.Equal(prefixes, wantPrefixes) {
					t.Errorf("%d prefixes of process histories, want %d", len(prefixes),
						len(wantPrefixes))
				}
				if r.Validated != r.Schedules || r.States > want.States {
					t.Errorf("%d of %d schedules validated; %d states, and %d in a live search",
						r.Validated, r.Schedules, r.States, want.States)
				}
			})
	}
}

// With faults that take time, histories differ in the times of events, but not in their verdicts.
func TestReductionKeepsVerdicts(t *testing.T) {
	for _, tc := range long.Sample([]struct {
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
		{subjects.ExistsThenWait(), 2, "slow-link=1"},
		{subjects.DeafToExpiry(), 2, "cut:c1=1,slow-open=1"},
		{subjects.DeafToExpiry(), 2, "expire=1"},
		{locktest.Named(t, "deaf-holder"), 2, "close-session:c1=1"},
		{locktest.Named(t, "unguarded"), 2, "pause=1"},
		{locktest.Named(t, "clock-token"), 2, "crash=1"},
		{locktest.Named(t, "session-token"), 2, "none"},
		{locktest.NoLock(), 3, "none"},
	}, 3) {
		e := exhaustive.Search{Scenario: locktest.Planned(t, tc.subject, tc.clients, 1, tc.plan)}
		reduced := search(t, e)
		e.NoReduction = true
		unreduced := search(t, e)
		if !maps.Equal(reduced.verdicts, unreduced.verdicts) {
			t.Errorf("%v: verdicts %v, want %v", &e.Scenario,
				slices.Sorted(maps.Keys(reduced.verdicts)),
				slices.Sorted(maps.Keys(unreduced.verdicts)))
		}
	}
}

// Idle ticks change nothing for a lock that reads no clock.
func TestIdleTicksChangeNothing(t *testing.T) {
	for _, subject := range long.Sample([]scenarios.Subject{
		subjects.ExistsThenWait(), subjects.Textbook(), subjects.NameOrder(),
	}, 2) {
		e := exhaustive.Search{Scenario: locktest.Planned(t, subject, 2, 1, "none"), NoMerge: true}
		want := search(t, e)
		e.IdleTicks = 2
		got := search(t, e)
		if !maps.Equal(got.verdicts, want.verdicts) || !maps.Equal(got.histories, want.histories) {
			t.Errorf("%s: %d histories and verdicts %v, want %d and %v", subject.Name,
				len(got.histories), got.verdicts, len(want.histories), want.verdicts)
		}
	}
}

// The verdicts do not depend on the numbering of processes.
func TestSymmetryKeepsVerdicts(t *testing.T) {
	for _, subject := range long.Sample([]scenarios.Subject{
		subjects.NoGUID(), afterSync(subjects.NoGUID()), locktest.NoLock(), subjects.Textbook(),
		subjects.DeafToExpiry(), subjects.ExistsThenWait(), afterSync(subjects.ExistsThenWait()),
		afterSync(subjects.DeafToExpiry()), subjects.Mutex(),
	}, 3) {
		e := exhaustive.Search{Scenario: locktest.Planned(t, subject, 2, 1, "lose-reply=1")}
		want := search(t, e)
		e.Symmetry = true
		got := search(t, e)
		if !maps.Equal(got.verdicts, want.verdicts) {
			t.Errorf("%s: verdicts %v, want %v", subject.Name, got.verdicts, want.verdicts)
		}
		if got.report.States >= want.report.States {
			t.Errorf("%s: %d states, want fewer than %d", subject.Name, got.report.States,
				want.report.States)
		}
	}
}

// Processes whose links were cut before they were told apart are no twins: the search also tries
// that both links heal before time passes.
func TestSymmetryOfCutProcesses(t *testing.T) {
	e := exhaustive.Search{
		Scenario: locktest.Planned(t, subjects.Textbook(), 2, 1, "cut=2"), Symmetry: true,
	}
	joint := 0
	e.Each = func(r *engine.Result) {
		if connectTogether(r.Events) {
			joint++
		}
	}
	if report := e.Run(t.Context(), t); !report.Complete || joint == 0 {
		t.Errorf("complete %v, both connect again at the same time in %d schedules",
			report.Complete, joint)
	}
}

// connectTogether reports whether both processes are cut before a request is served, and then
// connect again at the same time.
func connectTogether(events []history.Event) bool {
	cut := make(map[int32]bool)
	for i, e := range events {
		switch {
		case e.Kind == history.Fault:
			cut[e.Process] = true
		case e.Kind == history.Serve && len(cut) < 2:
			return false
		case e.Kind == history.SessionState && e.Name == "connected" && len(cut) == 2:
			return slices.ContainsFunc(events[i+1:], func(o history.Event) bool {
				return o.Kind == e.Kind && o.Name == e.Name && o.Process != e.Process &&
					o.At == e.At
			})
		}
	}
	return false
}

// Processes that begin with a sync stay interchangeable until they send something else: without
// faults there are nearly as few states as without the sync.
func TestSymmetryAfterSync(t *testing.T) {
	states := func(subject scenarios.Subject) int {
		scenario := locktest.Planned(t, subject, 4, 1, "none")
		return search(t, exhaustive.Search{Scenario: scenario, Symmetry: true}).report.States
	}
	if without, with := states(subjects.Textbook()), states(afterSync(subjects.Textbook())); with <
		without || with > 2*without {
		t.Errorf("%d states with a sync, %d without", with, without)
	}
}

// afterSync returns a lock that sends a sync before each attempt.
func afterSync(s scenarios.Subject) scenarios.Subject {
	open := s.Open
	s.Name += "-after-sync"
	s.Limits.Requests = history.Unbounded
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return syncing{locker, p}, err
	}
	return s
}

type syncing struct {
	scenarios.Locker
	*scenarios.Process
}

func (s syncing) Lock(ctx context.Context) (*scenarios.Hold, error) {
	s.Client.Sync(s.Directory) // The attempt fails by itself if there is no connection.
	return s.Locker.Lock(ctx)
}

// A reader and a writer are not interchangeable: they are inside at once only if the writer asks
// first, because the reader does not look for it.
func TestSymmetryOfReaderAndWriter(t *testing.T) {
	s := scenarios.Subject{
		Name: "writer-first", Claims: []history.Property{history.ClientMutualExclusion},
		Shared: func(process, _ int) bool { return process == 1 },
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			return readerAndWriter{p}, nil
		},
	}
	e := exhaustive.Search{Scenario: locktest.Planned(t, s, 2, 1, "none"), Symmetry: true}
	r := e.Run(t.Context(), t)
	if r.Failure == nil || r.Failure.Violations[0].Property != history.ClientMutualExclusion {
		t.Errorf("failure %+v in %d schedules", r.Failure, r.Schedules)
	}
}

// A readerAndWriter is the handle of a process on a lock that its nodes hold.
type readerAndWriter struct{ *scenarios.Process }

func (l readerAndWriter) LockShared(context.Context) (*scenarios.Hold, error) {
	_, err := l.Client.Create(l.Directory+"/read", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	return &scenarios.Hold{Unlock: locktest.Free}, err
}

func (l readerAndWriter) Lock(context.Context) (*scenarios.Hold, error) {
	read, _, err := l.Client.Exists(l.Directory + "/read")
	if read {
		err = errors.New("a reader holds the lock")
	}
	return &scenarios.Hold{Unlock: locktest.Free}, err
}

// Symmetry still reduces what a plan does not tell apart: of three processes, the two that it does
// not name.
func TestSymmetryOfUnnamedProcesses(t *testing.T) {
	e := exhaustive.Search{
		Scenario: locktest.Planned(t, subjects.Textbook(), 3, 1, "crash:c2@hold=1"),
	}
	want := search(t, e)
	e.Symmetry = true
	got := search(t, e)
	if !maps.Equal(got.verdicts, want.verdicts) || got.report.States >= want.report.States {
		t.Errorf("verdicts %v in %d states, want %v in fewer than %d", got.verdicts,
			got.report.States,
			want.verdicts, want.report.States)
	}
}
