package everylock

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// DamagedHistories tests that a recorded history in which events are missing, or in another order,
// is explained without an error.
func DamagedHistories(t *testing.T, all []scenarios.Subject) {
	t.Helper()
	var runs []*timeline.Timeline
	for _, name := range Recordings(t) {
		if real.RaceDetector && name == "zk-lock" {
			continue // The real client is not deterministic under the race detector.
		}
		runs = append(runs, &replay(t, name, all).Timeline)
	}
	for range long.Count(1, 10) { // Each check draws 100 damaged histories.
		rapid.Check(t, func(t *rapid.T) {
			of := rapid.SampledFrom(runs).Draw(t, "run")
			damaged, at := slices.Clone(of.Events), of.Violations[0].Event
			for range rapid.IntRange(1, 30).Draw(t, "damages") {
				i := rapid.IntRange(0, len(damaged)-1).Draw(t, "event")
				switch rapid.IntRange(0, 2).Draw(t, "damage") {
				case 0:
					if i != at {
						damaged = slices.Delete(damaged, i, i+1)
					}
					if i < at {
						at--
					}
				case 1:
					damaged[i].Facts = nil
				default:
					j := rapid.IntRange(0, len(damaged)-1).Draw(t, "other")
					if i != at && j != at {
						damaged[i], damaged[j] = damaged[j], damaged[i]
					}
				}
			}
			v := *of.Violations[0]
			v.Event = at
			CheckNumbers(t, explain.NewReport("", of.Of, damaged, []*history.Violation{&v}))
		})
	}
}

// CheckNumbers checks that a report refers to events of its history only.
func CheckNumbers(t *rapid.T, report *explain.Report) {
	events := len(report.Timeline.Events)
	for _, why := range report.Whys {
		if strings.Contains(why.Text, "event -") || strings.Contains(why.Text, "%!") ||
			why.Text == "" {
			t.Fatalf("%s: %q", why.Violation.Property, why.Text)
		}
		for _, event := range why.Events {
			if event < 0 || event >= events {
				t.Fatalf("%s: events %v of %d", why.Violation.Property, why.Events, events)
			}
		}
	}
	var text bytes.Buffer
	if err := report.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := report.Decisive(&text); err != nil {
		t.Fatal(err)
	}
}
