package subjects_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// defectSchedules is how many schedules each broken lock is searched for, which for all but the
// rarest is many times what it takes.
const defectSchedules = 20_000

// twinSchedules is how many schedules the twin of each broken lock must stand. The target defects
// of the Makefile has more.
var twinSchedules = flag.Int("twins", 400, "run so many `schedules` of the locks without their "+
	"defects")

// Each broken lock breaks the property that its entry names, in a campaign as interlock check has
// it by default, and the same lock without the defect breaks none. The test logs how long that
// took.
func TestDefects(t *testing.T) {
	var rows strings.Builder
	table := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "lock\tproperty\tschedule\tseconds\ttwin stands\t")
	for _, d := range subjects.Defects() {
		t.Run(d.Name, func(t *testing.T) {
			if !d.Broken.Claimed(d.Property) || !slices.Equal(d.Broken.Claims, d.Mended.Claims) {
				t.Fatalf("the broken lock claims %v, its twin %v", d.Broken.Claims, d.Mended.Claims)
			}
			report := campaign(t, d.Broken, defectSchedules)
			if report.Failure == nil {
				t.Fatal("nothing was found")
			}
			if first := report.Failure.Violations[0]; first.Property != d.Property {
				t.Errorf("schedule %d broke %s first (%s), want %s", report.Failure.Schedule,
					first.Property,
					first.Reason, d.Property)
			}
			twin := campaign(t, d.Mended, *twinSchedules)
			if twin.Failure != nil {
				t.Errorf("the twin: schedule %d broke %s", twin.Failure.Schedule,
					twin.Failure.Violations[0].Signature())
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t%.2f\t%d\t\n", d.Name, d.Property,
				report.Failure.Schedule,
				report.Elapsed.Seconds(), twin.Schedules)
		})
	}
	table.Flush()
	t.Logf("%d processors\n%s", runtime.GOMAXPROCS(0), rows.String())
}

func campaign(t *testing.T, subject scenarios.Subject, schedules int) *scenarios.Report {
	c := &scenarios.Campaign{
		Seed: 1, Schedules: schedules, Workers: runtime.GOMAXPROCS(0),
		Scenario: scenarios.Scenario{
			Subject: subject, Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		},
	}
	return c.Run(context.Background(), t)
}

// For every property that a lock can break there is a defect that breaks it first. A lock cannot
// break what the simulation and its client promise it: for that there are changed histories.
func TestDefectsCoverAllProperties(t *testing.T) {
	for _, property := range scenarios.Properties() {
		found := slices.ContainsFunc(subjects.Defects(),
			func(d subjects.Defect) bool { return d.Property == property })
		if found == (property == history.NoLostWatch || property == history.ZooKeeperConsistency) {
			t.Errorf("%s: a defect %v", property, found)
		}
	}
}

// A run of a lock, with one event of a watch left out, told twice or told of nothing, breaks the
// promise of watches.
func TestWatchIsChecked(t *testing.T) {
	scenario := &scenarios.Scenario{Subject: subjects.Textbook(), Clients: 3, Cycles: 2}
	events := slices.Clone(scenarios.NewRunner(t).Run(scenario, scenarios.NewRandom(1, 1)).Events)
	delivered := slices.IndexFunc(events,
		func(e history.Event) bool { return e.Kind == history.WatchEvent })
	fired := slices.IndexFunc(events,
		func(e history.Event) bool { return e.Kind == history.WatchFired })
	if delivered < 0 || fired < 0 || history.CheckNoLostWatch(events) != nil {
		t.Fatalf("watch event %d, fired %d, %v", delivered, fired, history.CheckNoLostWatch(events))
	}
	for name, changed := range map[string][]history.Event{
		"not told":   slices.Delete(slices.Clone(events), delivered, delivered+1),
		"told twice": slices.Insert(slices.Clone(events), delivered, events[delivered]),
		"not fired":  slices.Delete(slices.Clone(events), fired, fired+1),
		"invented":   slices.Insert(slices.Clone(events), 0, events[delivered]),
	} {
		if history.CheckNoLostWatch(changed) == nil {
			t.Errorf("%s: no violation", name)
		}
	}
}

// How a resource is guarded decides how many updates are lost: with a lock that does not tell its
// holder of a lost session some are where nothing guards it, and none where it checks tokens or is
// written by guarded multis.
func TestEffectUnderLock(t *testing.T) {
	lost := func(name string) (lost, writes int) {
		subject, err := subjects.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		runner := scenarios.NewRunner(t)
		scenario := &scenarios.Scenario{
			Subject: subject, Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		}
		for i := range 1500 {
			l, w := history.LostUpdates(runner.Run(scenario, scenarios.NewRandom(1, i)).Events)
			lost, writes = lost+l, writes+w
		}
		return lost, writes
	}
	for name, want := range map[string]bool{
		"unguarded": true, "unguarded-mended": false,
		"textbook-guarded": false,
	} {
		if lost, writes := lost(name); (lost > 0) != want || writes < 3000 {
			t.Errorf("%s: %d of %d updates lost", name, lost, writes)
		}
	}
}
