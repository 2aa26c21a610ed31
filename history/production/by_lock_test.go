package production_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// within decides a property of events whose times are exact.
func within(t *testing.T, property history.Property, events []history.Event) *history.Violation {
	t.Helper()
	v, decided := production.Within(property, production.Merge(history.NewLog(events)).Events(),
		production.Clocks{}, models.Limits{})
	if !decided {
		t.Errorf("%s is not decided", property)
	}
	return v
}

// granted returns the LockReturn of a lock, by a node in its directory.
func granted(p, attempt int32, lock string, token int64) history.Event {
	return history.Event{
		Kind: history.LockReturn, Process: p, Attempt: attempt,
		Path: fmt.Sprintf("%s/%d-%d", lock, p, attempt), Zxid: token,
	}
}

// queuedFor returns the NodeCreated of the node that granted names.
func queuedFor(p, attempt int32, lock string) history.Event {
	return history.Event{
		Kind: history.NodeCreated, Process: p, Attempt: attempt,
		Path: granted(p, attempt, lock, 0).Path,
	}
}

func leave(p, attempt int32) history.Event {
	return history.Event{Kind: history.Leave, Process: p, Attempt: attempt}
}

// used returns the events of an attempt that holds a lock for the given number of milliseconds.
func used(p, attempt int32, lock string, from, till int, token int64) []history.Event {
	return slices.Concat(later(from, lockCall(p, attempt)),
		later(from+1, queuedFor(p, attempt, lock)), later(from+2, granted(p, attempt, lock, token),
			enter(p, attempt)), later(till-2, leave(p, attempt), unlockCall(p, attempt)),
		later(till, unlockOK(p, attempt)))
}

// Two attempts that break a property at one lock break nothing at two locks, whatever the events of
// a third lock. A violation at one of several locks is found.
func TestLocksAreJudgedApart(t *testing.T) {
	wrote := func(p, attempt int32, version int64) history.Event {
		return history.Event{
			Kind: history.ResourceWrite, Process: p, Attempt: attempt,
			Zxid: version,
		}
	}
	cases := map[history.Property]func(one, other string) []history.Event{
		history.ClientMutualExclusion: func(one, other string) []history.Event {
			return slices.Concat(used(1, 1, one, 0, 100, 5), used(2, 1, other, 50, 150, 7))
		},
		history.Linearizable: func(one, other string) []history.Event {
			return slices.Concat(used(1, 1, one, 0, 100, 5), used(2, 1, other, 50, 90, 7))
		},
		history.FIFO: func(one, other string) []history.Event {
			return slices.Concat(used(2, 1, other, 10, 50, 7),
				later(0, lockCall(1, 1), queuedFor(1, 1, one)), later(60, granted(1, 1, one, 5)))
		},
		history.MonotonicToken: func(one, other string) []history.Event {
			return slices.Concat(used(1, 1, one, 0, 50, 7), used(2, 1, other, 60, 90, 5))
		},
		history.Fencing: func(one, other string) []history.Event {
			return slices.Concat(used(1, 1, one, 0, 50, 5), used(2, 1, other, 60, 90, 7),
				later(70, wrote(2, 1, 3)), later(99, wrote(1, 1, 4)))
		},
		history.NoLostUpdate: func(one, other string) []history.Event {
			return slices.Concat(used(1, 1, one, 0, 50, 5), used(2, 1, other, 60, 90, 7),
				later(10, read(1, 1, 2)), later(70, read(2, 1, 2), wrote(2, 1, 3)),
				later(99, wrote(1, 1, 4)))
		},
		history.LossNotification: func(one, other string) []history.Event {
			// Only the first attempt sees a contradiction, so its lock alone decides.
			return slices.Concat(later(0, granted(1, 1, one, 5)), later(5, lost(1, 1)),
				later(6, granted(1, 2, other, 7)), later(9, unlockOK(1, 1)))
		},
	}
	third := slices.Concat(used(3, 1, "/third", 1, 41, 6), used(1, 9, "/third", 45, 95, 8),
		used(4, 1, "/third", 96, 160, 9))
	for _, property := range production.WithinClocks {
		events := cases[property]
		for _, beside := range [][]history.Event{nil, third} {
			together := within(t, property, slices.Concat(events("/locks/a", "/locks/a"), beside))
			if together == nil || together.Property != property {
				t.Errorf("%s, with %d more events: not found in one lock: %+v", property,
					len(beside), together)
				continue
			}
			byLock := property != history.LossNotification && property != history.NoLostUpdate
			told := strings.Contains(together.Detail, "of the lock /locks/a")
			if told != (byLock && beside != nil) {
				t.Errorf("%s, with %d more events: %s", property, len(beside), together.Detail)
			}
			apart := within(t, property, slices.Concat(events("/locks/a", "/locks/b"), beside))
			if (apart != nil) != (property == history.LossNotification) {
				t.Errorf("%s, with %d more events: of two locks %+v", property, len(beside), apart)
			}
		}
	}
}

