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
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/conversion"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/report"
	"github.com/interlock-sim/interlock/internal/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// defectSchedules is the number of schedules in which each defect must be found. All but the rarest
// need a small fraction of it.
const defectSchedules = 20_000

// twinSchedules is the number of schedules that the lock without the defect must pass. The Makefile
// target defects raises it.
var twinSchedules = flag.Int("twins", 400,
	"number of `schedules` for each lock without its defect")

// In a campaign with the defaults of interlock check, each broken lock violates the property of its
// Defect, and the same lock without the defect violates none. The test logs the time taken.
func TestDefects(t *testing.T) {
	var rows strings.Builder
	table := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "lock\tproperty\tschedule\tseconds\tclean schedules without defect\t")
	for _, d := range subjects.Defects() {
		t.Run(d.Name, func(t *testing.T) {
			broken := conversion.Subject(d.Broken)
			if !broken.Claimed(d.Property) || !slices.Equal(d.Broken.Claims, d.Fixed.Claims) {
				t.Fatalf("the broken lock claims %v, the lock without the defect %v",
					d.Broken.Claims, d.Fixed.Claims)
			}
			report := runCampaign(t, d.Broken, defectSchedules)
			if report.Failure == nil {
				t.Fatal("the campaign found no violation")
			}
			if first := report.Failure.Violations[0]; first.Property != d.Property {
				t.Errorf("schedule %d violated %s first (%s), want %s", report.Failure.Schedule,
					first.Property, first.Reason, d.Property)
			}
			twin := runCampaign(t, d.Fixed, *twinSchedules)
			if twin.Failure != nil {
				t.Errorf("without the defect, schedule %d violated %s", twin.Failure.Schedule,
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

func runCampaign(t *testing.T, subject scenarios.Subject, schedules int) *report.Report {
	c := &campaign.Campaign{
		Seed: 1, Schedules: schedules, Workers: runtime.GOMAXPROCS(0),
		Scenario: engine.Scenario{
			Subject: conversion.Subject(subject), Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		},
	}
	return c.Run(context.Background(), t)
}

// Every property that a lock can violate has a defect that violates it first. A lock cannot violate
// the guarantees of the simulation and its client; tests with altered histories cover those.
func TestDefectsCoverAllProperties(t *testing.T) {
	for _, property := range engine.Properties() {
		found := slices.ContainsFunc(subjects.Defects(),
			func(d subjects.Defect) bool { return d.Property == property })
		if found == (property == history.NoLostWatch || property == history.OwnRelease ||
			property == history.ZooKeeperConsistency) {
			t.Errorf("%s: there is a defect for it: %v", property, found)
		}
	}
}

// A history with a watch event removed, duplicated or invented violates no-lost-watch.
func TestWatchIsChecked(t *testing.T) {
	scenario := &engine.Scenario{
		Subject: conversion.Subject(subjects.Textbook()), Clients: 3,
		Cycles: 2,
	}
	events := slices.Clone(engine.NewRunner(t).Run(scenario, strategy.NewRandom(1, 1)).Events)
	delivered := slices.IndexFunc(events,
		func(e history.Event) bool { return e.Kind == history.WatchEvent })
	fired := slices.IndexFunc(events,
		func(e history.Event) bool { return e.Kind == history.WatchFired })
	if delivered < 0 || fired < 0 || check.NoLostWatch(events) != nil {
		t.Fatalf("watch event %d, fired %d, %v", delivered, fired, check.NoLostWatch(events))
	}
	for name, changed := range map[string][]history.Event{
		"not delivered":   slices.Delete(slices.Clone(events), delivered, delivered+1),
		"delivered twice": slices.Insert(slices.Clone(events), delivered, events[delivered]),
		"not fired":       slices.Delete(slices.Clone(events), fired, fired+1),
		"invented":        slices.Insert(slices.Clone(events), 0, events[delivered]),
	} {
		if check.NoLostWatch(changed) == nil {
			t.Errorf("%s: no violation", name)
		}
	}
}

// Under a lock that does not notify its holder of a lost session, an unguarded resource loses
// updates; a resource that checks tokens or is written by guarded multis loses none.
func TestLostUpdatesByGuard(t *testing.T) {
	lost := func(name string) (lost, writes int) {
		subject, err := subjects.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		runner := engine.NewRunner(t)
		scenario := &engine.Scenario{
			Subject: conversion.Subject(subject), Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		}
		for i := range 1500 {
			l, w := check.LostUpdates(runner.Run(scenario, strategy.NewRandom(1, i)).Events)
			lost, writes = lost+l, writes+w
		}
		return lost, writes
	}
	for name, want := range map[string]bool{
		"unguarded": true, "unguarded-fixed": false,
		"textbook-guarded": false,
	} {
		if lost, writes := lost(name); (lost > 0) != want || writes < 3000 {
			t.Errorf("%s: %d of %d updates lost", name, lost, writes)
		}
	}
}
