package check_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// queuers draws the histories of processes that queue: each creates a node, and then cancels, is
// granted the lock, or loses its node while it waits. The order of grants is arbitrary. No node is
// deleted before its grant returns: there the model of a queue is stricter than fifo, which
// compares a late return with the processes that still wait.
func queuers(t *rapid.T) []history.Event {
	var scripts [][]history.Event
	for p := int32(1); p <= rapid.Int32Range(2, 4).Draw(t, "processes"); p++ {
		path := fmt.Sprintf("/lock/%d", p)
		script := []history.Event{lockCall(p, 1), created(p, path, 0)}
		granted, gone := lockOK(p, 1, path), deleted(p, path, 0)
		switch rapid.IntRange(0, 5).Draw(t, "ending") {
		case 0:
			script = append(script, granted, unlockCall(p, 1), gone, unlockOK(p, 1))
		case 1:
			script = append(script, granted, gone)
		case 2:
			script = append(script, granted)
		case 3:
			script = append(script, lockFailed(p, 1), gone)
		case 4:
			script = append(script, lockFailed(p, 1))
		case 5:
			script = append(script, gone)
		}
		scripts = append(scripts, script)
	}
	events := interleave(t, scripts)
	for i := range events {
		if events[i].Kind == history.NodeCreated || events[i].Kind == history.NodeDeleted {
			events[i].Zxid = int64(i + 1)
		}
	}
	return events
}

// TestQueueAgrees: a history is one of a queue if and only if grants follow the order of the nodes
// and no two processes hold the lock at once.
func TestQueueAgrees(t *testing.T) {
	var c check.Checker
	verdicts := map[models.Verdict]int{}
	defer wantBoth(t, verdicts)
	rapid.Check(t, func(t *rapid.T) {
		events := queuers(t)
		fifo, exclusion := c.Check(history.FIFO, events), c.Check(history.ServerMutualExclusion,
			events)
		got := modelled(noFatal{}, "queue", events)
		verdicts[got]++
		if (got == models.Holds) != (fifo == nil && exclusion == nil) {
			t.Fatalf("queue: %v, fifo: %+v, server-mutual-exclusion: %+v in\n%v", got, fifo,
				exclusion,
				events)
		}
	})
}

// TestFencedAgrees: a history is one of a fenced lock if and only if it is one of a lock and the
// tokens increase.
func TestFencedAgrees(t *testing.T) {
	var c check.Checker
	verdicts := map[models.Verdict]int{}
	defer wantBoth(t, verdicts)
	rapid.Check(t, func(t *rapid.T) {
		events := interleave(t, drawScripts(t))
		for i := range events {
			if events[i].Kind == history.LockReturn {
				events[i].Zxid = rapid.Int64Range(1, 5).Draw(t, "token")
			}
		}
		rising, lock := c.Check(history.MonotonicToken, events), c.Check(history.Linearizable,
			events)
		got := modelled(noFatal{}, "fenced", events)
		verdicts[got]++
		if (got == models.Holds) != (rising == nil && lock == nil) {
			t.Fatalf("fenced: %v, token: %+v, linearizable: %+v in\n%v", got, rising, lock, events)
		}
	})
}

// TestOwnersAgree: if every process releases only its own grants, a lock that knows its owner
// allows the same histories as one that does not, and as a reentrant one without reentries.
func TestOwnersAgree(t *testing.T) {
	verdicts := map[models.Verdict]int{}
	defer wantBoth(t, verdicts)
	rapid.Check(t, func(t *rapid.T) {
		events := interleave(t, drawScripts(t))
		owner := modelled(noFatal{}, "owner", events)
		verdicts[owner]++
		if mutex, nested := modelled(noFatal{}, "mutex", events), modelled(noFatal{}, "reentrant",
			events); mutex != owner || nested != owner {
			t.Fatalf("mutex: %v, owner: %v, reentrant: %v in\n%v", mutex, owner, nested, events)
		}
	})
}

