package check_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// sessionOver returns the report of the client library that the session of a watch has ended.
func sessionOver(p int32, path string) history.Event {
	return history.Event{
		Kind: history.WatchEvent, Process: p, Path: path, Name: "not-watching",
		Err: zk.ErrSessionExpired.Error(),
	}
}

func TestSessionLoss(t *testing.T) {
	const outlived = "a lease stood after the client library had said that the session was over"
	type events = []history.Event
	held := events{lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a")}
	then := func(more ...history.Event) events {
		return append(held[:len(held):len(held)],
			more...)
	}
	over, tick := sessionOver(1, "/l/a"), on(history.Tick, 0)
	closing := over
	closing.Err = zk.ErrClosing.Error()
	byWatch := []verdict{
		{name: "nothing"},
		{name: "told, and ended in the same step", events: then(over, state(1, "disconnected"),
			on(history.Send, 1), lost(1, 1), tick)},
		{
			name: "told, and ended a step later", reason: outlived, event: 4,
			events: then(over, tick, lost(1, 1)),
		},
		{name: "told, and entered", reason: outlived, event: 4, events: then(over, enter(1, 1))},
		{
			name: "told, and somebody else moves", reason: outlived, event: 4,
			events: then(over, on(history.Send, 2)),
		},
		{
			name: "told, and a request is served", reason: outlived, event: 4,
			events: then(over, on(history.Serve, 1)),
		},
		{name: "told at the end", events: then(over)},
		{name: "another is told", events: then(sessionOver(2, "/l/a"), tick)},
		{name: "told of another node", events: then(sessionOver(1, "/l"), tick)},
		{name: "told that the client is closed", events: then(closing, tick)},
		{name: "told while it gives the lock back", events: then(over, unlockCall(1, 1), tick)},
		{name: "told before the grant", events: events{
			lockCall(1, 1), created(1, "/l/a", 1), over,
			lockOK(1, 1, "/l/a"), tick,
		}},
		{name: "told after the loss", events: then(lost(1, 1), over, tick)},
		{name: "told after the release", events: then(unlockCall(1, 1), over, tick)},
		{name: "crashed", events: then(over, crash(1), tick)},
		{name: "no path is named", reason: outlived, event: 4, events: events{
			lockCall(1, 1),
			created(1, "/l/a", 1), lockOK(1, 1, ""), over, tick,
		}},
		{
			name: "the next lease", reason: outlived, event: 7,
			events: then(lost(1, 1), created(1, "/l/b", 2), lockOK(1, 2, "/l/b"),
				sessionOver(1, "/l/b"),
				tick),
		},
	}
	judge(t, history.SessionLoss,
		func(e events) *history.Violation { return check.SessionLoss(e, false) },
		append(byWatch,
			verdict{name: "only its state tells", events: then(state(1, "expired"), tick)}))
	judge(t, history.SessionLoss,
		func(e events) *history.Violation { return check.SessionLoss(e, true) },
		append(byWatch,
			verdict{
				name: "its state tells", reason: outlived, event: 4,
				events: then(state(1, "expired"),
					tick),
			},
			verdict{name: "its state tells, and it ends", events: then(state(1, "expired"),
				state(1, "connecting"), lost(1, 1), tick)},
			verdict{name: "the connection is lost", events: then(state(1, "disconnected"), tick)},
			verdict{name: "another's state tells", events: then(state(2, "expired"), tick)}))
}
