package check_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// timed returns an event at a time in milliseconds.
func timed(at int, kind history.Kind, process int32, validity int) history.Event {
	return history.Event{
		At: time.Duration(at) * time.Millisecond, Kind: kind, Process: process,
		Validity: time.Duration(validity) * time.Millisecond,
	}
}

func TestValidity(t *testing.T) {
	granted := timed(100, history.LockReturn, 1, 500)
	refused := timed(200, history.Extended, 1, 0)
	refused.Err = "too late"
	for name, test := range map[string]struct {
		events []history.Event
		want   int // the event that breaks the property, or -1
	}{
		"granted within": {[]history.Event{granted, timed(599, history.LockReturn, 2, 500)}, 1},
		"granted after":  {[]history.Event{granted, timed(600, history.LockReturn, 2, 500)}, -1},
		"granted without a validity time": {
			[]history.Event{granted, timed(300, history.LockReturn, 2, 0)}, 1,
		},
		"no validity time": {
			[]history.Event{
				timed(100, history.LockReturn, 1, 0), timed(100, history.LockReturn, 2, 500),
			}, -1,
		},
		"unlocked": {
			[]history.Event{
				granted, timed(200, history.UnlockCall, 1, 0), timed(300, history.LockReturn, 2, 0),
			}, -1,
		},
		"told of the loss": {
			[]history.Event{
				granted, timed(200, history.Lost, 1, 0), timed(300, history.LockReturn, 2, 0),
			}, -1,
		},
		"crashed": {
			[]history.Event{
				granted, timed(200, history.Crashed, 1, 0), timed(300, history.LockReturn, 2, 0),
			}, -1,
		},
		"extended": {
			[]history.Event{
				granted, timed(200, history.Extended, 1, 500), timed(650, history.LockReturn, 2, 0),
			}, 2,
		},
		"refused to extend": {
			[]history.Event{granted, refused, timed(650, history.LockReturn, 2, 0)}, -1,
		},
		"granted to itself": {[]history.Event{granted, timed(300, history.LockReturn, 1, 500)}, -1},
		"the first of two is valid": {
			[]history.Event{
				granted, timed(600, history.LockReturn, 2, 100), timed(650, history.LockReturn, 3, 0),
			}, 2,
		},
	} {
		got := -1
		if v := check.Validity(test.events); v != nil {
			got = v.Event
		}
		if got != test.want {
			t.Errorf("%s: broken at event %d, want %d", name, got, test.want)
		}
	}
}

// The state of the monitor is the time that is left, not the time of day.
func TestValidityState(t *testing.T) {
	state := func(events ...history.Event) uint64 {
		m := check.NewMonitor([]history.Property{history.Validity}, history.DefaultLimits)
		m.Observe(events)
		return m.State(nil)
	}
	first := state(timed(100, history.LockReturn, 1, 500), timed(200, history.Tick, 0, 0))
	if later := state(timed(700, history.LockReturn, 1, 400)); later != first {
		t.Error("equal times left give different states")
	}
	if less := state(timed(100, history.LockReturn, 1, 500), timed(201, history.Tick, 0, 0)); less ==
		first {
		t.Error("different times left give equal states")
	}
	if over := state(timed(100, history.LockReturn, 1, 5), timed(200, history.Tick, 0, 0)); over !=
		state(timed(200, history.Tick, 0, 0)) {
		t.Error("a validity time that is over makes a difference")
	}
}