// TestRegisterAgrees compares the model of a resource, fenced or not, with a count of lost updates.
func TestRegisterAgrees(t *testing.T) {
	verdicts := map[models.Verdict]int{}
	defer wantBoth(t, verdicts)
	rapid.Check(t, func(t *rapid.T) {
		var events []history.Event
		tokens := []int64{0, 1, 2, 3}
		for p := int32(1); p <= 3; p++ {
			events = append(events, token(p, 1, tokens[p]))
		}
		checked := rapid.Bool().Draw(t, "checked")
		version, highest, lost, honest := int64(0), int64(0), 0, true
		knows := map[int32]int64{}
		for _, move := range rapid.SliceOfN(rapid.IntRange(0, 5), 1, 12).Draw(t, "moves") {
			p, writes := int32(move%3)+1, move >= 3
			e := read(p, 1, version)
			if writes {
				e = wrote(p, 1, version+1)
			}
			if stale := tokens[p] < highest; stale && checked {
				events = append(events, refused(e))
				continue
			} else if stale {
				honest = false
			}
			highest = max(highest, tokens[p])
			events = append(events, e)
			if writes {
				if base, ok := knows[p]; ok && base != version {
					lost++
				}
				version++
			}
			if _, ok := knows[p]; ok || !writes {
				knows[p] = version
			}
		}
		for i := range events {
			if events[i].Err != "" {
				events[i].Zxid = 0
			}
		}
		got := modelled(noFatal{}, "register", events)
		verdicts[got]++
		if (got == models.Holds) != honest {
			t.Fatalf("register: %v, want %v in\n%v", got, honest, events)
		}
		if !slices.ContainsFunc(events,
			func(e history.Event) bool { return e.Kind == history.ResourceRead && e.Err == "" }) {
			return // The history shows no resource before it is read.
		}
		if v := check.NoLostUpdate(events); (v == nil) != (lost == 0) {
			t.Fatalf("%+v, want %d lost in\n%v", v, lost, events)
		}
		if fenced := check.Fencing(events); checked && fenced != nil {
			t.Fatalf("%+v in\n%v", fenced, events)
		}
	})
}

// noFatal is the testing.TB of checks within a property, where an unknown model panics.
type noFatal struct{ testing.TB }

func (noFatal) Helper()                   {}
func (noFatal) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

// TestSoonerGrantsAgree moves one grant of a legal history to any earlier time after the creation
// of its node. If the previous holder has begun to unlock by then, the history is still legal. The
// checkers reject exactly the histories that the model of a queue rejects.
func TestSoonerGrantsAgree(t *testing.T) {
	var c check.Checker
	verdicts := map[models.Verdict]int{}
	defer wantBoth(t, verdicts)
	rapid.Check(t, func(t *rapid.T) {
		fair := eventtest.PlayFairLock(t, false)
		fair.Finish()
		events := fair.Events
		i := pick(t, events, of(history.LockReturn, true))
		if i < 0 {
			return
		}
		granted, made := events[i], i
		for events[made].Kind != history.NodeCreated || events[made].Process != granted.Process {
			made--
		}
		place := rapid.IntRange(made+1, i).Draw(t, "place")
		events = slices.Insert(slices.Delete(events, i, i+1), place, granted)
		fifo, exclusion := c.Check(history.FIFO, events), c.Check(history.ServerMutualExclusion,
			events)
		got := modelled(noFatal{}, "queue", events)
		verdicts[got]++
		if (got == models.Holds) != (fifo == nil && exclusion == nil) {
			t.Fatalf("queue: %v, fifo: %+v, server-mutual-exclusion: %+v after moving %d to %d "+
				"in\n%v", got,
				fifo, exclusion, i, place, events)
		}
	})
}

// wantBoth requires that a comparison has met both accepted and rejected histories.
func wantBoth(t *testing.T, verdicts map[models.Verdict]int) {
	if verdicts[models.Holds] == 0 || verdicts[models.Violated] == 0 {
		t.Errorf("%d histories are right and %d wrong", verdicts[models.Holds],
			verdicts[models.Violated])
	}
	t.Logf("%d histories were right and %d wrong", verdicts[models.Holds],
		verdicts[models.Violated])
}
