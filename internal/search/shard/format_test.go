package shard_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/shard"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// describedCampaign is the description of a campaign that sets everything.
const describedCampaign = `{"lock": "mutex", "clients": 2, "cycles": 3, "threads": 2, "servers": 3,
"client": "real", "faults": "cut@hold=1,any=2",
"severity": {"pause_ns": 1000000000, "drift_percent": 9}, "strategy": "round-robin", "seed": 5,
"schedules": 70, "keep_going": true, "configurations": [
{"clients": 2, "cycles": 3, "threads": 2, "servers": 3, "client": "real",
"faults": "cut@hold=1,any=2", "severity": {"pause_ns": 1000000000, "drift_percent": 9},
"weight": 2},
{"clients": 1, "cycles": 4, "threads": 2, "servers": 5, "client": "real", "faults": "expire=1",
"severity": {"pause_ns": 1000000000, "drift_percent": 9}, "weight": 1}],
"required_coverage": ["cut@hold"]}`

// A description has the stored names, and makes the campaign that it describes. Descriptions that
// differ say in what.
func TestDescriptionFormat(t *testing.T) {
	s := *locktest.Scenario(subjects.Mutex(), 2, 3, 0)
	s.Faults, s.Severity = faults.MustParse("cut@hold=1,any=2"), faults.Severity{
		Pause: time.Second, Drift: 9,
	}
	s.Threads, s.Servers, s.Client = 2, 3, scenarios.Real
	other := s
	other.Clients, other.Cycles, other.Servers = 1, 4, 5
	other.Faults = faults.MustParse("expire=1")
	c := &campaign.Campaign{
		Scenario: s, Strategy: "round-robin", Seed: 5, Schedules: 70, KeepGoing: true,
		Configurations: []campaign.Configuration{
			{Scenario: s, Weight: 2}, {Scenario: other, Weight: 1},
		},
	}
	var err error
	if c.RequiredCoverage, err = faults.ParseCoverageCells("cut@hold", c.FaultKinds()); err != nil {
		t.Fatal(err)
	}
	described := shard.Describe(c)
	text, err := json.Marshal(described)
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(describedCampaign), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s, want\n%s", text, describedCampaign)
	}
	var stored shard.Description
	if err := json.Unmarshal([]byte(describedCampaign), &stored); err != nil {
		t.Fatal(err)
	}
	made, err := stored.Make(lockNamed)
	if err != nil {
		t.Fatal(err)
	}
	if again := shard.Describe(made); !reflect.DeepEqual(again, described) {
		t.Errorf("made %+v, was %+v", again, described)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		less := maps.Clone(want)
		delete(less, name)
		text, err := json.Marshal(less)
		var lesser shard.Description
		if err != nil || json.Unmarshal(text, &lesser) != nil {
			t.Fatalf("%s: %v", text, err)
		}
		words := strings.NewReplacer("_", " ", "-", " ")
		difference := words.Replace(stored.Difference(&lesser))
		if !strings.Contains(difference, words.Replace(name)) {
			t.Errorf("without %s: difference %q", name, difference)
		}
	}
}
