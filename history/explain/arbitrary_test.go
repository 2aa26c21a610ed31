package explain_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// A history from a file may lack any event, and its violations may be anywhere. The explanation
// then says less, and never refers to an event that is not there.
func TestArbitraryHistories(t *testing.T) {
	properties := append(check.Properties(), history.ZooKeeperConsistency, "no-panic",
		"no-goroutine-leak", "unknown")
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(arbitraryEvent), 1, 25).Draw(t, "events")
		v := &history.Violation{
			Property: rapid.SampledFrom(properties).Draw(t, "property"),
			Event:    rapid.IntRange(-1, len(events)).Draw(t, "event"),
			Reason:   rapid.SampledFrom(reasons).Draw(t, "reason"), Detail: "detail",
			Evidence: history.Evidence{
				Process: int32(rapid.IntRange(0, 2).Draw(t, "process")),
				Other:   int32(rapid.IntRange(0, 2).Draw(t, "other")),
				Path:    rapid.SampledFrom(paths).Draw(t, "path"),
				Watch:   int32(rapid.IntRange(0, 2).Draw(t, "watch")),
				Events: rapid.SliceOfN(rapid.IntRange(-1, len(events)), 0, 2).Draw(t,
					"earlier"),
				Count:   rapid.IntRange(0, 31).Draw(t, "count"),
				Changes: rapid.IntRange(0, 2).Draw(t, "changes"),
				Zxid:    int64(rapid.IntRange(0, 3).Draw(t, "zxid")),
				After:   int64(rapid.IntRange(0, 3).Draw(t, "after")),
				Message: "message",
			},
		}
		checkNumbers(t, explain.NewReport("title", events, []*history.Violation{v, v}))
	})
}

var paths = []string{"", "/l", "/l/n-0000000000", "/l/n-0000000001", "/x"}

// reasons are those that generators distinguish, and another.
var reasons = []string{
	"reason", check.ReasonNeverArmed, check.ReasonFiredTwice, check.ReasonFiredGone,
	check.ReasonFiredUncaused, check.ReasonNotFired, check.ReasonFiredInPart,
	check.ReasonWrongType, check.ReasonEventOrder, check.ReasonEventInvented,
	check.ReasonEventTwice, check.ReasonReplyFirst, check.ReasonEventLost,
	check.ReasonGoneSilently, check.ReasonRequestOrder, check.ReasonLostCreate,
	check.ReasonReplyOrder, check.ReasonOlderState, check.ReasonStaleSync,
	check.ReasonCommitOrder, check.ReasonAppliedEarly, check.ReasonNoMajority,
	check.ReasonApplyOrder, check.ReasonEndedSession, check.ReasonCreatedTwice,
	check.ReasonEphemeralLeft, check.ReasonExpiredEarly,
}

// checkNumbers checks that a report refers to events of its history only.
func checkNumbers(t *rapid.T, report *explain.Report) {
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

func arbitraryEvent(t *rapid.T) history.Event {
	e := history.Event{
		Kind:    history.Kind(rapid.IntRange(1, int(history.ResourceWrite)).Draw(t, "kind")),
		Process: int32(rapid.IntRange(0, 2).Draw(t, "process")),
		Attempt: 1,
		Request: int32(rapid.IntRange(0, 3).Draw(t, "request")),
		Watch:   int32(rapid.IntRange(0, 2).Draw(t, "watch")),
		Zxid:    int64(rapid.IntRange(0, 3).Draw(t, "zxid")),
		Session: int64(rapid.IntRange(0, 2).Draw(t, "session")),
		Op: rapid.SampledFrom([]string{
			"create", "delete", "children", "exists+watch", "exists", "get", "set", "multi", "sync",
		}).Draw(t, "op"),
		Path: rapid.SampledFrom(paths).Draw(t, "path"),
		Name: rapid.SampledFrom([]string{
			"", "expired", "disconnected", "has-session", "deleted", "data", "exist", "child",
			"cut",
		}).Draw(t, "name"),
		Err: rapid.SampledFrom([]string{"", "", "no node", "closed"}).Draw(t, "err"),
	}
	if rapid.Bool().Draw(t, "facts") {
		e.Facts = &history.Facts{Children: []history.Child{
			{Name: "n-0000000000"}, {Name: "n-0000000001"},
		}, Operations: []history.Operation{{Op: "delete", Path: "/x"}}}
	}
	return e
}

// A history in which events are missing, or in another order, is explained without an error.
func TestDamagedHistories(t *testing.T) {
	type run struct {
		events     []history.Event
		violations []*history.Violation
	}
	var runs []run
	for _, name := range recordings(t) {
		if real.RaceDetector && name == "zk-lock" {
			continue // The real client is not deterministic under the race detector.
		}
		events, violations := replay(t, name)
		runs = append(runs, run{events, violations})
	}
	for range 10 { // Each check draws 100 damaged histories.
		rapid.Check(t, func(t *rapid.T) {
			of := rapid.SampledFrom(runs).Draw(t, "run")
			damaged, at := slices.Clone(of.events), of.violations[0].Event
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
			v := *of.violations[0]
			v.Event = at
			checkNumbers(t, explain.NewReport("", damaged, []*history.Violation{&v}))
		})
	}
}
