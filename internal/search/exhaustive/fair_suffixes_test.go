package exhaustive_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// A lock that starves a process violates no-starvation only in schedules in which the fair phase
// begins while one process waits and another calls Lock again later. A search that begins the fair
// phase only at the end does not find the violation.
func TestFairPhaseFindsStarvation(t *testing.T) {
	e := &exhaustive.Search{Scenario: locktest.Planned(t, locktest.Named(t, "retry-loop"), 2, 2,
		"none")}
	if r := e.Run(context.Background(), t); !r.Complete || strings.Contains(r.Scope.String(), "fair") {
		t.Errorf("without: complete %v, %q, failure %+v", r.Complete, r.Scope.String(), r.Failure)
	}
	e.FairSuffixes = true
	r := e.Run(context.Background(), t)
	if r.Failure == nil || r.Failure.Violations[0].Property != history.NoStarvation {
		t.Fatalf("failure %+v, complete %v", r.Failure, r.Complete)
	}
	c, err := shrink.Shorten(context.Background(), engine.NewRunner(t),
		&campaign.Campaign{Scenario: e.Scenario}, r)
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Recording.Deviations; len(d) != 1 ||
		d[0].Step != (sim.Step{Kind: sim.Fair}) {
		t.Errorf("shrunk to %v", d)
	}
	c.ReplayBy = func(directory string) string { return directory }
	directory, err := c.Write(filepath.Join(t.TempDir(), "failures"))
	if err != nil {
		t.Fatal(err)
	}
	recording, err := recording.Read(directory)
	if err != nil {
		t.Fatal(err)
	}
	replay := &engine.Replay{Deviations: recording.Deviations}
	again := engine.NewRunner(t).Run(&c.Scenario, replay)
	if again.TraceHash != uint64(recording.TraceHash) ||
		again.Violations[0].Signature() != recording.Signature || len(replay.Skipped) > 0 {
		t.Errorf("replayed: hash %x and %v, want %v and %s; skipped %v", again.TraceHash,
			again.Violations, recording.TraceHash, recording.Signature, replay.Skipped)
	}
}

// The begin of the fair phase is a deviation like any other.
func TestFairPhaseByDeviations(t *testing.T) {
	e := &exhaustive.Search{
		Scenario:     locktest.Planned(t, locktest.Named(t, "retry-loop"), 2, 2, "none"),
		FairSuffixes: true, MaxDeviations: 1,
	}
	if r := e.Run(context.Background(), t); r.Failure == nil ||
		r.Failure.Violations[0].Property != history.NoStarvation {
		t.Errorf("failure %+v, complete %v", r.Failure, r.Complete)
	}
	fair := 0
	e.Each = func(r *engine.Result) {
		if len(r.Deviations) > 1 {
			t.Errorf("deviates by %v", r.Deviations)
		}
		for _, d := range r.Deviations {
			if d.Step.Kind == sim.Fair {
				fair++
			}
		}
	}
	if r := e.Run(context.Background(), t); !r.Complete || fair == 0 {
		t.Errorf("complete %v after the fair phase was begun %d times", r.Complete, fair)
	}
}

// Locks without starvation pass the same search.
func TestFairPhaseInEveryState(t *testing.T) {
	for _, name := range []string{"retry-loop-fixed", "mutex"} {
		e := &exhaustive.Search{
			Scenario:     locktest.Planned(t, locktest.Named(t, name), 2, 2, "none"),
			FairSuffixes: true,
		}
		r := e.Run(context.Background(), t)
		if !r.Complete || r.Failure != nil ||
			!strings.HasSuffix(r.Scope.String(), "; the fair phase begins in every state") {
			t.Errorf("%s: complete %v, %q, failure %+v", name, r.Complete, r.Scope.String(), r.Failure)
		}
	}
}

// After the begin of the fair phase, no decisions follow, and it begins once.
func TestFairStep(t *testing.T) {
	s := locktest.Scenario(subjects.Mutex(), 3, 1, 2)
	usual := slices.Clone(engine.NewRunner(t).Run(s, &engine.Replay{}).Events)
	for index := range 20 {
		replay := &engine.Replay{Deviations: []engine.Deviation{
			{Index: index, Step: sim.Step{Kind: sim.Fair}},
			{Index: index + 1, Step: sim.Step{Kind: sim.Tick}},
		}}
		r := engine.NewRunner(t).Run(s, replay)
		if !slices.Equal(r.Deviations, replay.Deviations[:1]) || len(r.Keys) != r.Steps {
			t.Errorf("step %d: the schedule was %v, with %d keys in %d steps", index, r.Deviations,
				len(r.Keys), r.Steps)
		}
		fair := func(e history.Event) bool { return e.Kind == history.FairPhase }
		began := slices.IndexFunc(r.Events, fair)
		if !slices.Equal(r.Events[:began], usual[:began]) ||
			slices.ContainsFunc(r.Events[began+1:], fair) || len(r.Violations) > 0 {
			t.Errorf("step %d: want the events of the default policy up to a single begin of the "+
				"fair phase", index)
		}
	}
}

