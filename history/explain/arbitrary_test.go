package explain_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/guarantee"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/scenarios/subjects"
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
		everylock.CheckNumbers(t, explain.NewReport("title", timeline.Lock, events, []*history.Violation{v, v}))
	})
}

var paths = []string{"", "/l", "/l/n-0000000000", "/l/n-0000000001", "/x"}

// reasons are those that generators distinguish, and another.
var reasons = []string{
	"reason", guarantee.ReasonNeverArmed, guarantee.ReasonFiredTwice, guarantee.ReasonFiredGone,
	guarantee.ReasonFiredUncaused, guarantee.ReasonNotFired, guarantee.ReasonFiredInPart,
	guarantee.ReasonWrongType, guarantee.ReasonEventOrder, guarantee.ReasonEventInvented,
	guarantee.ReasonEventTwice, guarantee.ReasonReplyFirst, guarantee.ReasonEventLost,
	guarantee.ReasonGoneSilently, guarantee.ReasonRequestOrder, guarantee.ReasonLostCreate,
	guarantee.ReasonReplyOrder, guarantee.ReasonOlderState, guarantee.ReasonStaleSync,
	guarantee.ReasonCommitOrder, guarantee.ReasonAppliedEarly, guarantee.ReasonNoMajority,
	guarantee.ReasonApplyOrder, guarantee.ReasonEndedSession, guarantee.ReasonCreatedTwice,
	guarantee.ReasonEphemeralLeft, guarantee.ReasonExpiredEarly,
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
func TestDamagedHistories(t *testing.T) { everylock.DamagedHistories(t, subjects.All()) }
