package explain_test

import (
	"fmt"
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

// A lost reply says which, and what its client does not know.
func TestLostReplies(t *testing.T) {
	call := history.Event{Kind: history.LockCall, Process: 1}
	fault := history.Event{Kind: history.Fault, Name: "lose-reply", Process: 1}
	request := func(kind history.Kind, process, number int32, err string) history.Event {
		return history.Event{
			Kind: kind, Process: process, Request: number, Op: "delete",
			Path: fmt.Sprintf("/lock/n-%d", number), Err: err,
		}
	}
	send, serve := request(history.Send, 1, 1, ""), request(history.Serve, 1, 1, "")
	lost, tick := request(history.Reply, 1, 1, "closed"), history.Event{Kind: history.Tick}
	deleted := history.Event{Kind: history.NodeDeleted, Process: 1, Path: "/lock/n-1", Zxid: 7}
	serve.Zxid = deleted.Zxid
	executed := func(process int32, op string) history.Event {
		return history.Event{Kind: history.Executed, Process: process, Op: op, MayEndLock: op[0] == 'S'}
	}
	for _, tc := range []struct {
		name, want string
		events     []history.Event
	}{
		{
			"none", "the connection of c1 breaks before the replies to its requests arrive, so " +
				"that the client does not know which of them took effect.",
			[]history.Event{call, send, fault, lost, tick},
		},
		{
			"one", "the reply to c1's delete n-1 is lost with the connection, so that c1 does " +
				"not know whether the request took effect.",
			[]history.Event{call, send, fault, deleted, serve, lost, tick},
		},
		{
			"a read", "the reply to c1's delete n-1 is lost with the connection.",
			[]history.Event{call, send, fault, serve, lost, tick},
		},
		{
			"another client's, and one sent later", "the reply to c1's delete n-1 is lost",
			[]history.Event{
				call, send, request(history.Send, 2, 2, ""), serve, fault,
				request(history.Serve, 2, 2, ""), request(history.Reply, 2, 2, "closed"), lost,
				request(history.Send, 1, 3, ""), request(history.Serve, 1, 3, ""),
				request(history.Reply, 1, 3, "closed"), tick,
			},
		},
		{
			"two", "the replies to c1's delete n-1 and delete n-2 are lost with the connection, " +
				"so that c1 does not know which requests took effect.",
			[]history.Event{
				call, send, request(history.Send, 1, 2, ""), fault, deleted, serve,
				request(history.Serve, 1, 2, ""), lost, request(history.Reply, 1, 2, "closed"), tick,
			},
		},
		{
			"a command", "the connection of c1 breaks before the replies to its requests arrive",
			[]history.Event{
				call, fault, executed(2, "GET lock"), executed(1, "SET lock 1 nx"), tick,
				executed(1, "GET lock"), tick,
			},
		},
	} {
		text := explain.Of(tc.events, []*history.Violation{{
			Property: "unknown", Event: len(tc.events) - 1,
		}}).Whys[0].Text
		if !strings.Contains(text, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, text, tc.want)
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
		"partition-link-oneway", "stall-server", "pause-server", "stall-disk",
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
