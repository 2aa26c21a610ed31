package cause_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// events is a history in which c2 watches the znode of c1, whose session expires after a fault.
// c3 has nothing to do with it.
var events = []history.Event{
	0: {Kind: history.LockCall, Process: 1, Attempt: 1},
	1: {Kind: history.Send, Process: 1, Request: 1, Op: "create", Path: "/l/n-"},
	2: {Kind: history.NodeCreated, Process: 1, Path: "/l/n-0000000000", Zxid: 1, Session: 7},
	3: {Kind: history.Serve, Process: 1, Request: 1, Op: "create", Path: "/l/n-", Zxid: 1},
	4: {
		Kind: history.Reply, Process: 1, Request: 1, Op: "create", Path: "/l/n-0000000000",
		Zxid: 1,
	},
	5:  {Kind: history.LockCall, Process: 3, Attempt: 1},
	6:  {Kind: history.LockCall, Process: 2, Attempt: 1},
	7:  {Kind: history.Send, Process: 2, Request: 1, Op: "sync", Path: "/l"},
	8:  {Kind: history.Serve, Process: 2, Request: 1, Op: "sync", Path: "/l", Zxid: 1},
	9:  {Kind: history.Reply, Process: 2, Request: 1, Op: "sync", Path: "/l", Zxid: 1},
	10: {Kind: history.Send, Process: 2, Request: 2, Op: "exists+watch", Path: "/l/n-0000000000"},
	11: {
		Kind: history.WatchArmed, Process: 2, Request: 2, Watch: 1, Path: "/l/n-0000000000",
		Name: "data",
	},
	12: {
		Kind: history.Serve, Process: 2, Request: 2, Op: "exists+watch", Path: "/l/n-0000000000",
		Zxid: 1,
	},
	13: {
		Kind: history.Reply, Process: 2, Request: 2, Op: "exists+watch", Path: "/l/n-0000000000",
		Zxid: 1,
	},
	14: {Kind: history.Fault, Process: 1, Name: "cut"},
	15: {Kind: history.Send, Process: 3, Request: 1, Op: "exists", Path: "/other"},
	16: {Kind: history.Tick},
	17: {Kind: history.NodeDeleted, Process: 1, Path: "/l/n-0000000000", Zxid: 2, Session: 7},
	18: {
		Kind: history.WatchFired, Process: 2, Watch: 1, Path: "/l/n-0000000000", Zxid: 2,
		Name: "deleted",
	},
	19: {Kind: history.SessionExpired, Process: 1, Session: 7, Zxid: 2},
	20: {
		Kind: history.WatchEvent, Process: 2, Watch: 1, Path: "/l/n-0000000000", Zxid: 2,
		Name: "deleted",
	},
	21: {Kind: history.LockReturn, Process: 2, Attempt: 1},
	22: {Kind: history.Reply, Process: 3, Request: 1, Op: "exists", Err: "no node", Zxid: 2},
}

func TestSlice(t *testing.T) {
	g := cause.New(events)
	for _, test := range []struct {
		name    string
		targets []int
		want    []int
	}{
		// Neither c3 nor c2's sync nor the fired watch, which its event shows.
		{"grant", []int{21}, []int{0, 2, 6, 13, 14, 17, 20, 21}},
		{"watch event", []int{20}, []int{0, 2, 6, 13, 14, 17, 20}},
		{"expiry", []int{17}, []int{0, 2, 14, 17}},
		{"reply", []int{22}, []int{5, 22}},
		{"request without its reply", []int{15}, []int{5, 15}},
		{"none", nil, []int{}},
		{"outside", []int{-1, 99}, []int{}},
	} {
		if got := g.Slice(test.targets); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// A read whose reply arrives after a change that it does not show is shown with its service too.
func TestStaleRead(t *testing.T) {
	g := cause.New([]history.Event{
		0: {Kind: history.LockCall, Process: 1, Attempt: 1},
		1: {Kind: history.Send, Process: 1, Request: 1, Op: "exists", Path: "/a"},
		2: {Kind: history.Serve, Process: 1, Request: 1, Op: "exists", Path: "/a", Err: "no node"},
		3: {Kind: history.Send, Process: 2, Request: 1, Op: "create", Path: "/a"},
		4: {Kind: history.NodeCreated, Process: 2, Path: "/a", Zxid: 1},
		5: {Kind: history.Serve, Process: 2, Request: 1, Op: "create", Path: "/a", Zxid: 1},
		6: {Kind: history.Reply, Process: 1, Request: 1, Op: "exists", Err: "no node", Zxid: 1},
		7: {Kind: history.LockReturn, Process: 1, Attempt: 1},
	})
	if got := g.Slice([]int{7, 4}); !slices.Equal(got, []int{0, 2, 4, 6, 7}) {
		t.Errorf("got %v", got)
	}
}

// Causes come before their effects, except that a session's end and its deletions are one
// transaction. Targets are in their slice, a slice is the slice of itself, and it has no process
// without a cause.
func TestSlicesOfRuns(t *testing.T) {
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	scenario := &scenarios.Scenario{
		Subject: subjects.Textbook(), Clients: 3,
		Cycles: 1,
	}
	if err := scenario.Faults.UnmarshalText([]byte("any=2")); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		result := runner.Run(scenario, strategy.NewRandom(rapid.Uint64().Draw(t, "seed"), 0))
		g := cause.New(result.Events)
		for i := range result.Events {
			for _, c := range g.Causes(i) {
				if c >= i && g.Events[c].Zxid != g.Events[i].Zxid {
					t.Fatalf("event %d has the later cause %d", i, c)
				}
			}
		}
		target := rapid.IntRange(0, len(result.Events)-1).Draw(t, "target")
		slice := g.Slice([]int{target})
		if !slices.Contains(slice, target) || !slices.IsSorted(slice) {
			t.Fatalf("slice %v of %d", slice, target)
		}
		if again := g.Slice([]int{target}); !slices.Equal(again, slice) {
			t.Fatalf("slices %v and %v of %d", slice, again, target)
		}
		if last := slice[len(slice)-1]; last > target &&
			g.Events[last].Zxid != g.Events[target].Zxid {
			t.Fatalf("slice %v of %d ends later", slice, target)
		}
	})
}