// The event of a violation, and the events that its text names, have the indexes of the whole
// history.
func TestEventsOfOneOfSeveralLocks(t *testing.T) {
	events := production.Merge(history.NewLog(slices.Concat(used(3, 1, "/b", 0, 45, 1),
		used(1, 1, "/a", 10, 90, 5), used(2, 1, "/a", 50, 95, 7)))).Events()
	v := within(t, history.ClientMutualExclusion, events)
	if v == nil || events[v.Event].Kind != history.Enter || events[v.Event].Process != 2 {
		t.Fatalf("%+v", v)
	}
	first := slices.IndexFunc(events, func(e history.Event) bool {
		return e.Kind == history.Enter && e.Process == 1
	})
	want := fmt.Sprintf("c2 and c1, which entered at event %d, "+
		"were both inside for at least 36ms, of the lock /a", first)
	if v.Detail != want {
		t.Errorf("%s, want %s", v.Detail, want)
	}
}

// A lock without nodes has a name. An attempt that names no lock is for the only lock of the
// history. If the history names several locks, the attempt is left out and counted.
func TestWhatNamesALock(t *testing.T) {
	named := func(p int32, name string) history.Event {
		return history.Event{Kind: history.LockReturn, Process: p, Attempt: 1, Name: name}
	}
	stay := func(p int32) []history.Event {
		return slices.Concat(later(10*int(p), enter(p, 1)), later(90+int(p), leave(p, 1)))
	}
	third := later(200, granted(9, 1, "/third", 1))
	for _, test := range []struct {
		name     string
		grants   []history.Event
		beside   []history.Event
		broken   bool
		locks    string
		nameless int
	}{
		{
			"the same name",
			[]history.Event{named(1, "billing"), named(2, "billing")},
			nil, true,
			"[billing]", 0,
		},
		{
			"two names",
			[]history.Event{named(1, "billing"), named(2, "stock")},
			nil, false,
			"[billing stock]", 0,
		},
		{"a name takes precedence over a node", []history.Event{
			{Kind: history.LockReturn, Process: 1, Attempt: 1, Name: "x", Path: "/a/n"},
			{Kind: history.LockReturn, Process: 2, Attempt: 1, Name: "x", Path: "/b/n"},
		}, nil, true, "[x]", 0},
		{"no grant at all", nil, nil, true, "[]", 0},
		{"no names", []history.Event{named(1, ""), named(2, "")}, nil, true, "[]", 0},
		{"one is named", []history.Event{named(1, "billing")}, nil, true, "[billing]", 0},
		{"refused by another", []history.Event{
			named(1, "billing"),
			{Kind: history.LockReturn, Process: 9, Attempt: 2, Path: "/b/n", Err: "no"},
		}, nil, true, "[billing]", 0},
		{
			"a third is named too",
			[]history.Event{named(1, "billing")},
			third, false,
			"[billing /third]", 1,
		},
		{
			"two are nameless beside two",
			[]history.Event{granted(8, 1, "/a", 1)},
			third, false,
			"[/a /third]", 2,
		},
	} {
		events := slices.Concat(test.grants, stay(1), stay(2), test.beside)
		if v := within(t, history.ClientMutualExclusion, events); (v != nil) != test.broken {
			t.Errorf("%s: %+v", test.name, v)
		}
		locks, nameless := production.Locks(events)
		if fmt.Sprint(locks) != test.locks || nameless != test.nameless {
			t.Errorf("%s: %v, and %d nameless", test.name, locks, nameless)
		}
	}
}

