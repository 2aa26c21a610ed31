package exhaustive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// The number of stored states changes only with the lock, the simulated server, the state key or a
// reduction. A change of one of these must be noticed.
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
		{subjects.Textbook(), 1, 1, "any=1", false, 298, 334},
		{subjects.Textbook(), 2, 1, "crash=1", false, 155, 186},
		{subjects.Textbook(), 2, 1, "expire=1", false, 702, 582},
		{subjects.Herd(), 2, 1, "none", false, 21, 14},
		{subjects.Mutex(), 3, 1, "none", false, 1304, 2189},
	} {
		e := &exhaustive.Search{
			Scenario: locktest.Planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
			Symmetry: tc.symmetry,
		}
		r := e.Run(context.Background(), t)
		if !r.Complete || r.Failure != nil {
			t.Errorf("%v: complete %v, failure %+v", &e.Scenario, r.Complete, r.Failure)
		}
		if r.States != tc.states || r.Schedules != tc.runs {
			t.Errorf("%v, symmetry %v: %d states in %d runs, want %d in %d", &e.Scenario,
				tc.symmetry, r.States, r.Schedules, tc.states, tc.runs)
		}
	}
}

// An exhaustive search finds every broken lock in the smallest scenario that exposes it.
func TestBrokenLocksAreFound(t *testing.T) {
	for _, tc := range []struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
		want            string // the violated property
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
		{locktest.Named(t, "silent-loss"), 1, 1, "any=1", "loss-notification"},
		{locktest.Named(t, "stale-state"), 1, 1, "any=1", "no-leaked-nodes"},
		{locktest.Named(t, "gives-up"), 1, 1, "any=1", "no-spurious-failure"},
		{locktest.Named(t, "late-notice"), 2, 1, "cut=1", "client-mutual-exclusion"},
		{locktest.Named(t, "uncounted"), 1, 1, "none", "reentrancy"},
		{locktest.Named(t, "overcounted"), 1, 1, "none", "reentrancy"},
		{locktest.Named(t, "clock-token"), 2, 1, "cut=1", "no-lost-update"},
		{locktest.Named(t, "session-token"), 2, 1, "none", "monotonic-token"},
		{locktest.Named(t, "unguarded"), 2, 1, "cut=1", "no-lost-update"},
		{locktest.Named(t, "retry-loop"), 2, 2, "none", "no-starvation"},
		{locktest.Named(t, "spin"), 2, 1, "crash=1", "no-livelock"},
		{locktest.Named(t, "watch-first"), 3, 1, "none", "no-herd"},
		{locktest.Named(t, "no-own-check"), 2, 1, "cut=1", "linearizable"},
		{locktest.Named(t, "blind-clean-up"), 1, 1, "any=1", "progress"},
		{locktest.Named(t, "forgotten-wait"), 2, 1, "cancel=1", "no-goroutine-leak"},
	} {
		t.Run(tc.subject.Name, func(t *testing.T) {
			e := &exhaustive.Search{Scenario: locktest.Planned(t, tc.subject, tc.clients, tc.cycles,
				tc.plan)}
			switch tc.subject.Name {
			case "spin": // Its schedules are infinite.
				e.MaxDeviations = 1
			case "retry-loop": // It starves a process only in schedules with an early fair phase.
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
				t.Error("a search that ended at a violation reports that it is complete")
			}
			replayed := engine.NewRunner(t).Run(&e.Scenario,
				&engine.Replay{Deviations: r.Failure.Deviations})
			if len(replayed.Violations) == 0 {
				t.Error("the schedule does not fail when it is replayed")
			}
		})
	}
}

// With several servers, the search covers lagging servers: it finds a lock that trusts a follower's
// answer.
func TestExhaustiveOnSeveralServers(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		subject                   scenarios.Subject
		clients                   int
		plan                      string
		states, runs, prefixCount int
	}{
		{subjects.ExistsThenWait(), 2, "none", 104, 98, 0},
		{subjects.NoGUID(), 1, "lose-reply=1", 88, 67, 0},
		{subjects.Textbook(), 2, "none", 108, 98, 0},
		{subjects.Textbook(), 1, "reset=1", 82, 77, 226},
		{subjects.Textbook(), 1, "kill-server=1", 481, 610, 318},
	}, 3) {
		t.Run(fmt.Sprintf("%s %d×1 %s", tc.subject.Name, tc.clients, tc.plan), func(t *testing.T) {
			e := exhaustive.Search{
				Scenario:           locktest.Planned(t, tc.subject, tc.clients, 1, tc.plan),
				ValidationInterval: 1, NoMerge: true,
			}
			e.Scenario.Servers = 3
			prefixes, verdicts, r := processPrefixes(t, e)
			if r.States != tc.states || r.Schedules != tc.runs {
				t.Errorf("%d states in %d runs, want %d in %d", r.States, r.Schedules, tc.states,
					tc.runs)
			}
			e.NoReplayCache = true
			wantPrefixes, wantVerdicts, _ := processPrefixes(t, e)
			for life := range prefixes {
				delete(wantPrefixes, life)
			}
			if len(wantPrefixes) > 0 || tc.prefixCount > 0 && len(prefixes) != tc.prefixCount ||
				!maps.Equal(verdicts, wantVerdicts) {
				t.Errorf("%d histories and verdicts %v, want %d and %v, %d missing", len(prefixes),
					verdicts, tc.prefixCount, wantVerdicts, len(wantPrefixes))
			}
			reduced := search(t, e)
			e.NoReduction = true
			unreduced := search(t, e)
			if !maps.Equal(reduced.verdicts, unreduced.verdicts) ||
				!maps.Equal(reduced.histories, unreduced.histories) {
				t.Errorf("reduced, %d histories and verdicts %v, want %d and %v",
					len(reduced.histories), reduced.verdicts, len(unreduced.histories),
					unreduced.verdicts)
			}
		})
	}
}

