package explain_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
)

// Long names and watches that stay are explained by what came before them.
func TestWaste(t *testing.T) {
	limits := history.DefaultLimits
	limits.NameLength, limits.NoExistWatches = 4, true
	node := func(kind history.Kind, process int32, path string) history.Event {
		return history.Event{Kind: kind, Process: process, Path: path, Session: int64(process)}
	}
	watch := history.Event{
		Kind: history.WatchArmed, Process: 1, Path: "/l/n-01", Name: "exist", Request: 1, Watch: 1,
	}
	for _, tc := range []struct {
		events []history.Event
		want   string
	}{
		{
			[]history.Event{node(history.NodeCreated, 1, "/l/n-002")},
			"c1 created n-002 (event 0), whose name has 5 bytes, more than the lock allows.",
		},
		{
			[]history.Event{
				node(history.NodeCreated, 1, "/l/n-01"), node(history.NodeCreated, 2, "/l/n-02"),
				node(history.NodeCreated, 1, "/l/n-n-01"),
			},
			"c1 created n-n-01 (event 2), whose name has 6 bytes, more than the lock allows. An " +
				"earlier node of it in the same directory, created at event 0, has a name of 4 bytes.",
		},
		{
			[]history.Event{watch},
			"c1 set a watch on n-01 (event 0), which does not exist. The watch stays until a node " +
				"of that name is created or the session ends.",
		},
		{
			[]history.Event{
				node(history.NodeCreated, 2, "/l/n-01"), node(history.NodeDeleted, 2, "/l/n-01"), watch,
			},
			"c1 set a watch on n-01 (event 2), which does not exist. It had been deleted by c2 " +
				"(event 1). The watch stays until a node of that name is created or the session ends.",
		},
	} {
		v := check.NoHerd(tc.events, limits)
		if v == nil {
			t.Errorf("%v: no violation", tc.events)
			continue
		}
		got := explain.Of(tc.events, []*history.Violation{v}).Whys[0].Text
		if got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
