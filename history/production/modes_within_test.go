package production_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
)

// inMode returns events of an attempt in a mode.
func inMode(mode string, events []history.Event) []history.Event {
	for i := range events {
		switch events[i].Kind {
		case history.LockCall, history.LockReturn, history.Enter:
			events[i].Op = mode
		}
	}
	return events
}

// Readers share a lock with one another, and holders of a semaphore's places with as many as there
// are places.
func TestModesWithinClocks(t *testing.T) {
	reads := func(p, from, till int, token int64) []history.Event {
		return inMode(history.SharedMode, used(int32(p), 1, "/a", from, till, token))
	}
	writes := func(p, from, till int, token int64) []history.Event {
		return used(int32(p), 1, "/a", from, till, token)
	}
	takes := func(p, from, till int, token int64) []history.Event {
		return inMode(history.SemaphoreMode(2), used(int32(p), 1, "/a", from, till, token))
	}
	// A writer admits readers from time 30 on.
	downgrades := slices.Concat(later(0, lockCall(1, 1), queuedFor(1, 1, "/a")),
		later(2, granted(1, 1, "/a", 5), enter(1, 1)), later(30, shared(enter(1, 1))),
		later(98, leave(1, 1), unlockCall(1, 1)), later(100, unlockOK(1, 1)))
	exclusion := []history.Property{history.ClientMutualExclusion, history.Linearizable}
	for name, test := range map[string]struct {
		events [][]history.Event
		broken []history.Property
	}{
		"two readers": {[][]history.Event{reads(1, 0, 100, 5), reads(2, 10, 90, 6)}, nil},
		"a reader beside a writer": {
			[][]history.Event{writes(1, 0, 100, 5), reads(2, 10, 90, 6)}, exclusion,
		},
		"a writer beside a reader": {
			[][]history.Event{reads(1, 0, 100, 5), writes(2, 10, 90, 6)}, exclusion,
		},
		"readers take turns with a writer": {[][]history.Event{
			reads(1, 0, 100, 5), writes(2, 110, 190, 6), reads(3, 200, 300, 7),
		}, nil},
		"a reader after a downgrade":  {[][]history.Event{downgrades, reads(2, 40, 90, 6)}, nil},
		"a reader before a downgrade": {[][]history.Event{downgrades, reads(2, 10, 90, 6)}, exclusion},
		"a writer after a downgrade":  {[][]history.Event{downgrades, writes(2, 40, 90, 6)}, exclusion},
		"two of two places":           {[][]history.Event{takes(1, 0, 100, 5), takes(2, 10, 90, 6)}, nil},
		"three of two places": {
			[][]history.Event{takes(1, 0, 100, 5), takes(2, 10, 90, 6), takes(3, 20, 80, 7)}, exclusion,
		},
		"two of two places, in turn": {
			[][]history.Event{takes(1, 0, 50, 5), takes(2, 10, 90, 6), takes(3, 60, 80, 7)}, nil,
		},
		"goroutines of one process": {[][]history.Event{
			used(1, 1, "/a", 0, 100, 5), used(1, 2, "/a", 10, 90, 6),
		}, exclusion},
		"goroutines that read": {[][]history.Event{
			inMode(history.SharedMode, used(1, 1, "/a", 0, 100, 5)),
			inMode(history.SharedMode, used(1, 2, "/a", 10, 90, 6)),
		}, nil},
		"goroutines of one owner": {[][]history.Event{
			used(1, 1, "/a", 0, 100, 5), owned(used(1, 2, "/a", 10, 90, 5)),
		}, nil},
		"a reader overtakes a reader": {[][]history.Event{
			waits(1, 5, history.SharedMode), reads(2, 10, 50, 7),
		}, nil},
		"a reader overtakes a writer": {
			[][]history.Event{waits(1, 5, ""), reads(2, 10, 50, 7)},
			[]history.Property{history.FIFO},
		},
		"a place is free": {[][]history.Event{
			waits(1, 5, history.SemaphoreMode(2)), takes(2, 10, 50, 7),
		}, nil},
		"no place is free": {
			[][]history.Event{
				takes(3, 0, 60, 4), waits(1, 5, history.SemaphoreMode(2)), takes(2, 10, 50, 7),
			},
			[]history.Property{history.FIFO},
		},
		"writes of readers": {[][]history.Event{
			later(0, in(history.SharedMode, granted(1, 1, "/a", 5)), wrote(1, 1, 2)),
			later(5, in(history.SharedMode, granted(2, 1, "/a", 7)), wrote(2, 1, 1)),
		}, nil},
	} {
		var logs []*history.Log
		for _, events := range test.events {
			logs = append(logs, history.NewLog(events))
		}
		events := production.Merge(logs...).Events()
		for _, property := range production.WithinClocks {
			v, decided := production.Within(property, events, production.Clocks{}, models.Limits{})
			if want := slices.Contains(test.broken, property); (v != nil) != want || !decided {
				t.Errorf("%s: %s: %+v", name, property, v)
			}
		}
	}
}

// owned returns events of an attempt by the node of the process's first attempt.
func owned(events []history.Event) []history.Event {
	for i := range events {
		if events[i].Path != "" {
			events[i].Path = granted(1, 1, "/a", 0).Path
		}
	}
	return events
}

// waits returns events of an attempt that queues at once, and is granted the lock at time 80.
func waits(p int32, token int64, mode string) []history.Event {
	return inMode(mode, slices.Concat(later(0, lockCall(p, 1), queuedFor(p, 1, "/a")),
		later(80, granted(p, 1, "/a", token)), later(90, unlockCall(p, 1)),
		later(95, unlockOK(p, 1))))
}

// All violations are returned: one for each process that enters, waits or is granted the lock, and
// for each lock.
func TestAllViolations(t *testing.T) {
	var logs []*history.Log
	for _, lock := range []string{"/a", "/b"} {
		for p := range int32(3) {
			attempt := p + 1
			events := used(p+1, attempt, lock, 10*int(p), 200-10*int(p), int64(9-p))
			for i := range events {
				if lock == "/b" {
					events[i].Attempt += 10
				}
			}
			logs = append(logs, history.NewLog(events))
		}
	}
	events := production.Merge(logs...).Events()
	for property, want := range map[history.Property]int{
		history.ClientMutualExclusion: 4, history.MonotonicToken: 4, history.Linearizable: 2,
	} {
		all, decided := production.AllWithin(property, events, production.Clocks{}, models.Limits{})
		if len(all) != want || !decided {
			t.Errorf("%s: %d violations, want %d", property, len(all), want)
		}
		for i, v := range all {
			if i > 0 && v.Event == all[i-1].Event && property != history.Linearizable {
				t.Errorf("%s: two violations at event %d", property, v.Event)
			}
		}
	}
}
