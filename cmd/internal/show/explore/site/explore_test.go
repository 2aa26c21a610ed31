package site_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// newScenario returns a scenario of a bundled lock with one cycle.
func newScenario(t *testing.T, lock string, clients int, plan string) scenarios.Scenario {
	t.Helper()
	subject, err := bundled.Named(lock)
	if err != nil {
		t.Fatal(err)
	}
	s := scenarios.Scenario{Subject: subject, Clients: clients, Cycles: 1}
	if subject.Real {
		s.Client = scenarios.Real
	}
	if s.Faults, err = faults.Parse(plan); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func newExplorer(t *testing.T, lock string, clients int, plan string) *explore.Explorer {
	t.Helper()
	return exploring(t, newScenario(t, lock, clients, plan), "")
}

// exploring returns an explorer that saves below out.
func exploring(t *testing.T, s scenarios.Scenario, out string) *explore.Explorer {
	t.Helper()
	replay := func(path string) string { return "replay " + path }
	return explore.New(explore.NewLocal(engine.NewRunner(t), s, explore.Below(out, replay)))
}

func step(t *testing.T, name string) sim.Step {
	t.Helper()
	s, err := sim.ParseStep(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// must returns a state, which must exist.
func must(t *testing.T) func(*explore.State, error) *explore.State {
	t.Helper()
	return func(s *explore.State, err error) *explore.State {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// usual returns the step that the default policy takes.
func usual(t *testing.T, s *explore.State) explore.Choice {
	t.Helper()
	i := slices.IndexFunc(s.Enabled, func(c explore.Choice) bool { return c.Default })
	if i < 0 {
		t.Fatalf("no default among %v", s.Enabled)
	}
	return s.Enabled[i]
}

// Choosing the default step again and again leads through the run that the engine performs by
// itself, to the same events.
func TestDefaultPathIsTheRun(t *testing.T) {
	scenario := newScenario(t, "textbook", 2, "none")
	e, ctx := exploring(t, scenario, ""), t.Context()
	whole := engine.NewRunner(t).Run(&scenario, new(engine.Replay))
	s := must(t)(e.At(ctx, explore.Path{}))
	for !s.Ended {
		if len(s.Deviations) > 0 || s.Length > whole.Steps {
			t.Fatalf("after %d steps: %v", s.Length, s.Deviations)
		}
		next := must(t)(e.Choose(ctx, s.Path, usual(t, s).Step))
		if next.Length != s.Length+1 || len(next.Events) < len(s.Events) {
			t.Fatalf("from %d steps, %d events to %d, %d", s.Length, len(s.Events), next.Length,
				len(next.Events))
		}
		s = next
	}
	if s.TraceHash != engine.TraceHash(whole.TraceHash) || len(s.Violations) > 0 {
		t.Errorf("trace hash %v, not %016x; violations %v", s.TraceHash, whole.TraceHash,
			s.Violations)
	}
	if last := must(t)(e.At(ctx, explore.Path{Length: 2000})); last.Length != s.Length {
		t.Errorf("a path that is too long ends after %d steps, not %d", last.Length, s.Length)
	}
}

// A path that goes back and comes again leads to the same state.
func TestStateDependsOnThePathAlone(t *testing.T) {
	e, ctx := newExplorer(t, "no-recheck", 3, "cut=1"), t.Context()
	path := explore.Path{Length: 30, Deviations: []engine.Deviation{
		{Index: 4, Step: step(t, "deliver c3")}, {Index: 10, Step: step(t, "cut c2")},
	}}
	first := encoded(t, must(t)(e.At(ctx, path)))
	shorter := must(t)(e.At(ctx, path.To(8)))
	if len(shorter.Deviations) != 1 || shorter.Length != 8 {
		t.Errorf("back at %v", shorter.Path)
	}
	if again := encoded(t, must(t)(e.At(ctx, path))); !bytes.Equal(first, again) {
		t.Error("the same path leads to another state")
	}
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A state shows the znodes, who waits for what, and who believes that it holds the lock.
func TestStateForPeople(t *testing.T) {
	e, ctx := newExplorer(t, "textbook", 2, "none"), t.Context()
	s := must(t)(e.At(ctx, explore.Path{}))
	for !s.Ended && !slices.ContainsFunc(s.Processes, func(p explore.Process) bool {
		return p.Inside
	}) {
		s = must(t)(e.Choose(ctx, s.Path, usual(t, s).Step))
	}
	if s.Ended {
		t.Fatal("no process ever enters its critical section")
	}
	if p := s.Processes[0]; !p.Believes || p.Node != "c1#0" || !p.NodeLive ||
		p.Text != "has the lock by c1#0; in its critical section" {
		t.Errorf("c1: %+v", p)
	}
	if p := s.Processes[1]; p.Believes ||
		p.Text != "asks for the lock, waits for its watch on c1#0" {
		t.Errorf("c2: %+v", p)
	}
	if len(s.Queue) != 2 || s.Queue[0].Name != "c1#0" || s.Queue[1].Process != 2 {
		t.Errorf("queue %v", s.Queue)
	}
	system := s.System
	if len(system.Nodes) != 3 || system.Nodes[0].Path != "/lock" ||
		system.Nodes[1].Session != system.Sessions[0].ID || len(system.Watches) != 1 ||
		system.Watches[0].Process != 2 || len(system.Servers) != 1 || !system.Servers[0].Leader {
		t.Errorf("system %+v", system)
	}
	listed := slices.ContainsFunc(s.Events, func(e explore.Event) bool {
		return e.Facts != nil && len(e.Facts.Children) == 2 && e.Text != ""
	})
	if !listed {
		t.Error("no event has the facts of a listing")
	}
}

// The state of Redis servers has their keys, with values and expiry, and what is in flight.
func TestStateOfRedis(t *testing.T) {
	e, ctx := newExplorer(t, "setnx-lease", 2, "none"), t.Context()
	s := must(t)(e.At(ctx, explore.Path{}))
	if s.System.Keys == nil || len(s.System.Keys) != 0 {
		t.Errorf("system %+v", s.System)
	}
	if first := s.System.Peers[0]; len(first.Requests) != 1 ||
		!strings.HasPrefix(first.Requests[0], "SET lock ") {
		t.Errorf("c1: %+v", first)
	}
	s = must(t)(e.Choose(ctx, s.Path, step(t, "serve c1")))
	want := sim.Key{
		Name: "lock", Value: s.System.Keys[0].Value, Process: 1, Server: 1,
		Expires: 500 * time.Millisecond,
	}
	if got := s.System.Keys; len(got) != 1 || got[0] != want || want.Value == "" {
		t.Errorf("keys %+v, want %+v", got, want)
	}
	if first := s.System.Peers[0]; len(first.Requests) != 0 || len(first.Messages) != 1 ||
		!strings.HasSuffix(first.Messages[0], " gives OK") {
		t.Errorf("c1: %+v", first)
	}
}

// Every bundled lock can be explored, with a fault if one is possible, and comes to the same state
// each time.
func TestEveryLock(t *testing.T) {
	for _, subject := range bundled.All() {
		if subject.Real && real.RaceDetector || subject.Name == "spin" {
			// The real client is nondeterministic under the race detector. The run of a lock that
			// spins has a hundred thousand events.
			continue
		}
		t.Run(subject.Name, func(t *testing.T) {
			scenario := newScenario(t, subject.Name, 2, "any=1")
			e, ctx := exploring(t, scenario, ""), t.Context()
			s := must(t)(e.At(ctx, explore.Path{Length: 10}))
			fault := slices.IndexFunc(s.Enabled, func(c explore.Choice) bool { return c.Fault })
			if fault < 0 {
				t.Fatalf("no fault among %v", s.Enabled)
			}
			s = must(t)(e.Choose(ctx, s.Path, s.Enabled[fault].Step))
			survives(t, s)
			end := must(t)(e.RunOn(ctx, s.Path))
			again := must(t)(e.At(ctx, end.Path))
			if !bytes.Equal(encoded(t, end), encoded(t, again)) {
				t.Error("the same path leads to another state")
			}
			survives(t, end)
			for _, p := range end.Processes {
				if p.Text == "" {
					t.Errorf("nothing is said of the state of c%d", p.Process)
				}
			}
		})
	}
}

// survives fails if a state changes on its way from the process of a test.
func survives(t *testing.T, s *explore.State) {
	t.Helper()
	var arrived explore.State
	if err := json.Unmarshal(encoded(t, s), &arrived); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, &arrived) {
		t.Errorf("%s arrives as %s", encoded(t, s), encoded(t, arrived))
	}
}

// A random walk, through crashes, restarts and elections, never leaves what can be explored: each
// step that a state offers can be taken, and adds to the events.
func TestRandomWalk(t *testing.T) {
	for _, lock := range []string{"mutex", "no-guid", "semaphore", "reentrant"} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s/%d", lock, seed), func(t *testing.T) {
				scenario := newScenario(t, lock, 3, "any=4,restart=1,cancel=1")
				scenario.Servers, scenario.Cycles = 3, 2
				e := exploring(t, scenario, "")
				draw := rand.New(rand.NewPCG(seed, 0))
				s := must(t)(e.At(t.Context(), explore.Path{}))
				for s.Length < 80 && !s.Ended {
					choices := slices.DeleteFunc(s.Enabled, func(c explore.Choice) bool {
						return c.Step.Kind == sim.Fair
					})
					choice := choices[draw.IntN(len(choices))]
					next := must(t)(e.Choose(t.Context(), s.Path, choice.Step))
					if next.Length != s.Length+1 || next.Taken[s.Length].Step != choice.Step ||
						next.Taken[s.Length].Deviates == choice.Default ||
						!sameStart(s.Events, next.Events) {
						t.Fatalf("after %d steps, %v leads to %v", s.Length, choice, next.Path)
					}
					s = next
				}
				if len(s.Processes) < 3 || len(s.System.Servers) != 3 ||
					len(s.System.Peers) != len(s.Processes) {
					t.Errorf("%d processes, %+v", len(s.Processes), s.System)
				}
			})
		}
	}
}

// sameStart reports whether a longer history begins with the kinds and numbers of a shorter one.
func sameStart(shorter, longer []explore.Event) bool {
	for i := range shorter {
		if i >= len(longer) || shorter[i].Kind != longer[i].Kind || shorter[i].At != longer[i].At ||
			shorter[i].Process != longer[i].Process || shorter[i].Number != i {
			return false
		}
	}
	return true
}

// A step that is not enabled, or a schedule that does not reach its step, is an error that says so.
func TestBadPaths(t *testing.T) {
	e, ctx := newExplorer(t, "textbook", 1, "none"), t.Context()
	for _, tc := range []struct {
		path explore.Path
		want string
	}{
		{explore.Path{Length: -1}, "from 0 to 2000, not -1"},
		{explore.Path{Length: 2001}, "from 0 to 2000, not 2001"},
		{explore.Path{Length: 1, Deviations: []engine.Deviation{
			{Index: 0, Step: step(t, "enter c1")},
		}}, "step 0, enter c1, is not enabled; enabled are serve c1, tick"},
		{explore.Path{Length: 2000, Deviations: []engine.Deviation{
			{Index: 1900, Step: step(t, "tick")},
		}}, "step 1900, tick, is not reached: the run ends after "},
		{explore.Path{Length: 9, Deviations: []engine.Deviation{
			{Index: 3, Step: step(t, "tick")}, {Index: 3, Step: step(t, "tick")},
		}}, "index 3 is not greater"},
	} {
		_, err := e.At(ctx, tc.path)
		var bad *explore.BadPath
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v", tc.path, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.At(cancelled, explore.Path{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The fair phase can be chosen at any time. It ends the run and shows who waits forever.
func TestFairPhaseShowsProgress(t *testing.T) {
	e, ctx := newExplorer(t, "exists-then-wait", 2, "none"), t.Context()
	// c1 enters and leaves its critical section between two requests of c2.
	path := explore.Path{Length: 2000, Deviations: []engine.Deviation{
		{Index: 7, Step: step(t, "enter c1")}, {Index: 8, Step: step(t, "leave c1")},
	}}
	s := must(t)(e.At(ctx, path))
	if !s.Ended || len(s.Violations) == 0 || s.Violations[0].Property != history.Progress {
		t.Fatalf("ended %v, violations %v", s.Ended, s.Violations)
	}
	last := path.Deviations[len(path.Deviations)-1].Index
	before := must(t)(e.At(ctx, path.To(last+1)))
	if before.Ended || len(before.Violations) > 0 {
		t.Fatalf("before the fair phase: ended %v, violations %v", before.Ended, before.Violations)
	}
	fair := must(t)(e.Choose(ctx, before.Path, step(t, "fair")))
	if !fair.Ended || fair.Length != last+2 || len(fair.Violations) == 0 ||
		fair.Violations[0].Property != history.Progress {
		t.Errorf("after the fair phase: %v, violations %v", fair.Path, fair.Violations)
	}
	if on := must(t)(e.RunOn(ctx, before.Path)); !on.Ended ||
		!bytes.Equal(encoded(t, on), encoded(t, s)) {
		t.Error("the default policy leads elsewhere than the whole schedule")
	}
}
