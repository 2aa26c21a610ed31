package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
)

// overwriting is a history in which c1 reads a znode, c2 sets it, and c1 sets it too. Both enter.
func overwriting() []history.Event {
	set := &history.Facts{Data: "c1"}
	return []history.Event{
		0: {Kind: history.LockCall, Process: 1, Attempt: 1},
		1: {Kind: history.LockCall, Process: 2, Attempt: 1},
		2: {Kind: history.Send, Process: 1, Request: 1, Op: "get", Path: "/a"},
		3: {Kind: history.Serve, Process: 1, Request: 1, Op: "get", Path: "/a", Zxid: 1},
		4: {Kind: history.Reply, Process: 1, Request: 1, Op: "get", Path: "/a", Zxid: 1},

		5: {Kind: history.Send, Process: 2, Request: 1, Op: "set", Path: "/a"},
		6: {Kind: history.NodeChanged, Process: 2, Path: "/a", Zxid: 2},
		7: {Kind: history.Serve, Process: 2, Request: 1, Op: "set", Path: "/a", Zxid: 2},
		8: {Kind: history.Reply, Process: 2, Request: 1, Op: "set", Path: "/a", Zxid: 2},
		9: {Kind: history.LockReturn, Process: 2, Attempt: 1},

		10: {Kind: history.Send, Process: 1, Request: 2, Op: "set", Path: "/a", Facts: set},
		11: {Kind: history.NodeChanged, Process: 1, Path: "/a", Zxid: 3},
		12: {Kind: history.Serve, Process: 1, Request: 2, Op: "set", Path: "/a", Zxid: 3},
		13: {Kind: history.Reply, Process: 1, Request: 2, Op: "set", Path: "/a", Zxid: 3},
		14: {Kind: history.LockReturn, Process: 1, Attempt: 1},
		15: {Kind: history.Enter, Process: 2},
		16: {Kind: history.Enter, Process: 1},
	}
}

// A write that overwrote another is the cause of two leaders in a term and of tokens out of order.
func TestOverwrittenTerm(t *testing.T) {
	const cause = "c1 overwrote what c2 had written (event 6) since c1's read of /a (event 4): it " +
		"set /a without a version check (event 11). "
	for _, tc := range []struct {
		property history.Property
		evidence history.Evidence
		event    int
		want     string
	}{
		{
			history.OneLeaderPerTerm,
			history.Evidence{Process: 1, Other: 2, Zxid: 5},
			14,
			"c1 leads in term 5 (event 14). That contradicts what is known of the leader c2.",
		},
		{
			history.MonotonicToken,
			history.Evidence{},
			14,
			"c1 was granted the lock at event 14 with token 5, after c2 was granted it at event 9 " +
				"with the higher token 6.",
		},
	} {
		events := overwriting()
		events[9].Zxid, events[14].Zxid = 6, 5
		text := explain.Of(events, []*history.Violation{{
			Property: tc.property, Event: tc.event, Evidence: tc.evidence,
		}}).Whys[0].Text
		if text != cause+tc.want {
			t.Errorf("%s: %q, want %q", tc.property, text, cause+tc.want)
		}
	}
}

// An explanation says that a write was overwritten, and without a version check, only if the
// history proves it.
func TestOverwrote(t *testing.T) {
	three := int32(3)
	const overwrote = "c1 overwrote what c2 had written (event 6) since c1's read of /a " +
		"(event 4): it set /a"
	for _, tc := range []struct {
		name   string
		change func([]history.Event)
		want   string // a prefix; "" if nothing was overwritten
	}{
		{"set", func([]history.Event) {}, overwrote + " without a version check (event 11)."},
		{
			"set with a check",
			func(e []history.Event) { e[10].Facts.Version = &three },
			overwrote + " (event 11).",
		},
		{
			"multi with a check",
			func(e []history.Event) {
				for i := 10; i <= 13; i++ {
					if e[i].Op != "" {
						e[i].Op, e[i].Path = "multi", ""
					}
				}
				e[10].Facts = &history.Facts{Operations: []history.Operation{
					{Op: "check", Path: "/a", Version: &three},
					{Op: "set", Path: "/a", Data: "c1"},
				}}
			},
			overwrote + " (event 11).",
		},
		{
			"read after the write",
			func(e []history.Event) {
				read := slices.Clone(e[2:5])
				copy(e[2:], e[5:9])
				copy(e[6:], read)
			},
			"",
		},
		{
			"a new znode of the same version",
			func(e []history.Event) {
				for i := 5; i <= 8; i++ {
					if e[i].Op = "create"; e[i].Kind == history.NodeChanged {
						e[i].Kind, e[i].Op = history.NodeCreated, ""
					}
				}
			},
			"",
		},
		{
			"a set that was refused",
			func(e []history.Event) {
				e[11] = history.Event{Kind: history.Tick}
				e[12].Err, e[13].Err = "bad version", "bad version"
			},
			"",
		},
	} {
		events := overwriting()
		tc.change(events)
		text := explain.Of(events, []*history.Violation{{
			Property: history.ClientMutualExclusion, Event: 16,
		}}).Whys[0].Text
		if !strings.HasPrefix(text, tc.want) ||
			tc.want == "" && strings.Contains(text, "overwrote") {
			t.Errorf("%s: %q, want %q", tc.name, text, tc.want)
		}
	}
}
