package subjects_test

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// libraryScenario returns a scenario in which processes run a client library, under the faults of
// the plan.
func libraryScenario(t *testing.T, lock scenarios.Subject, client scenarios.ClientKind,
	plan string,
) *scenarios.Scenario {
	t.Helper()
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the client")
	}
	if client == scenarios.Dialed {
		lock = dialed(lock)
	}
	parsed, err := faults.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	scenario := &scenarios.Scenario{
		Subject: lock, Clients: 2, Cycles: 2, Client: client, Faults: parsed,
	}
	if err := scenario.Validate(); err != nil {
		t.Fatal(err)
	}
	return scenario
}

// count returns the number of events that a condition holds for.
func count(events []history.Event, holds func(*history.Event) bool) (n int) {
	for i := range events {
		if holds(&events[i]) {
			n++
		}
	}
	return n
}

// Processes with a client library crash, are replaced and pause, on one server and on three, and a
// repeated schedule yields the same history.
func TestFaultsOfProcessesWithLibrary(t *testing.T) {
	for _, client := range []scenarios.ClientKind{scenarios.Real, scenarios.Dialed} {
		for _, servers := range []int{1, 3} {
			scenario := libraryScenario(t, subjects.Textbook(), client,
				"crash=1,restart=1,pause=1,cut=1")
			scenario.Servers = servers
			runner, struck, finished := engine.NewRunner(t), map[string]int{}, 0
			for schedule := range long.Count(12, 60) {
				result := runner.Run(scenario, strategy.NewRandom(5, schedule))
				if len(result.Violations) > 0 {
					t.Fatalf("%v, schedule %d: %s", scenario, schedule, result.Describe(scenario))
				}
				for _, e := range result.Events {
					switch {
					case e.Kind == history.Fault:
						struck[e.Name]++
					case e.Kind == history.Finished && e.Process > 2:
						finished++
					}
				}
				hash := result.TraceHash
				if again := runner.Run(scenario, strategy.NewRandom(5, schedule)); again.TraceHash !=
					hash {
					t.Fatalf("%v, schedule %d: two runs differ", scenario, schedule)
				}
			}
			for _, kind := range []faults.Kind{faults.Crash, faults.Restart, faults.Pause} {
				if struck[kind.String()] == 0 {
					t.Errorf("%v: no %v", scenario, kind)
				}
			}
			if finished == 0 {
				t.Errorf("%v: no replacement finishes", scenario)
			}
		}
	}
}

// A process with a client library that is paused for long does not notice that its session ends: in
// the pause it neither sends nor receives, and stays in its critical section while another enters.
func TestLongPauseOfProcessWithLibrary(t *testing.T) {
	for _, client := range []scenarios.ClientKind{scenarios.Real, scenarios.Dialed} {
		scenario := libraryScenario(t, subjects.Textbook(), client, "pause@hold=1")
		scenario.Cycles, scenario.Severity.Pause = 1, 20*time.Second
		runner, expired, entered := engine.NewRunner(t), 0, 0
		for schedule := range 60 {
			events := runner.Run(scenario, strategy.NewRandom(5, schedule)).Events
			begins := slices.IndexFunc(events, func(e history.Event) bool {
				return e.Kind == history.Fault
			})
			if begins < 0 {
				continue
			}
			paused := events[begins].Process
			for _, e := range events[begins:] {
				if e.Kind == history.Resumed {
					break
				}
				switch {
				case e.Kind == history.SessionExpired && e.Process == paused:
					expired++
				case e.Kind == history.Enter && e.Process != paused:
					entered++
				}
				if e.Process == paused && (e.Kind == history.Send || e.Kind == history.Reply ||
					e.Kind == history.WatchEvent || e.Kind == history.Leave) {
					t.Fatalf("%v, schedule %d: %+v in a pause", scenario, schedule, e)
				}
			}
		}
		if expired == 0 || entered == 0 {
			t.Errorf("%v: in pauses, %d sessions end and %d processes enter", scenario, expired,
				entered)
		}
	}
}

// "any" in a plan covers pauses with the modelled client only.
func TestAnyOmitsPausesOfLibraries(t *testing.T) {
	scenario := libraryScenario(t, subjects.Textbook(), scenarios.Real, "any=3")
	if slices.Contains(scenario.FaultKinds(), faults.Pause) {
		t.Error("the report lists pauses")
	}
	runner := engine.NewRunner(t)
	for schedule := range 40 {
		events := runner.Run(scenario, strategy.NewRandom(5, schedule)).Events
		if count(events, func(e *history.Event) bool { return e.Name == faults.Pause.String() }) > 0 {
			t.Fatalf("schedule %d: a pause", schedule)
		}
	}
}
