package campaign_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// MissingCoverage and NeverCovered report exactly the required and the planned cells without
// coverage.
func TestMissingCoverage(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.Mutex(), 3, 2, 0), Seed: 1,
		Schedules: 300,
	}
	c.Scenario.Faults = faults.MustParse("cut=1,crash@ask=1")
	c.RequiredCoverage = []faults.CoverageCell{
		{Kind: faults.Cut, Phase: faults.CreateInFlight},
		{Kind: faults.Cut, Phase: faults.Idle},
	}
	r := c.Run(context.Background(), t)
	if lacking := c.MissingCoverage(r); len(lacking) != 1 || lacking[0] != c.RequiredCoverage[1] {
		t.Errorf("missing coverage %v", lacking)
	}
	planned := r.Coverage.Total(faults.Crash) == 0
	if missed := c.NeverCovered(r); planned != (len(missed) == 1 && missed[0] == "crash@ask") {
		t.Errorf("never covered %v, with %d crashes", missed, r.Coverage.Total(faults.Crash))
	}
}

// A kind that the plan excludes never strikes: it is not among those planned in vain, but among
// those that the search leaves out. Without the exclusion it strikes.
func TestExcludedKinds(t *testing.T) {
	for _, tc := range []struct {
		plan, control    string
		excluded, struck []faults.Kind
	}{
		{
			"any=2,no:expire,no:cut", "any=2",
			[]faults.Kind{faults.Expire, faults.Cut},
			[]faults.Kind{faults.Crash},
		},
		{
			"any@hold=2,no:expire", "any@hold=2",
			[]faults.Kind{faults.Expire},
			[]faults.Kind{faults.Cut},
		},
		{
			"network=2,no:expire,slow-link=1", "network=2",
			[]faults.Kind{faults.Expire},
			[]faults.Kind{faults.Cut, faults.SlowLink},
		},
	} {
		c := &campaign.Campaign{
			Scenario: *locktest.Scenario(subjects.Mutex(), 3, 2, 0), Seed: 1, Schedules: 400,
		}
		c.Scenario.Faults = faults.MustParse(tc.plan)
		r := c.Run(context.Background(), t)
		covered, struck := fmt.Sprint(c.NeverCovered(r)), c.NeverStruck(r)
		for _, kind := range tc.excluded {
			if r.Coverage.Total(kind) > 0 || slices.Contains(c.FaultKinds(), kind) ||
				strings.Contains(covered, kind.String()) || !slices.Contains(struck, kind.String()) {
				t.Errorf("%s: %d %v; planned in vain: %s, never struck: %v", tc.plan,
					r.Coverage.Total(kind), kind, covered, struck)
			}
		}
		for _, kind := range tc.struck {
			if r.Coverage.Total(kind) == 0 {
				t.Errorf("%s: no %v", tc.plan, kind)
			}
		}
		c.Scenario.Faults = faults.MustParse(tc.control)
		r = c.Run(context.Background(), t)
		for _, kind := range tc.excluded {
			if r.Coverage.Total(kind) == 0 {
				t.Errorf("%s: no %v", tc.control, kind)
			}
		}
	}
}

// Faults of a group are of its kinds, all of which occur where the client allows them, and together
// no more than its count.
func TestGroupBudget(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.Mutex(), 3, 2, 0), Seed: 1, Schedules: 400,
	}
	c.Scenario.Servers, c.Scenario.Faults = 3, faults.Of(faults.Network, 2)
	r := c.Run(context.Background(), t)
	total := 0
	for kind := range faults.Kinds {
		struck := r.Coverage.Total(kind)
		total += struck
		if struck > 0 != (faults.Network.Covers(kind) && c.Scenario.Has(kind.Needs())) {
			t.Errorf("%d %v", struck, kind)
		}
	}
	if total > 2*r.Schedules || total < r.Schedules {
		t.Errorf("%d faults in %d schedules", total, r.Schedules)
	}
}

// After a pause that exceeds the lock's contract, a process may believe that it still holds a lost
// lock. This is out of contract; all other claims still hold.
func TestPauseOutOfContract(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(subjects.Mutex(), 3, 2, 0), Seed: 1,
		Schedules: long.Count(500, 1500),
		Workers:   2,
	}
	c.Scenario.Faults = faults.Of(faults.Pause, 2)
	c.Scenario.Severity = faults.Severity{Pause: 10 * time.Second}
	r := c.Run(context.Background(), t)
	if r.Failure != nil {
		t.Fatal(r.Failure.Violations[0])
	}
	if r.OutOfContractSchedules == 0 ||
		r.OutOfContract.Violations[0].Property != history.ClientMutualExclusion {
		t.Errorf("%d schedules were out of contract, first %v", r.OutOfContractSchedules,
			r.OutOfContract)
	}
	if r.Totals.Vacuity.Of(history.Fencing) == 0 {
		t.Error("fencing was not exercised")
	}
	// Fencing holds because the resource checks tokens: after its pause, a process writes
	// nevertheless.
	unguarded := *c
	unguarded.Scenario.Subject.Guard = scenarios.Unguarded
	if r := unguarded.Run(context.Background(), t); r.Failure == nil {
		t.Error("no process wrote late")
	} else if v := r.Failure.Violations[0]; v.Property != history.Fencing &&
		v.Property != history.NoLostUpdate {
		t.Error(v)
	}
	// A lock whose contract includes such pauses has failed.
	c.Scenario.Subject.Severity = c.Scenario.Severity
	if r := c.Run(context.Background(), t); r.Failure == nil ||
		r.Failure.Violations[0].Property != history.ClientMutualExclusion {
		t.Errorf("not found: %v", r.Failure)
	}
}