// Attempts of one process that are open at once are not checked against each other, for two locks
// or for one.
func TestAttemptsOpenAtOnce(t *testing.T) {
	again := granted(1, 2, "/a", 5)
	again.Path = granted(1, 1, "/a", 5).Path // Leases of one owner share the node.
	for name, events := range map[string][]history.Event{
		"two locks at once": slices.Concat(used(1, 1, "/a", 0, 100, 7), used(1, 2, "/b", 20, 60, 3),
			used(2, 1, "/b", 65, 99, 4), used(2, 2, "/a", 101, 140, 9),
			later(1, history.Event{Kind: history.ResourceRead, Process: 1, Attempt: 1, Zxid: 5}),
			later(70, history.Event{Kind: history.ResourceWrite, Process: 1, Attempt: 1, Zxid: 6}),
			later(71, history.Event{Kind: history.ResourceWrite, Process: 2, Attempt: 1, Zxid: 2})),
		"taken again": slices.Concat(
			later(0, lockCall(1, 1)), later(5, granted(1, 1, "/a", 5), enter(1, 1)),
			later(10, lockCall(1, 2)), later(12, again, enter(1, 2)),
			later(20, leave(1, 2), unlockCall(1, 2)), later(22, unlockOK(1, 2)),
			later(30, leave(1, 1), unlockCall(1, 1)), later(32, unlockOK(1, 1)),
			used(2, 1, "/a", 33, 50, 6)),
		"two goroutines": slices.Concat(used(1, 1, "/a", 0, 50, 5),
			later(10, lockCall(1, 2), queuedFor(1, 2, "/a")),
			later(52, granted(1, 2, "/a", 6), enter(1, 2)),
			later(60, leave(1, 2), unlockCall(1, 2)), later(61, unlockOK(1, 2)),
			used(2, 1, "/a", 62, 70, 7)),
		"one is notified, the other unlocks": slices.Concat(later(0, granted(1, 1, "/a", 5)),
			later(1, granted(1, 2, "/b", 3)), later(2, lost(1, 1)),
			later(3, enter(1, 2)), later(4, unlockCall(1, 2), unlockCall(1, 1)),
			later(5, unlockOK(1, 2), unlockFailed(1, 1))),
	} {
		for _, property := range production.WithinClocks {
			if v := within(t, property, events); v != nil {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
	// A violation at one of two locks that a process holds at once is found.
	both := slices.Concat(used(1, 1, "/a", 0, 100, 7), used(1, 2, "/b", 20, 60, 3),
		used(2, 1, "/b", 50, 99, 4))
	for _, property := range []history.Property{
		history.ClientMutualExclusion,
		history.Linearizable,
	} {
		v := within(t, property, both)
		if v == nil || !strings.HasSuffix(v.Detail, "of the lock /b") {
			t.Errorf("%s: %+v", property, v)
		}
	}
}

// A name identifies one resource under any lock, and one lock may protect several names.
func TestResourcesByName(t *testing.T) {
	at := func(ms int, kind history.Kind, p int32, resource string, version int64) []history.Event {
		return later(ms, history.Event{
			Kind: kind, Process: p, Attempt: 1, Path: resource,
			Zxid: version,
		})
	}
	updates := func(one, other string) []history.Event {
		return slices.Concat(at(10, history.ResourceRead, 1, one, 2),
			at(70, history.ResourceRead, 2, other, 2), at(71, history.ResourceWrite, 2, other, 3),
			at(99, history.ResourceWrite, 1, one, 4))
	}
	for _, test := range []struct {
		locks, resources [2]string
		lost, late       bool
	}{
		{[2]string{"/a", "/a"}, [2]string{"x", "x"}, true, true},
		{[2]string{"/a", "/a"}, [2]string{"x", "y"}, false, false},
		// The tokens of two locks are unordered.
		{[2]string{"/a", "/b"}, [2]string{"x", "x"}, true, false},
		{[2]string{"/a", "/b"}, [2]string{"x", "y"}, false, false},
	} {
		events := slices.Concat(used(1, 1, test.locks[0], 0, 50, 5),
			used(2, 1, test.locks[1], 60, 90, 7), updates(test.resources[0], test.resources[1]))
		lost := within(t, history.NoLostUpdate, events)
		late := within(t, history.Fencing, events)
		if (lost != nil) != test.lost || (late != nil) != test.late {
			t.Errorf("%v, %v: lost %+v, late %+v", test.locks, test.resources, lost, late)
		}
	}
}

// recordings returns the events of a fairLock that its processes could record in production.
func recordings(c *eventtest.FairLock, lock string, attempts int32) (events []history.Event) {
	current := map[int32]int32{}
	for i, e := range c.Events {
		if e.Process == 0 || e.Kind > history.Finished && e.Kind != history.NodeCreated &&
			e.Kind < history.ReenterCall {
			continue
		}
		if e.Kind == history.LockCall {
			current[e.Process] = e.Attempt + attempts
		}
		e.At, e.Attempt, e.Session = time.Duration(i), current[e.Process], 0
		if e.Kind == history.NodeCreated || e.Kind == history.LockReturn {
			e.Path = fmt.Sprintf("%s/%d-%d", lock, e.Process, e.Attempt)
		}
		events = append(events, e)
	}
	return events
}

// Legal uses of two locks at once break nothing, however their events interleave.
func TestTwoLocksAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var logs []*history.Log
		for i, lock := range []string{"/a", "/b"} {
			fair := eventtest.PlayFairLock(t, false)
			fair.Finish()
			events := recordings(fair, lock, int32(1000*i))
			step := rapid.IntRange(1, 4).Draw(t, "step")
			from := rapid.IntRange(0, 40).Draw(t, "from")
			for n := range events {
				events[n].At = time.Duration(from) + events[n].At*time.Duration(step)
			}
			logs = append(logs, history.NewLog(events))
		}
		events := production.Merge(logs...).Events()
		for _, property := range production.WithinClocks {
			v, decided := production.Within(property, events, production.Clocks{}, models.Limits{})
			if v != nil || !decided {
				t.Fatalf("%+v, decided %v, in\n%v", v, decided, events)
			}
		}
	})
}

// Each event of an attempt belongs to one lock, and an event without an attempt to every lock.
func TestByLock(t *testing.T) {
	pause := later(3, history.Event{Kind: history.Fault, Process: 1, Name: "pause"})
	events := slices.Concat(used(1, 1, "/a", 0, 10, 1), used(1, 2, "/b", 0, 10, 2), pause,
		later(4, history.Event{Kind: history.NodeCreated, Process: 1, Path: "/b/x"}))
	var said []string
	for one := range production.ByLock(events) {
		said = append(said, fmt.Sprintf("%s %d", one.Lock, len(one.Events)))
	}
	if want := []string{"/a 8", "/b 9"}; !slices.Equal(said, want) {
		t.Errorf("%v, want %v", said, want)
	}
	for one := range production.ByLock(events) {
		if one.Lock != "/a" {
			t.Errorf("%s after the end", one.Lock)
		}
		break
	}
}