// A search that merges bisimilar states begins the fair phase only in representatives. It finds the
// same violations as a search that merges nothing, one without reduction and one that begins the
// fair phase in every state. All its schedules are validated with live goroutines.
func TestFairPhaseLosesNothing(t *testing.T) {
	for _, tc := range long.Sample([]struct {
		subject         scenarios.Subject
		clients, cycles int
		plan            string
	}{
		{givesUpEarly([2]int32{0, zk.FlagEphemeral}), 2, 2, "none"},
		{locktest.Named(t, "retry-loop-fixed"), 2, 2, "none"},
		{subjects.Mutex(), 2, 2, "none"},
		{subjects.ExistsThenWait(), 2, 2, "none"},
		{subjects.NameOrder(), 2, 2, "none"},
		{subjects.Textbook(), 1, 2, "any=1"},
		{subjects.Textbook(), 2, 1, "cancel=1"},
		{subjects.NoRecheck(), 2, 2, "none"},
		{subjects.DeafToExpiry(), 2, 1, "expire:c1=1"},
		{locktest.NoLock(), 2, 2, "none"},
		{locktest.Named(t, "retry-loop"), 2, 2, "none"},
	}, 2) {
		t.Run(fmt.Sprintf("%s %d×%d %s", tc.subject.Name, tc.clients, tc.cycles, tc.plan),
			func(t *testing.T) {
				e := exhaustive.Search{
					Scenario:     locktest.Planned(t, tc.subject, tc.clients, tc.cycles, tc.plan),
					FairSuffixes: true, ValidationInterval: 1,
				}
				got := completeVerdicts(t, e)
				e.NoMerge, e.ValidationInterval = true, 0
				if want := completeVerdicts(t, e); !slices.Equal(got, want) {
					t.Errorf("%v: found %q, without merging %q", &e.Scenario, got, want)
				}
				e.NoMerge, e.NoReduction = false, true
				if want := completeVerdicts(t, e); !slices.Equal(got, want) {
					t.Errorf("%v: found %q, without reduction %q", &e.Scenario, got, want)
				}
				e.NoReduction = false
				if want := completeVerdicts(t, *e.Unsparing()); !slices.Equal(got, want) {
					t.Errorf("%v: found %q, with the fair phase in every state %q", &e.Scenario, got, want)
				}
			})
	}
}

// givesUpEarly is a lock whose first process gives up its first attempt after it has created and
// deleted a node, and sends many requests before it queues again. Its first node is ephemeral or
// not, depending on whether it saw a node of the other process. The other process calls Lock again
// after the first has given up and gets the lock at once: it overtakes the first process only if
// that one was fast.
func givesUpEarly(flags [2]int32) scenarios.Subject {
	s := locktest.Subject("gives-up-early", func(p *scenarios.Process) scenarios.LockerFunc {
		attempt := 0
		path := func(name string) string { return p.Directory + "/" + name }
		ask := func(times int) {
			for range times {
				p.Client.Exists(p.Directory)
			}
		}
		create := func(name string, flags int32) {
			p.Client.Create(path(name), nil, flags,
				zk.WorldACL(zk.PermAll))
		}
		first := func() {
			if attempt == 1 {
				children, _, _ := p.Client.Children(p.Directory)
				create("early", flags[len(children)])
				p.Client.Delete(path("early"), -1)
				return
			}
			create("again", 0)
			ask(4)
			create("late", zk.FlagEphemeral)
			ask(4)
		}
		other := func() {
			create("other", 0)
			if there, _, events, err := p.Client.ExistsW(path("again")); err == nil && !there {
				<-events
			}
			ask(2)
		}
		return func(context.Context) (*scenarios.Hold, error) {
			attempt++
			switch {
			case p.Number == 1:
				first()
			case attempt == 1:
				other()
			default:
				return &scenarios.Hold{Unlock: locktest.Free}, nil
			}
			return nil, errors.New("given up")
		}
	})
	s.Claims = []history.Property{history.NoStarvation}
	return s
}

// The state key includes whether the next node of a process starts its claim in the queue.
func TestClaimsAreDistinguished(t *testing.T) {
	for _, flags := range [][2]int32{{0, zk.FlagEphemeral}, {zk.FlagEphemeral, 0}} {
		e := exhaustive.Search{
			Scenario:     locktest.Planned(t, givesUpEarly(flags), 2, 2, "none"),
			FairSuffixes: true,
		}
		got := completeVerdicts(t, e)
		e.NoMerge = true
		if want := completeVerdicts(t, e); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%v: found %q, without merging %q", flags, got, want)
		}
	}
}

// A campaign begins the fair phase early in some schedules, so that liveness properties are checked
// while processes still have pending obligations.
func TestCampaignsBeginTheFairPhaseEarly(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.Mutex(), 3, 2, 1), Seed: 1, Schedules: 320,
		Workers: 2,
	}
	r := c.Run(context.Background(), t)
	if r.Failure != nil {
		t.Fatal(r.Failure.Violations[0])
	}
	for _, p := range []history.Property{
		history.Progress, history.NoStarvation,
		history.NoLivelock,
	} {
		if r.Totals.Vacuity.Of(p) == 0 {
			t.Errorf("%d schedules never exercised %s", r.Schedules, p)
		}
	}
	c = &campaign.Campaign{
		Scenario: *locktest.Scenario(locktest.Named(t, "retry-loop"), 3, 2, 1), Seed: 1,
		Schedules: 320, Workers: 1,
	}
	if r = c.Run(context.Background(), t); r.Failure == nil ||
		r.Failure.Violations[0].Property != history.NoStarvation {
		t.Errorf("found %+v in %d schedules, want %s", r.Failure, r.Schedules, history.NoStarvation)
	}
}
