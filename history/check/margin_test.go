package check_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestMargin(t *testing.T) {
	const late = "a holder learned of its loss later before its session's end than promised"
	type events = []history.Event
	timed := func(e history.Event, at time.Duration) history.Event {
		e.At = at
		return e
	}
	opened := func(session int64) history.Event {
		return history.Event{Kind: history.SessionOpened, Process: 1, Session: session}
	}
	ended := func(session int64, at time.Duration) history.Event {
		return history.Event{
			Kind: history.SessionExpired, Process: 1, Session: session, At: at,
		}
	}
	lost := func(at, ago time.Duration) history.Event {
		return history.Event{Kind: history.Lost, Process: 1, At: at, Ago: ago}
	}
	const promised = 10
	decide := func(events []history.Event) *history.Violation {
		return check.LossMargin(events, promised)
	}
	judge(t, history.Margin, decide, []verdict{
		{name: "nothing"},
		{name: "told in time", events: events{
			opened(7), lockOK(1, 1, ""), lost(90, 0), ended(7, 100),
		}},
		{
			name: "told too late", reason: late, event: 3,
			events: events{opened(7), lockOK(1, 1, ""), lost(91, 0), ended(7, 100)},
		},
		{
			name: "told after the end", reason: late, event: 3,
			events: events{opened(7), lockOK(1, 1, ""), ended(7, 100), lost(101, 0)},
		},
		{name: "the notice came in time and was noticed after the end", events: events{
			opened(7), lockOK(1, 1, ""), ended(7, 100), lost(101, 11),
		}},
		{
			name: "never told", reason: late, event: 3,
			events: events{
				opened(7), lockOK(1, 1, ""), ended(7, 100), timed(unlockCall(1, 1), 100),
			},
		},
		{name: "told when it is granted", events: events{
			opened(7), timed(lockOK(1, 1, ""), 95), lost(95, 0), ended(7, 100),
		}},
		{name: "granted after the end, and told at once", events: events{
			opened(7), ended(7, 90), timed(lockOK(1, 1, ""), 95), lost(95, 0),
		}},
		{name: "unlocked before the end", events: events{
			opened(7), lockOK(1, 1, ""), timed(unlockCall(1, 1), 99), ended(7, 100),
		}},
		{name: "crashed before the end", events: events{
			opened(7), lockOK(1, 1, ""), lost(95, 0), on(history.Crashed, 1), ended(7, 100),
		}},
		{name: "another session ends", events: events{
			opened(7), lockOK(1, 1, ""), lost(91, 0), opened(8), ended(8, 95), ended(7, 101),
		}},
		{name: "granted again in another session", events: events{
			opened(7), lockOK(1, 1, ""), lost(91, 0), opened(8), lockOK(1, 2, ""), ended(7, 92),
			timed(unlockCall(1, 2), 93),
		}},
	})
}

// The property and the measurement are two ways to say how long before the end a holder was told.
func TestMarginAgreesWithMeasurement(t *testing.T) {
	kinds := []history.Kind{
		history.SessionOpened, history.SessionExpired, history.LockReturn, history.Lost,
		history.UnlockCall,
	}
	violated := 0
	rapid.Check(t, func(t *rapid.T) {
		at, opened := time.Duration(0), int64(0)
		var session [3]int64 // of each process; 0 if it has none
		var holds [3]bool
		var events []history.Event
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			at += time.Duration(rapid.IntRange(0, 3).Draw(t, "time"))
			p := rapid.Int32Range(1, 2).Draw(t, "process")
			e := history.Event{
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), At: at, Process: p,
			}
			possible := true
			switch e.Kind {
			case history.SessionOpened:
				opened++
				e.Session, session[p] = opened, opened
			case history.SessionExpired:
				possible = session[p] != 0
				e.Session, session[p] = session[p], 0
			case history.LockReturn:
				possible, holds[p] = session[p] != 0, holds[p] || session[p] != 0
			default:
				possible, holds[p] = holds[p], false
			}
			if possible {
				events = append(events, e)
			}
		}
		promised := time.Duration(rapid.IntRange(-2, 4).Draw(t, "promised"))
		margin := check.MeasureMargins(events)[check.LossToEnd]
		want := margin.Times > 0 && margin.Smallest < promised
		if got := check.LossMargin(events, promised) != nil; got != want {
			t.Fatalf("violated: %v, smallest margin %v of %d, promised %v", got, margin.Smallest,
				margin.Times, promised)
		}
		if want {
			violated++
		}
	})
	if violated == 0 {
		t.Error("no history violates the property")
	}
}
