package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// queueOf lets processes call Lock and create the nodes /l/1, /l/2 and so on, in this order.
func queueOf(modes ...string) (events []history.Event) {
	for i, mode := range modes {
		p := int32(i + 1)
		events = append(events, in(mode, lockCall(p, 1)), created(p, nodeOf(p), int64(p)))
	}
	return events
}

func nodeOf(p int32) string { return "/l/" + string(rune('0'+p)) }

// take grants the lock to a process by its node, whose number is the token.
func take(mode string, p int32) history.Event {
	e := in(mode, lockOK(p, 1, nodeOf(p)))
	e.Zxid = int64(p)
	return e
}

// giveBack unlocks and deletes the node of a process.
func giveBack(p int32, zxid int64) []history.Event {
	return []history.Event{unlockCall(p, 1), deleted(p, nodeOf(p), zxid), unlockOK(p, 1)}
}

// TestPlacesAndModes shows for each property that depends on who may hold the lock together: what
// breaks it, with several places and with readers and writers, and what comes closest and does not.
func TestPlacesAndModes(t *testing.T) {
	const r, w = history.SharedMode, ""
	four := queueOf(w, w, w, w)
	for _, tc := range []struct {
		name     string
		property history.Property
		places   int
		events   [][]history.Event
		broken   bool
	}{
		{
			"the third of three", history.ServerMutualExclusion, 3,
			[][]history.Event{four, {take(w, 1), take(w, 2), take(w, 3)}},
			false,
		},
		{
			"the fourth of three", history.ServerMutualExclusion, 3,
			[][]history.Event{four, {take(w, 1), take(w, 2), take(w, 3), take(w, 4)}},
			true,
		},
		{
			"the fourth after a release", history.ServerMutualExclusion, 3,
			[][]history.Event{
				four,
				{take(w, 1), take(w, 2), take(w, 3)},
				giveBack(2, 5),
				{take(w, 4)},
			},
			false,
		},
		{
			"two readers", history.ServerMutualExclusion, 1,
			[][]history.Event{queueOf(r, r), {take(r, 1), take(r, 2)}},
			false,
		},
		{
			"a writer beside a reader", history.ServerMutualExclusion, 1,
			[][]history.Event{queueOf(r, w), {take(r, 1), take(w, 2)}},
			true,
		},
		{
			"a reader beside a writer", history.ServerMutualExclusion, 1,
			[][]history.Event{queueOf(w, r), {take(w, 1), take(r, 2)}},
			true,
		},

		{
			"two of two inside", history.ClientMutualExclusion, 2,
			[][]history.Event{{enter(1, 1), enter(2, 1), on(history.Leave, 1), enter(3, 1)}},
			false,
		},
		{
			"three of two inside", history.ClientMutualExclusion, 2,
			[][]history.Event{{enter(1, 1), enter(2, 1), enter(3, 1)}},
			true,
		},
		{
			"two readers inside", history.ClientMutualExclusion, 1,
			[][]history.Event{{
				shared(enter(1, 1)), shared(enter(2, 1)), on(history.Leave, 1),
				on(history.Leave, 2), enter(3, 1),
			}},
			false,
		},
		{
			"a writer beside the second reader", history.ClientMutualExclusion, 1,
			[][]history.Event{{
				shared(enter(1, 1)), shared(enter(2, 1)), on(history.Leave, 1), enter(3, 1),
			}},
			true,
		},
		{
			"a reader beside a writer inside", history.ClientMutualExclusion, 1,
			[][]history.Event{{enter(1, 1), shared(enter(2, 1))}},
			true,
		},

		{
			"the second of two places first", history.FIFO, 2,
			[][]history.Event{four, {take(w, 2)}},
			false,
		},
		{
			"the third of two places first", history.FIFO, 2,
			[][]history.Event{four, {take(w, 1), take(w, 3)}},
			true,
		},
		{
			"a reader before an older reader", history.FIFO, 1,
			[][]history.Event{queueOf(r, r), {take(r, 2)}},
			false,
		},
		{
			"a reader before an older writer", history.FIFO, 1,
			[][]history.Event{queueOf(r, w, r), {take(r, 1), take(r, 3)}},
			true,
		},
		{
			"a writer before an older reader", history.FIFO, 1,
			[][]history.Event{queueOf(r, w), {take(w, 2)}},
			true,
		},

		{
			"a place for the one who waits", history.NoStarvation, 2,
			[][]history.Event{
				queueOf(w, w),
				{take(w, 1), on(history.FairPhase, 0), lockCall(3, 1), created(3, "/l/3", 3)},
				giveBack(1, 4),
				{take(w, 3)},
			},
			false,
		},
		{
			"no place for the one who waits", history.NoStarvation, 2,
			[][]history.Event{
				queueOf(w, w, w),
				{
					take(w, 1), take(w, 2), on(history.FairPhase, 0), lockCall(4, 1),
					created(4, "/l/4", 4), take(w, 4),
				},
			},
			true,
		},
		{
			"a late reader before a reader", history.NoStarvation, 1,
			[][]history.Event{
				queueOf(r),
				{on(history.FairPhase, 0), shared(lockCall(2, 1)), created(2, "/l/2", 2), take(r, 2)},
			},
			false,
		},
		{
			"a late reader before a writer", history.NoStarvation, 1,
			[][]history.Event{
				queueOf(w),
				{on(history.FairPhase, 0), shared(lockCall(2, 1)), created(2, "/l/2", 2), take(r, 2)},
			},
			true,
		},

		{
			"readers that are let in", history.NoHerd, 1,
			[][]history.Event{
				queueOf(w, r, r),
				{
					take(w, 1), watched(2, 1), watched(3, 2), unlockCall(1, 1),
					deleted(1, "/l/1", 9), fired(2, 1, "/l/1", 9), fired(3, 2, "/l/1", 9),
				},
			},
			false,
		},
		{
			"readers behind a writer that waits", history.NoHerd, 1,
			[][]history.Event{
				queueOf(w, w, r, r),
				{
					take(w, 1), watched(3, 1), watched(4, 2), unlockCall(1, 1),
					deleted(1, "/l/1", 9), fired(3, 1, "/l/1", 9), fired(4, 2, "/l/1", 9),
				},
			},
			true,
		},

		{
			"tokens of places out of order", history.MonotonicToken, 2,
			[][]history.Event{queueOf(w, w), {take(w, 2), take(w, 1)}},
			false,
		},
		{
			"the token of another place", history.MonotonicToken, 2,
			[][]history.Event{{lockCall(1, 1), lockCall(2, 1), token(1, 1, 7), token(2, 1, 7)}},
			true,
		},
		{
			"a lower token of a later call", history.MonotonicToken, 2,
			[][]history.Event{{lockCall(1, 1), token(1, 1, 7), lockCall(2, 1), token(2, 1, 6)}},
			true,
		},
		{
			"tokens of readers out of order", history.MonotonicToken, 1,
			[][]history.Event{queueOf(r, r), {take(r, 2), take(r, 1)}},
			false,
		},
		{
			"a reader's token below a writer's", history.MonotonicToken, 1,
			[][]history.Event{{
				shared(lockCall(1, 1)), lockCall(2, 1), token(2, 1, 7), shared(token(1, 1, 6)),
			}},
			true,
		},
		{
			"a writer's token below a reader's", history.MonotonicToken, 1,
			[][]history.Event{{
				shared(lockCall(1, 1)), lockCall(2, 1), shared(token(1, 1, 7)), token(2, 1, 6),
			}},
			true,
		},

		{
			"three grants of three", history.Linearizable, 3,
			[][]history.Event{four, {take(w, 1), take(w, 2), take(w, 3)}},
			false,
		},
		{
			"four grants of three", history.Linearizable, 3,
			[][]history.Event{four, {take(w, 1), take(w, 2), take(w, 3), take(w, 4)}},
			true,
		},
		{
			"two of two places that are never free", history.Linearizable, 2,
			[][]history.Event{queueOf(w, w, w), {
				take(w, 1), unlockCall(1, 1), unlockFailed(1, 1), take(w, 2), unlockCall(2, 1),
				unlockFailed(2, 1), take(w, 3),
			}},
			true,
		},
		{
			"one of two places that is never free", history.Linearizable, 2,
			[][]history.Event{queueOf(w, w, w), {
				take(w, 1), unlockCall(1, 1), unlockFailed(1, 1), take(w, 2), unlockCall(2, 1),
				unlockFailed(2, 1), take(w, 3), deleted(2, "/l/2", 9),
			}},
			false,
		},
		{
			"readers together", history.Linearizable, 1,
			[][]history.Event{queueOf(r, r, w), {take(r, 1), take(r, 2)}},
			false,
		},
		{
			"a writer with readers", history.Linearizable, 1,
			[][]history.Event{queueOf(r, r, w), {take(r, 1), take(r, 2), take(w, 3)}},
			true,
		},
	} {
		t.Run(string(tc.property)+"/"+tc.name, func(t *testing.T) {
			var events []history.Event
			for _, part := range tc.events {
				events = append(events, part...)
			}
			limits := history.DefaultLimits
			limits.Places = tc.places
			c := check.Checker{Limits: limits, Exclusive: true}
			v := c.Check(tc.property, events)
			if (v != nil) != tc.broken {
				t.Errorf("the checker finds %+v", v)
			}
			m := check.NewMonitor([]history.Property{tc.property}, limits)
			m.Observe(events)
			if found := m.Finish(events); (len(found) > 0) != tc.broken {
				t.Errorf("the monitor finds %+v", found)
			}
			var exercised check.Vacuity
			exercised.Add(events, limits)
			if tc.broken && exercised.Of(tc.property) == 0 {
				t.Error("a history that breaks the property does not exercise it")
			}
		})
	}
}

