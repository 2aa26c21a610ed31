package guarantee_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/guarantee"
)

// Requests are handled in order on each connection of a process, and not across its connections.
func TestConsistencyOfConnections(t *testing.T) {
	message := func(kind history.Kind, request, connection int32, zxid int64) history.Event {
		return history.Event{
			Kind: kind, Process: 1, Request: request, Connection: connection, Op: "get",
			Path: "/l", Zxid: zxid,
		}
	}
	send := []history.Event{
		message(history.Send, 1, 0, 0), message(history.Send, 2, 2, 0),
		message(history.Send, 3, 0, 0),
	}
	for _, test := range []struct {
		name   string
		then   []history.Event
		reason string
	}{
		{"the second connection is first", []history.Event{
			message(history.Serve, 2, 2, 9), message(history.Serve, 1, 0, 5),
			message(history.Reply, 2, 2, 9), message(history.Reply, 1, 0, 5),
		}, ""},
		{"one connection out of order", []history.Event{
			message(history.Serve, 3, 0, 5), message(history.Serve, 1, 0, 5),
		}, guarantee.ReasonRequestOrder},
		{"one connection goes back", []history.Event{
			message(history.Serve, 1, 0, 5), message(history.Serve, 3, 0, 4),
			message(history.Reply, 1, 0, 5), message(history.Reply, 3, 0, 4),
		}, guarantee.ReasonOlderState},
	} {
		got := ""
		if v := guarantee.ZooKeeperConsistency(append(send[:3:3], test.then...)); v != nil {
			got = v.Reason
		}
		if got != test.reason {
			t.Errorf("%s: %q, want %q", test.name, got, test.reason)
		}
	}
}

// The events of watches are in order on each connection, and not across connections.
func TestWatchesOfConnections(t *testing.T) {
	event := func(kind history.Kind, watch, connection int32, zxid int64) history.Event {
		return history.Event{
			Kind: kind, Process: 1, Watch: watch, Connection: connection, Path: "/l", Zxid: zxid,
			Name: "changed",
		}
	}
	for _, connection := range []int32{0, 2} {
		arm, rearm := event(history.WatchArmed, 1, 0, 0), event(history.WatchArmed, 2, connection, 0)
		arm.Name, rearm.Name = "data", "data"
		v := guarantee.NoLostWatch([]history.Event{
			arm,
			{Kind: history.NodeChanged, Process: 2, Path: "/l", Zxid: 5},
			event(history.WatchFired, 1, 0, 5),
			rearm,
			{Kind: history.NodeChanged, Process: 2, Path: "/l", Zxid: 6},
			event(history.WatchFired, 2, connection, 6),
			event(history.WatchEvent, 2, connection, 6), event(history.WatchEvent, 1, 0, 5),
		})
		if got := v != nil && v.Reason == guarantee.ReasonEventOrder; got != (connection == 0) {
			t.Errorf("connection %d: %+v", connection, v)
		}
	}
}
