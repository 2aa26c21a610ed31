package check_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// Each history tests a property the given number of times.
func TestExercise(t *testing.T) {
	type events = []history.Event
	after := func(before events, more ...history.Event) events {
		return append(before[:len(before):len(before)], more...)
	}
	fair := on(history.FairPhase, 0)
	struck := func(p int32, name string) history.Event {
		return history.Event{Kind: history.Fault, Process: p, Name: name}
	}
	two := events{lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2)}
	first := lockOK(1, 1, "/l/a")
	for _, tc := range []struct {
		property history.Property
		name     string
		events   events
		want     int
	}{
		{history.ServerMutualExclusion, "another waits", after(two, first), 1},
		{
			history.ServerMutualExclusion, "another has it",
			after(two, first, lockOK(2, 1, "/l/b")),
			2,
		},
		{history.ServerMutualExclusion, "the node is gone", after(two, deleted(1, "/l/a", 3),
			first), 0},
		{history.ServerMutualExclusion, "the other is gone", after(two, deleted(2, "/l/b", 3),
			first), 0},
		{
			history.ServerMutualExclusion, "the other has given up",
			after(two, lockFailed(2, 1), first), 0,
		},
		{history.ServerMutualExclusion, "another lock", events{
			lockCall(1, 1), created(1, "/l/a", 1),
			lockCall(2, 1), created(2, "/m/b", 2), first,
		}, 0},
		{
			history.ServerMutualExclusion, "no node is known", after(two[:2:2], lockOK(2, 1, "/x")),
			0,
		},
		{
			history.ServerMutualExclusion, "alone, with two nodes",
			events{lockCall(1, 1), created(1, "/l/a", 1), created(1, "/l/b", 2), first},
			0,
		},
		{history.FIFO, "another waits", after(two, first), 1},

		{history.ClientMutualExclusion, "another asks", after(two[:2:2], enter(2, 1)), 1},
		{history.ClientMutualExclusion, "another has it", events{
			lockCall(1, 1), first,
			enter(2, 1),
		}, 1},
		{history.ClientMutualExclusion, "another is inside", events{enter(1, 1), enter(2, 1)}, 1},
		{history.ClientMutualExclusion, "another has left", events{
			lockCall(1, 1), first, enter(1, 1),
			on(history.Leave, 1), unlockOK(1, 1), enter(2, 1),
		}, 0},
		{history.ClientMutualExclusion, "alone", events{lockCall(1, 1), first, enter(1, 1)}, 0},

		{history.Fencing, "another writes", events{
			wrote(1, 1, 1), wrote(2, 1, 2),
			refused(wrote(1, 1, 0)),
		}, 2},
		{history.Fencing, "the same writes again", events{wrote(1, 1, 1), wrote(1, 1, 2)}, 0},
		{history.NoLostUpdate, "writes", events{wrote(1, 1, 1), refused(wrote(2, 1, 2))}, 1},
		{history.NoLostWatch, "fires", events{fired(1, 1, "/l/a", 2)}, 1},

		{history.Progress, "calls that are open", after(two, first, unlockCall(1, 1), fair), 2},
		{history.Progress, "calls that have returned", after(two, first, unlockCall(1, 1),
			unlockOK(1, 1),
			fair), 1},
		{
			history.Progress, "calls that come",
			events{fair, lockCall(1, 1), first, unlockCall(1, 1)},
			2,
		},
		{history.NoStarvation, "before it is fair", after(two, first), 0},
		{history.NoStarvation, "once it is fair", after(two, fair, first), 1},
		{history.NoLivelock, "requests", events{
			on(history.Send, 1), fair, on(history.Send, 1),
			on(history.Reply, 1),
		}, 1},

		{history.SessionLoss, "while it has the lock", after(two, first, state(1, "expired"),
			state(1, "disconnected")), 1},
		{history.SessionLoss, "while it waits", after(two, first, state(2, "expired")), 0},
		{
			history.SessionLoss, "after it has given the lock back",
			after(two, first, unlockCall(1, 1),
				unlockOK(1, 1), state(1, "expired")), 0,
		},

		{history.NoSpuriousFailure, "struck twice in an attempt", events{
			lockCall(1, 1), struck(1, "cut"),
			struck(1, "cut"), lockFailed(1, 1),
		}, 1},
		{history.NoSpuriousFailure, "struck in two attempts", events{
			lockCall(1, 1), struck(1, "cut"),
			lockFailed(1, 1), lockCall(1, 2), struck(1, "cut"), first,
		}, 2},
		{history.NoSpuriousFailure, "not struck again", events{
			lockCall(1, 1), struck(1, "cut"),
			lockFailed(1, 1), lockCall(1, 2), first,
		}, 1},
		{
			history.NoSpuriousFailure, "given up",
			events{lockCall(1, 1), cancelled(1), lockFailed(1, 1)},
			0,
		},
		{history.NoSpuriousFailure, "struck before", events{
			struck(1, "cut"), lockCall(1, 1),
			lockFailed(1, 1),
		}, 0},
		{history.NoSpuriousFailure, "another was struck", events{
			lockCall(1, 1), lockCall(2, 1),
			struck(2, "cut"), lockFailed(1, 1),
		}, 0},

		{history.NoLeakedNodes, "a failure", after(two, lockFailed(1, 1)), 1},
		{
			history.NoLeakedNodes, "an unlock", after(two, first, unlockCall(1, 1), unlockOK(1, 1)),
			1,
		},
		{
			history.NoLeakedNodes, "a service without nodes",
			events{lockCall(1, 1), first, unlockCall(1, 1), unlockOK(1, 1)},
			0,
		},
		{history.LossNotification, "gone", after(two, first, deleted(1, "/l/a", 3)), 1},
		{
			history.LossNotification, "gone after unlock was called",
			after(two, first, unlockCall(1, 1),
				deleted(1, "/l/a", 3)), 0,
		},
		{
			history.LossNotification, "the node of one that waits",
			after(two, deleted(1, "/l/a", 3)),
			0,
		},
		{history.LossNotification, "told", events{lost(1, 1)}, 1},
		{history.Reentrancy, "once more", events{reentered(1, 1), reenterFailed(1, 1)}, 1},
		{history.NoHerd, "released", after(two, first, unlockCall(1, 1), deleted(1, "/l/a", 3)), 1},
		{history.NoHerd, "released for nobody", after(two[:2:2], first, unlockCall(1, 1),
			deleted(1, "/l/a", 3)), 0},
		{history.NoHerd, "a waiter goes", after(two, deleted(1, "/l/a", 3)), 0},
		{history.MonotonicToken, "two", events{token(1, 1, 5), token(2, 1, 6)}, 1},
		{history.MonotonicToken, "one", events{token(1, 1, 5), token(2, 1, 0)}, 0},
		{history.Linearizable, "grants", after(two, first, lockFailed(2, 1)), 1},
		{history.Promptness, "a call gives up in time", timedOut(5, 5), 1},
		{history.Promptness, "a call gives up late", timedOut(5, 6), 1},
		{history.Promptness, "a call fails before", timedOut(5, 4), 0},
		{history.Promptness, "a try fails", timedOut(0, 0), 1},
		{"none", "no such property", after(two, first), 0},
	} {
		var x, sum check.Vacuity
		x.Add(tc.events, history.Limits{})
		if got := x.Of(tc.property); got != tc.want {
			t.Errorf("%s, %s: %d, want %d", tc.property, tc.name, got, tc.want)
		}
		sum.Merge(&x)
		sum.Merge(&x)
		if got := sum.Of(tc.property); got != 2*tc.want {
			t.Errorf("%s, %s: %d twice, want %d", tc.property, tc.name, got, 2*tc.want)
		}
	}
}

// timedOut are the events of a call with a time limit that fails at a time.
func timedOut(limit, at time.Duration) []history.Event {
	return []history.Event{
		{Kind: history.TimedCall, Process: 1, Validity: limit},
		{Kind: history.TimedReturn, Process: 1, At: at, Err: "timeout"},
	}
}