// A search by deviations runs each schedule within its bound once and raises the bound only after
// it has run them all. It finds violations where complete searches do not terminate.
func TestExhaustiveByDeviations(t *testing.T) {
	ran := make(map[string]int)
	e := &exhaustive.Search{
		Scenario:      locktest.Planned(t, subjects.Textbook(), 2, 1, "none"),
		MaxDeviations: 2,
	}
	e.Each = func(r *engine.Result) {
		if len(r.Deviations) > 2 {
			t.Errorf("%d deviations", len(r.Deviations))
		}
		ran[fmt.Sprint(r.Deviations)]++
	}
	r := e.Run(context.Background(), t)
	if !r.Complete || r.Deviations != 2 || !strings.Contains(r.Scope.String(), "at most 2 times") {
		t.Errorf("complete %v, %d deviations, scope %q", r.Complete, r.Deviations, r.Scope.String())
	}
	// Each bound repeats the schedules with at most one deviation.
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
	e := &exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.Textbook(), 3, 1, "none"),
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
	runtime.GC() // It updates the statistics of the heap.
	e.Schedules, e.MemoryLimit = 0, 1
	if r := e.Run(context.Background(), t); !r.MemoryExhausted || r.Complete || r.Schedules == 0 ||
		r.Schedules > 100 || r.Untried == 0 {
		t.Errorf("memory exhausted %v, complete %v after %d schedules with %d untried steps",
			r.MemoryExhausted, r.Complete, r.Schedules, r.Untried)
	}
	e.MemoryLimit = math.MaxInt64
	if r := e.Run(context.Background(), t); r.MemoryExhausted || !r.Complete {
		t.Errorf("without a memory limit: memory exhausted %v, complete %v", r.MemoryExhausted,
			r.Complete)
	}
}

// A repeated search has the same result.
func TestExhaustiveIsDeterministic(t *testing.T) {
	e := &exhaustive.Search{
		Scenario:  locktest.Planned(t, subjects.Textbook(), 2, 1, "any=1"),
		Schedules: 1000,
	}
	first, second := e.Run(context.Background(), t), e.Run(context.Background(), t)
	if first.Digest != second.Digest || first.States != second.States {
		t.Errorf("digests %x and %x, %d and %d states", first.Digest, second.Digest, first.States,
			second.States)
	}
}

// A search notices a nondeterministic lock, because the path to a state does not lead there again.
// It goes on, and is not complete.
func TestExhaustiveNoticesNondeterminism(t *testing.T) {
	for _, live := range []bool{false, true} {
		e := &exhaustive.Search{
			Scenario:      locktest.Planned(t, locktest.Fickle(), 2, 1, "none"),
			NoReplayCache: live,
		}
		e.Scenario.Subject.Claims = nil
		if r := e.Run(context.Background(), t); r.Nondeterministic == nil || r.Complete ||
			r.Differing < 2 || r.Untried > 0 || len(r.DifferingLines) == 0 {
			t.Errorf("live %v: the search did not notice a nondeterministic lock: %+v", live, r)
		}
	}
}

// A search ends with a report also if a process does not wait for what reached it before.
func TestProcessGoesAstray(t *testing.T) {
	for seed := range uint64(100) { // Seed 98 panicked before.
		var calls atomic.Uint64
		s := locktest.Subject("astray", func(p *scenarios.Process) scenarios.LockerFunc {
			return func(ctx context.Context) (hold *scenarios.Hold, err error) {
				time.Sleep(time.Second)
				switch rand.New(rand.NewPCG(seed, calls.Add(1))).IntN(4) {
				case 0:
					_, _, err = p.Client.Exists(p.Directory)
				case 1:
					_, _, watch, _ := p.Client.ExistsW(p.Directory)
					select {
					case <-watch:
					case <-ctx.Done():
					case <-time.After(time.Second):
					}
				case 2:
					err = errors.New("refused")
				}
				return &scenarios.Hold{Unlock: locktest.Free}, err
			}
		})
		e := &exhaustive.Search{Scenario: locktest.Planned(t, s, 1, 2, "cancel=1,expire=1")}
		e.Scenario.Subject.Claims = nil
		if r := e.Run(context.Background(), t); r.Nondeterministic == nil || r.Complete {
			t.Errorf("seed %d: the search did not notice it: %+v", seed, r)
		}
	}
}
