package production_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
)

// A holder that was paused for longer than the lock tolerates is out of contract during the pause,
// and for the tolerated time after it. Any other holder is not.
func TestPausedHolder(t *testing.T) {
	paused := func(p int32, from, till int) []history.Event {
		begins := history.Event{Kind: history.Fault, Process: p, Name: "pause"}
		return slices.Concat(later(from, begins), later(till, on(history.Resumed, p)))
	}
	inside := func(p int32, from, till int) []history.Event {
		return slices.Concat(later(from, enter(p, 1)), later(till, leave(p, 1)))
	}
	other := inside(2, 5000, 6000)
	for _, test := range []struct {
		name    string
		events  [][]history.Event
		broken  bool
		without bool // it would be if the lock had to tolerate all pauses
	}{
		{"not paused", [][]history.Event{inside(1, 0, 9000), other}, true, true},
		{
			"paused and leaves",
			[][]history.Event{inside(1, 0, 9000), paused(1, 100, 8990), other},
			false, true,
		},
		{"leaves before it notices", [][]history.Event{
			inside(1, 0, 8980), paused(1, 100, 8990),
			other,
		}, false, true},
		{"paused and notified", [][]history.Event{
			later(0, enter(1, 1)), later(9000, lost(1, 1)),
			paused(1, 100, 8990), other,
		}, false, true},
		{"paused and unlocks", [][]history.Event{
			later(0, enter(1, 1)),
			later(9000, unlockCall(1, 1)), paused(1, 100, 8990), other,
		}, false, true},
		{
			"leaves just in time",
			[][]history.Event{inside(1, 0, 5700), paused(1, 100, 5500), other},
			false, true,
		},
		{"stays, and is not notified", [][]history.Event{
			inside(1, 0, 5701), paused(1, 100, 5500),
			other,
		}, true, true},
		{"paused for no longer than tolerated", [][]history.Event{
			inside(1, 0, 9000),
			paused(1, 5000, 5200), other,
		}, true, true},
		{"paused after the other has entered", [][]history.Event{
			inside(1, 0, 9000),
			paused(1, 5001, 8990), other,
		}, true, true},
		{"the other process was paused", [][]history.Event{
			inside(1, 0, 9000), paused(3, 100, 8990),
			other,
		}, true, true},
		{
			"paused before",
			[][]history.Event{inside(1, 4000, 9000), paused(1, 100, 3900), other},
			true, true,
		},
		{"paused on its way in", [][]history.Event{
			inside(1, 5500, 5600), paused(1, 100, 5490),
			other,
		}, false, true},
		{"paused twice", [][]history.Event{
			inside(1, 0, 9000), paused(1, 100, 5400),
			paused(1, 5500, 8990), other,
		}, false, true},
		{"awake for long between two pauses", [][]history.Event{
			inside(1, 0, 9000),
			paused(1, 100, 5300), paused(1, 5600, 8990), other,
		}, true, true},
		{
			"the end of the pause is not recorded",
			[][]history.Event{
				inside(1, 0, 9000),
				later(100, history.Event{Kind: history.Fault, Process: 1, Name: "pause"}), other,
			},
			false, true,
		},
		{"another fault", [][]history.Event{
			inside(1, 0, 9000),
			later(100, history.Event{Kind: history.Fault, Process: 1, Name: "cut"}),
			later(8990, on(history.Resumed, 1)), other,
		}, true, true},
		{"both are paused", [][]history.Event{
			inside(1, 0, 9000), paused(1, 100, 8990), other,
			paused(2, 5100, 5990),
		}, false, true},
		{"the one that enters later is paused", [][]history.Event{
			inside(1, 0, 5900),
			inside(2, 5000, 9000), paused(2, 5000, 8990),
		}, false, true},
		{
			"nothing overlaps",
			[][]history.Event{inside(1, 0, 4000), paused(1, 100, 3000), other},
			false, false,
		},
	} {
		var logs []*history.Log
		for _, events := range test.events {
			logs = append(logs, history.NewLog(events))
		}
		events := production.Merge(logs...).Events()
		const promised = 200 * time.Millisecond
		wanted := map[time.Duration]bool{promised: test.broken, math.MaxInt64: test.without}
		for pause, want := range wanted {
			v, _ := production.Within(history.ClientMutualExclusion, events,
				production.Clocks{Pause: pause}, models.Limits{})
			if (v != nil) != want {
				t.Errorf("%s, if the lock tolerates %v: %+v", test.name, pause, v)
			}
		}
	}
	if faults.Pause.String() != "pause" {
		t.Errorf("a pause is called %s", faults.Pause)
	}
}

// Uncertain clocks shorten the time inside and extend the pause, so a reported violation is
// certain.
func TestPausedHolderWithinClocks(t *testing.T) {
	for uncertainty, broken := range map[int]bool{0: true, 50: true, 51: false} {
		events := production.Merge(history.NewLog(slices.Concat(
			later(0, enter(1, 1)),
			later(100, history.Event{Kind: history.Fault, Process: 1, Name: "pause"}),
			later(5000, on(history.Resumed, 1)), later(5400, leave(1, 1)),
			later(4000, enter(2, 1)), later(6000, leave(2, 1))))).Events()
		clocks := production.Clocks{
			Default: time.Duration(uncertainty) * time.Millisecond,
			Pause:   299 * time.Millisecond,
		}
		v, _ := production.Within(history.ClientMutualExclusion, events, clocks, models.Limits{})
		if (v != nil) != broken {
			t.Errorf("within %d ms: %+v", uncertainty, v)
		}
	}
}

// A paused holder that learns of its loss only from Unlock may have lost the lock at any time. So
// may a holder without a reply to Unlock.
func TestToldByUnlock(t *testing.T) {
	paused := func(unlocked ...history.Event) []history.Event {
		return slices.Concat(later(0, lockCall(1, 1), queuedFor(1, 1, "/a")),
			later(10, granted(1, 1, "/a", 5)), later(9000, unlockCall(1, 1)),
			later(9010, unlocked...),
			used(2, 1, "/a", 5000, 6000, 7))
	}
	for name, test := range map[string]struct {
		events []history.Event
		broken bool
	}{
		"unlocked":  {paused(unlockOK(1, 1)), true},
		"lost":      {paused(unlockFailed(1, 1)), false},
		"no answer": {paused(), false},
		"notified":  {paused(lost(1, 1), unlockOK(1, 1)), false},
	} {
		if v := within(t, history.Linearizable, test.events); (v != nil) != test.broken {
			t.Errorf("%s: %+v", name, v)
		}
	}
	overtaken := func(waits func(p, attempt int32) history.Event) []history.Event {
		return slices.Concat(later(0, lockCall(1, 1), queuedFor(1, 1, "/a")),
			later(50, granted(2, 1, "/a", 7)), later(80, granted(1, 1, "/a", 5)),
			later(99, waits(1, 1)))
	}
	if v := within(t, history.FIFO, overtaken(unlockOK)); v == nil {
		t.Error("overtaken, and nothing found")
	}
	if v := within(t, history.FIFO, overtaken(unlockFailed)); v != nil {
		t.Errorf("a grant that was lost by then: %+v", v)
	}
}