// watched is a watch on the first node that a process sets while it waits.
func watched(p, watch int32) history.Event {
	e := armed(p, watch, "/l/1", "data")
	e.Request = 1
	return e
}

// TestVacuityOfPlaces counts only what the lock could have got wrong.
func TestVacuityOfPlaces(t *testing.T) {
	const r, w = history.SharedMode, ""
	grants := func(modes ...string) []history.Event {
		events := queueOf(modes...)
		for i, mode := range modes {
			events = append(events, take(mode, int32(i+1)), in(mode, enter(int32(i+1), 1)))
		}
		return events
	}
	for _, tc := range []struct {
		name   string
		places int
		modes  []string
		want   bool
	}{
		{"two for one place", 1, []string{w, w}, true},
		{"two for two places", 2, []string{w, w}, false},
		{"three for two places", 2, []string{w, w, w}, true},
		{"two readers", 1, []string{r, r}, false},
		{"a reader and a writer", 1, []string{r, w}, true},
	} {
		limits := history.DefaultLimits
		limits.Places = tc.places
		var x check.Vacuity
		x.Add(grants(tc.modes...), limits)
		for _, p := range []history.Property{
			history.ServerMutualExclusion, history.ClientMutualExclusion, history.FIFO,
		} {
			if got := x.Of(p) > 0; got != tc.want {
				t.Errorf("%s: %s exercised: %v, want %v", tc.name, p, got, tc.want)
			}
		}
	}
}
