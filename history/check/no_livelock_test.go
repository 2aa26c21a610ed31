package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestNoLivelock(t *testing.T) {
	const livelock = "a process sends requests without end while no process progresses"
	type events = []history.Event
	fair := on(history.FairPhase, 0)
	sends := func(p int32, n int, at time.Duration) events {
		return slices.Repeat(events{{Kind: history.Send, Process: p, At: at}}, n)
	}
	three := history.Limits{RequestsPerSecond: 3}
	judge(t, history.NoLivelock,
		func(e []history.Event) *history.Violation { return check.NoLivelock(e, three) },
		[]verdict{
			{name: "nothing"},
			{name: "too many", reason: livelock, event: 4, events: slices.Concat(events{fair},
				sends(1, 4, 0))},
			{name: "just enough", events: slices.Concat(events{fair}, sends(1, 3, 0))},
			{
				name: "within a second", reason: livelock, event: 4,
				events: slices.Concat(events{fair},
					sends(1, 3, 0), sends(1, 1, time.Second-1)),
			},
			{name: "in two seconds", events: slices.Concat(events{fair}, sends(1, 3, 0),
				sends(1, 3, time.Second))},
			{name: "before it was fair", events: slices.Concat(sends(1, 4, 0), events{fair})},
			{name: "two processes", events: slices.Concat(events{fair}, sends(1, 3, 0),
				sends(2, 3, 0))},
			{name: "a process progresses", events: slices.Concat(events{fair}, sends(1, 3, 0),
				events{on(history.Enter, 2)}, sends(1, 3, 0))},
			{name: "an attempt returns", events: slices.Concat(events{fair}, sends(1, 3, 0),
				events{lockFailed(2, 1)}, sends(1, 3, 0))},
			{name: "an unlock returns", events: slices.Concat(events{fair}, sends(1, 3, 0),
				events{unlockOK(2, 1)}, sends(1, 3, 0))},
			{name: "a process leaves", events: slices.Concat(events{fair}, sends(1, 3, 0),
				events{on(history.Leave, 2)}, sends(1, 3, 0))},
			{name: "a process finishes", events: slices.Concat(events{fair}, sends(1, 3, 0),
				events{on(history.Finished, 2)}, sends(1, 3, 0))},
			{
				name: "within a later second", reason: livelock, event: 4,
				events: slices.Concat(events{fair},
					sends(1, 3, time.Minute), sends(1, 1, time.Minute+time.Second-1)),
			},
			{
				name: "a process crashes", reason: livelock, event: 5,
				events: slices.Concat(events{fair},
					sends(1, 3, 0), events{crash(2)}, sends(1, 1, 0)),
			},
		})
}
