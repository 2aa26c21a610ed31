package subjects_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/guarantee"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Every property that a lock can violate has a defect that violates it first. A lock cannot violate
// the guarantees of the simulation and its client; tests with altered histories cover those. Locks
// on Redis violate the properties of keys and validity times.
func TestDefectsCoverAllProperties(t *testing.T) {
	others := []history.Property{
		history.NoLostWatch, history.OwnRelease, history.Validity, history.Extension,
		history.ZooKeeperConsistency,
	}
	for _, property := range check.Claimable() {
		found := slices.ContainsFunc(subjects.Defects(),
			func(d subjects.Defect) bool { return d.Property == property })
		switch exempt := slices.Contains(others, property); {
		case !found && !exempt:
			t.Errorf("no bundled lock violates %s first: add one to catalogue in defects.go, with "+
				"its recording, or say here why none can", property)
		case found && exempt:
			t.Errorf("a bundled lock violates %s, which is listed as impossible", property)
		}
	}
}

// A history with a watch event removed, duplicated or invented violates no-lost-watch.
func TestWatchIsChecked(t *testing.T) {
	scenario := &scenarios.Scenario{
		Subject: subjects.Textbook(), Clients: 3,
		Cycles: 2,
	}
	events := slices.Clone(engine.NewRunner(t).Run(scenario, strategy.NewRandom(1, 1)).Events)
	delivered := slices.IndexFunc(events,
		func(e history.Event) bool { return e.Kind == history.WatchEvent })
	fired := slices.IndexFunc(events,
		func(e history.Event) bool { return e.Kind == history.WatchFired })
	if delivered < 0 || fired < 0 || guarantee.NoLostWatch(events) != nil {
		t.Fatalf("watch event %d, fired %d, %v", delivered, fired, guarantee.NoLostWatch(events))
	}
	for name, changed := range map[string][]history.Event{
		"not delivered":   slices.Delete(slices.Clone(events), delivered, delivered+1),
		"delivered twice": slices.Insert(slices.Clone(events), delivered, events[delivered]),
		"not fired":       slices.Delete(slices.Clone(events), fired, fired+1),
		"invented":        slices.Insert(slices.Clone(events), 0, events[delivered]),
	} {
		if guarantee.NoLostWatch(changed) == nil {
			t.Errorf("%s: no violation", name)
		}
	}
}

// Under a lock that does not notify its holder of a lost session, an unguarded resource loses
// updates; a resource that checks tokens or is written by guarded multis loses none.
func TestLostUpdatesByGuard(t *testing.T) {
	schedules := long.Count(500, 1500)
	lost := func(name string) (lost, writes int) {
		subject, err := subjects.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		runner := engine.NewRunner(t)
		scenario := &scenarios.Scenario{
			Subject: subject, Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		}
		for i := range schedules {
			l, w := check.LostUpdates(runner.Run(scenario, strategy.NewRandom(1, i)).Events)
			lost, writes = lost+l, writes+w
		}
		return lost, writes
	}
	for name, want := range map[string]bool{
		"unguarded": true, "unguarded-fixed": false,
		"textbook-guarded": false,
	} {
		if lost, writes := lost(name); (lost > 0) != want || writes < 2*schedules {
			t.Errorf("%s: %d of %d updates lost", name, lost, writes)
		}
	}
}