// A history that is checked as that of a service has the same exemption for long pauses as in a
// campaign: the lock reports the loss as soon as the pause is over.
func TestPauseOutOfContractOfService(t *testing.T) {
	s := locktest.Planned(t, subjects.Mutex(), 3, 2, "pause@hold=2")
	s.Severity = faults.Severity{Pause: 10 * time.Second}
	runner, excused := engine.NewRunner(t), 0
	for i := range long.Count(200, 3000) {
		r := runner.Run(&s, strategy.NewRandom(1, i))
		judge := func(pause time.Duration) *history.Violation {
			v, _ := production.Within(history.ClientMutualExclusion, r.Events,
				production.Clocks{Pause: pause}, models.Limits{})
			return v
		}
		if v := judge(s.Contract().Pause); v != nil {
			t.Fatalf("schedule %d: %+v", i, v)
		}
		if judge(s.Severity.Pause) != nil {
			excused++
		}
	}
	if excused == 0 {
		t.Error("no schedule was out of contract")
	}
}

// Only a pause that has exceeded the contract by then, or a clock that has drifted too much or
// jumped by then, puts a violation out of contract.
func TestOutOfContract(t *testing.T) {
	paused := func(at time.Duration, process int32) history.Event {
		return history.Event{
			At: at, Kind: history.Fault, Process: process,
			Name: faults.Pause.String(),
		}
	}
	resumed := func(at time.Duration, process int32) history.Event {
		return history.Event{At: at, Kind: history.Resumed, Process: process}
	}
	broken := func(at time.Duration) history.Event {
		return history.Event{At: at, Kind: history.LockReturn, Process: 3, Path: "/lock/n"}
	}
	clock := func(kind faults.Kind) history.Event {
		return history.Event{Kind: history.Fault, Server: 1, Name: kind.String()}
	}
	const short, long = 200 * time.Millisecond, 201 * time.Millisecond
	for name, tc := range map[string]struct {
		events   []history.Event
		drift    int
		property history.Property
		excused  bool
	}{
		"nothing": {events: []history.Event{broken(0)}},
		"short": {events: []history.Event{
			paused(0, 1), resumed(short, 1),
			broken(time.Minute),
		}},
		"long": {events: []history.Event{
			paused(0, 1), resumed(long, 1),
			broken(time.Minute),
		}, excused: true},
		"of another property": {events: []history.Event{
			paused(0, 1), resumed(long, 1),
			broken(time.Minute),
		}, property: history.Fencing},
		"still paused": {events: []history.Event{paused(0, 1), broken(long)}, excused: true},
		"not for long yet": {events: []history.Event{
			paused(0, 1), broken(short),
			resumed(time.Minute, 1),
		}},
		"another resumed": {
			events:  []history.Event{paused(0, 1), resumed(short, 2), broken(long)},
			excused: true,
		},
		"two short ones": {events: []history.Event{
			paused(0, 1), resumed(short, 1), paused(short, 1),
			resumed(2*short, 1), broken(time.Minute),
		}},
		"clock in bounds": {
			events: []history.Event{clock(faults.SlowClock), broken(0)}, drift: 5,
		},
		"clock": {
			events: []history.Event{clock(faults.SlowClock), broken(0)}, drift: 6,
			excused: true,
		},
		"no clock":    {events: []history.Event{broken(0)}, drift: 6},
		"clock later": {events: []history.Event{broken(0), clock(faults.SlowClock)}, drift: 6},
		"jump": {
			events:   []history.Event{clock(faults.JumpClock), broken(0)},
			property: history.Validity, excused: true,
		},
		"jump, of another property": {
			events: []history.Event{clock(faults.JumpClock), broken(0)},
		},
		"jump later": {
			events:   []history.Event{broken(0), clock(faults.JumpClock)},
			property: history.Validity,
		},
	} {
		s := locktest.Scenario(subjects.Mutex(), 3, 2, 0)
		s.Severity = faults.Severity{Pause: time.Minute, Drift: tc.drift}
		r := &engine.Result{Events: tc.events}
		v := &history.Violation{Property: history.ClientMutualExclusion}
		if tc.property != "" {
			v.Property = tc.property
		}
		for v.Event = range tc.events {
			if tc.events[v.Event].Kind == history.LockReturn {
				break
			}
		}
		if got := r.OutOfContract(s, v); got != tc.excused {
			t.Errorf("%s: out of contract: %v", name, got)
		}
	}
}