// Written and Version tell what a request has written, and nothing that the history does not show.
func TestWritten(t *testing.T) {
	three := int32(3)
	g := cause.New([]history.Event{
		0: {
			Kind: history.Send, Process: 1, Request: 1, Op: "multi",
			Facts: &history.Facts{Operations: []history.Operation{
				{Op: "create", Path: "/a/n-", Data: "x"},
				{Op: "set", Path: "/a", Data: "y", Version: &three},
			}},
		},
		1: {Kind: history.NodeCreated, Process: 1, Path: "/a/n-0000000000", Zxid: 1},
		2: {Kind: history.NodeChanged, Process: 1, Path: "/a", Zxid: 1},
		3: {Kind: history.Serve, Process: 1, Request: 1, Op: "multi", Zxid: 1},
		4: {
			Kind: history.Send, Process: 1, Request: 2, Op: "set", Path: "/a/n-0000000000",
			Facts: &history.Facts{Line: "lock.go:7"},
		},
		5: {Kind: history.NodeChanged, Process: 1, Path: "/a/n-0000000000", Zxid: 2},
		6: {
			Kind: history.Serve, Process: 1, Request: 2, Op: "set", Path: "/a/n-0000000000",
			Zxid: 2,
		},
		7: {Kind: history.NodeChanged, Process: 2, Path: "/a/n-0000000000", Zxid: 3},
	})
	for _, tc := range []struct {
		change  int
		data    string
		checked bool
		known   bool
		version int32 // -1 if it is unknown
	}{
		{1, "x", false, true, 0},
		{2, "y", true, true, -1},
		{5, "", false, true, 1},
		{7, "", false, false, 2},
	} {
		w, known := g.Written(tc.change)
		if w.Data != tc.data || (w.Version != nil) != tc.checked || known != tc.known {
			t.Errorf("event %d: wrote %+v, known %v; want %+v", tc.change, w, known, tc)
		}
		version, ok := g.Version(tc.change)
		if ok != (tc.version >= 0) || ok && version != tc.version {
			t.Errorf("event %d: version %d, known %v; want %d", tc.change, version, ok, tc.version)
		}
	}
}

// A set in a multi that also checks the version of the znode requires that version.
func TestWrittenByCheckingMulti(t *testing.T) {
	three := int32(3)
	g := cause.New([]history.Event{
		0: {
			Kind: history.Send, Process: 1, Request: 1, Op: "multi",
			Facts: &history.Facts{Operations: []history.Operation{
				{Op: "check", Path: "/a", Version: &three},
				{Op: "set", Path: "/a", Data: "y"},
				{Op: "set", Path: "/b", Data: "z"},
			}},
		},
		1: {Kind: history.NodeChanged, Process: 1, Path: "/a", Zxid: 1},
		2: {Kind: history.NodeChanged, Process: 1, Path: "/b", Zxid: 1},
		3: {Kind: history.Serve, Process: 1, Request: 1, Op: "multi", Zxid: 1},
	})
	if w, known := g.Written(1); !known || w.Data != "y" || w.Version == nil || *w.Version != 3 {
		t.Errorf("the set of the checked znode wrote %+v, known %v", w, known)
	}
	if w, known := g.Written(2); !known || w.Data != "z" || w.Version != nil {
		t.Errorf("the other set wrote %+v, known %v", w, known)
	}
}

// The read that a process has compared before it sets or deletes a znode is a cause, unless it
// deletes a znode without data.
func TestComparedRead(t *testing.T) {
	yes := true
	for _, tc := range []struct {
		op, data string
		want     []int
	}{
		{"set", "", []int{0, 2, 4}},
		{"delete", "c1", []int{0, 2, 4}},
		{"delete", "", []int{0, 4}},
		{"exists", "c1", []int{0, 4}},
	} {
		g := cause.New([]history.Event{
			0: {Kind: history.LockCall, Process: 1, Attempt: 1},
			1: {Kind: history.Send, Process: 1, Request: 1, Op: "get", Path: "/a"},
			2: {
				Kind: history.Reply, Process: 1, Request: 1, Op: "get", Path: "/a", Zxid: 1,
				Facts: &history.Facts{Exists: &yes, Data: tc.data},
			},
			3: {Kind: history.LockCall, Process: 2, Attempt: 1},
			4: {Kind: history.Send, Process: 1, Request: 2, Op: tc.op, Path: "/a"},
		})
		if got := g.Slice([]int{4}); !slices.Equal(got, tc.want) {
			t.Errorf("%s after reading %q: %v, want %v", tc.op, tc.data, got, tc.want)
		}
	}
}
