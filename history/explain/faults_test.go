package explain_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
)

// An explanation says what the environment must be like for the violation only if no fault strikes
// that every environment has.
func TestAssumptions(t *testing.T) {
	for _, tc := range []struct {
		kinds []faults.Kind
		want  string
	}{
		{nil, "."},
		{[]faults.Kind{faults.Cut, faults.WipeServer}, "its data."},
		{
			[]faults.Kind{faults.WipeServer, faults.FailOver},
			"All faults of this run rest on an assumption about the environment: that a server can " +
				"lose data.",
		},
		{
			[]faults.Kind{faults.JumpClock, faults.SlowClient},
			"environment: that a clock can jump and that clocks can run at different rates.",
		},
	} {
		events := []history.Event{{Kind: history.LockCall, Process: 1}}
		for _, k := range tc.kinds {
			events = append(events, history.Event{
				Kind: history.Fault, Name: k.String(), Server: 1,
			})
		}
		text := explain.Of(events, []*history.Violation{{
			Property: "unknown", Event: len(events) - 1,
		}}).Whys[0].Text
		if !strings.HasSuffix(text, tc.want) || tc.want == "." && strings.Contains(text, "assum") {
			t.Errorf("%v: %q, want %q", tc.kinds, text, tc.want)
		}
	}
}

// A fault ends only by an event that ends a fault of its kind: no healing of another fault of the
// victim ends a pause, and nothing ends a clock that runs slow.
func TestEndsOfFaults(t *testing.T) {
	ends := map[string]string{
		"pause": "resumed at event 2", "partition-link": "healed at event 5",
	}
	for _, name := range []string{
		"cut", "lose-reply", "kill-server", "partition-server", "partition-inbound",
		"partition-outbound", "stall-requests", "stall-replies", "unreachable",
		"partition-link-oneway", "stall-server",
	} {
		ends[name] = "healed at event 4"
	}
	for k := range faults.Kinds {
		victim, other := history.Event{Process: 1}, history.Event{Process: 2}
		switch k.Strikes() {
		case faults.OneServer:
			victim, other = history.Event{Server: 1}, history.Event{Server: 2}
		case faults.LinkToServer:
			victim.Peer, other.Peer = 1, 1
		case faults.LinkOfServers:
			victim, other = history.Event{Server: 1, Peer: 2}, history.Event{Server: 2, Peer: 1}
		case faults.OneClient:
		}
		of := func(victim history.Event, kind history.Kind) history.Event {
			victim.Kind = kind
			return victim
		}
		fault := of(victim, history.Fault)
		fault.Name = k.String()
		text := explain.Of([]history.Event{
			{Kind: history.LockCall, Process: 1},
			fault, of(victim, history.Resumed), of(other, history.Resumed),
			of(victim, history.Healed), of(other, history.Healed),
			{Kind: history.Tick},
		}, []*history.Violation{{Property: "unknown", Event: 6}}).Whys[0].Text
		_, end, found := strings.Cut(strings.TrimSuffix(text, "."), "; ")
		if found != (ends[k.String()] != "") || end != ends[k.String()] {
			t.Errorf("%v: %q ends by %q, want %q", k, text, end, ends[k.String()])
		}
	}
}
