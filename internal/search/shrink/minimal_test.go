package shrink_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// brokenLocks returns all bundled locks that fail.
func brokenLocks(t *testing.T) []scenarios.Subject {
	t.Helper()
	var locks []scenarios.Subject
	for _, d := range subjects.Defects() {
		locks = append(locks, d.Broken)
	}
	return append(locks, locktest.Named(t, "zk-lock"))
}

// usual returns the scenario of interlock check.
func usual(subject scenarios.Subject, plan faults.Plan) scenarios.Scenario {
	s := scenarios.Scenario{Subject: subject, Clients: 3, Cycles: 2, Faults: plan}
	if s.Subject.Real {
		s.Client = scenarios.Real
	}
	return s
}

// firstFailure runs a campaign up to its first failure.
func firstFailure(t *testing.T, scenario scenarios.Scenario) ([]engine.Deviation, string) {
	t.Helper()
	c := &campaign.Campaign{
		Seed: 1, Schedules: 20_000, Workers: runtime.GOMAXPROCS(0), Scenario: scenario,
	}
	failure := c.Run(context.Background(), t).Failure
	if failure == nil {
		t.Fatalf("%v: no schedule fails", &scenario)
	}
	return failure.Deviations, failure.Violations[0].Signature()
}

// runsMax bounds the runs that shrinking takes: a second or so.
const runsMax = 15_000

// The first failure of each broken lock shrinks to one with at most one fault and two switches.
// Without any one of its faults, processes, cycles and deviations, it does not fail. The test logs
// what shrinking costs.
func TestShrinkBrokenLocks(t *testing.T) {
	searchMore(t)
	var rows strings.Builder
	table := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "lock\tfound with\truns\tseconds\tfaults\tprocesses\tcycles\t"+
		"switches\tdeviations\t")
	for _, subject := range long.Sample(brokenLocks(t), 2) {
		t.Run(subject.Name, func(t *testing.T) {
			scenario := usual(subject, faults.Default())
			given, signature := firstFailure(t, scenario)
			runner, began := engine.NewRunner(t), time.Now()
			m := shrink.Measure(context.Background(), runner, scenario, given, signature)
			fmt.Fprintf(table, "%s\t%d\t%d\t%.2f\t%d\t%d\t%d\t%d\t%d\t\n", subject.Name, len(given),
				m.Runs, time.Since(began).Seconds(), m.Faults, m.Scenario.Clients,
				m.Scenario.Cycles, m.Switches, len(m.Deviations))
			if m.Faults > 1 || m.Switches > 2 || len(m.Units) > 3 {
				t.Errorf("shrunk only to %v with %v", &m.Scenario, m.Deviations)
			}
			if m.Runs > runsMax {
				t.Errorf("shrinking took %d runs", m.Runs)
			}
			checkMinimal(t, runner, &m, signature)
		})
	}
	table.Flush()
	t.Logf("%d processors\n%s", runtime.GOMAXPROCS(0), rows.String())
}

// Schedules with several servers, and with more processes, cycles and faults, are shrunk as well.
func TestShrinkLargeScenarios(t *testing.T) {
	for _, name := range long.Sample([]string{"silent-loss", "no-recheck"}, 1) {
		for _, servers := range []int{1, 3} {
			scenario := usual(locktest.Named(t, name), faults.Of(faults.Any, 4))
			scenario.Clients, scenario.Cycles, scenario.Servers = 5, 4, servers
			given, signature := firstFailure(t, scenario)
			runner := engine.NewRunner(t)
			m := shrink.Measure(context.Background(), runner, scenario, given, signature)
			if m.Faults > 1 || m.Scenario.Clients > 3 || m.Runs > 2*runsMax {
				t.Errorf("shrunk to %v with %v in %d runs", &m.Scenario, m.Deviations, m.Runs)
			}
			checkMinimal(t, runner, &m, signature)
		}
	}
}

// checkMinimal checks that the schedule fails, and does not fail without any one of its parts.
func checkMinimal(t *testing.T, runner *engine.Runner, m *shrink.Measured, signature string) {
	t.Helper()
	fails := func(s scenarios.Scenario, deviations []engine.Deviation) bool {
		result := runner.Run(&s, &engine.Replay{Deviations: deviations})
		result.Lead(&s, signature)
		return len(result.Violations) > 0 && result.Violations[0].Signature() == signature
	}
	if !fails(m.Scenario, m.Deviations) {
		t.Errorf("%v with %v does not fail", &m.Scenario, m.Deviations)
	}
	for _, unit := range m.Units {
		rest := slices.Delete(slices.Clone(m.Deviations), unit[0], unit[1])
		if fails(m.Scenario, rest) {
			t.Errorf("%v fails without %v", m.Deviations, m.Deviations[unit[0]:unit[1]])
		}
	}
	fewer := m.Scenario
	if fewer.Cycles--; fewer.Cycles > 0 && fails(fewer, m.Deviations) {
		t.Errorf("%v fails with fewer cycles", &m.Scenario)
	}
	fewer = m.Scenario
	if fewer.Clients--; fewer.Clients == 0 {
		return
	}
	for process := range m.Scenario.Clients {
		if fails(fewer, withoutProcess(m.Deviations, int32(process+1))) {
			t.Errorf("%v fails without c%d", &m.Scenario, process+1)
		}
	}
}

// withoutProcess drops the deviations of a process. The processes after it take the numbers before
// theirs.
func withoutProcess(deviations []engine.Deviation, process int32) []engine.Deviation {
	var rest []engine.Deviation
	for _, d := range deviations {
		if d.Step.Process > process {
			d.Step.Process--
			rest = append(rest, d)
		} else if d.Step.Process < process {
			rest = append(rest, d)
		}
	}
	return rest
}

// If the plan names the process that a fault strikes, no other process is struck instead.
func TestShrinkKeepsTarget(t *testing.T) {
	for _, target := range long.Sample([]string{"c3", "c1", "c2"}, 1) {
		plan, err := faults.Parse("cut:" + target + "=1")
		if err != nil {
			t.Fatal(err)
		}
		scenario := usual(subjects.NoRecheck(), plan)
		given, signature := firstFailure(t, scenario)
		small, deviations := shrink.Shrink(context.Background(), engine.NewRunner(t), scenario,
			given, signature)
		struck := slices.ContainsFunc(deviations,
			func(d engine.Deviation) bool { return d.Step.String() == "cut "+target })
		if !struck || faultsOf(deviations) != 1 || small.Faults != plan {
			t.Errorf("%v: shrunk to %v with %v", plan, &small, deviations)
		}
	}
}

// Ticks in a row count as one deviation and are dropped together.
func TestShrinkCountsTicksOnce(t *testing.T) {
	scenario := usual(locktest.Named(t, "deaf-to-expiry"), faults.Of(faults.Cut, 1))
	given, signature := firstFailure(t, scenario)
	m := shrink.Measure(context.Background(), engine.NewRunner(t), scenario, given, signature)
	ticks := 0
	for _, d := range m.Deviations {
		if d.Step.Kind == sim.Tick {
			ticks++
		}
	}
	if ticks < 2 || m.Switches != 1 || len(m.Units) != 2 {
		t.Errorf("%d ticks, %d switches, units %v: %v", ticks, m.Switches, m.Units, m.Deviations)
	}
}
