package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestTermsInOrder(t *testing.T) {
	const older = "a process saw the leader of an older term after that of a newer one"
	type events = []history.Event
	judge(t, history.TermsInOrder, check.TermsInOrder, []verdict{
		{name: "nothing"},
		{name: "the same twice, and a later one", events: events{
			observed(3, 1, "/l/1", 5), observed(3, 1, "/l/1", 5), observed(3, 2, "/l/2", 9),
		}},
		{name: "each observer for itself", events: events{
			observed(3, 2, "/l/2", 6), observed(4, 1, "/l/1", 5),
		}},
		{name: "none in between", events: events{
			observed(3, 1, "/l/1", 5), observed(3, 0, "", 0), observed(3, 1, "/l/1", 5),
		}},
		{
			name: "back to the term before", reason: older, event: 2,
			events: events{
				on(history.Tick, 0), observed(3, 2, "/l/2", 6), observed(3, 1, "/l/1", 5),
			},
		},
		{
			name: "a leader sees one before it", reason: older, event: 2,
			events: events{
				on(history.Tick, 0), elected(2, "/l/2", 6), observed(2, 1, "/l/1", 5),
			},
		},
		{
			name: "elected in a term before one that it has seen", reason: older, event: 2,
			events: events{
				on(history.Tick, 0), observed(2, 1, "/l/1", 6), elected(2, "/l/2", 5),
			},
		},
		{name: "a candidate that fails", events: events{
			observed(2, 1, "/l/1", 6), lockFailed(2, 1), lockOK(2, 2, "/l/2"),
		}},
	})
}
