package check_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// TestExclusionsAgree compares two checkers that share only the recognition of grants, and a search
// over all orders of the operations, on arbitrary interleavings of attempts. They agree if no node
// is deleted before its grant, because then the lock must be free at some time of each grant.
func TestExclusionsAgree(t *testing.T) {
	var c check.Checker
	rapid.Check(t, func(t *rapid.T) {
		events := interleave(t, drawScripts(t))
		exclusion, linearizable := c.Check(history.ServerMutualExclusion, events),
			c.Check(history.Linearizable, events)
		if (exclusion == nil) != (linearizable == nil) || exclusion != nil &&
			exclusion.Event != linearizable.Event {
			t.Fatalf("server-mutual-exclusion: %+v, linearizable: %+v in\n%v", exclusion,
				linearizable,
				events)
		}
		if linearizableByBruteForce(events) != (linearizable == nil) {
			t.Fatalf("linearizable: %+v, but all orders say otherwise in\n%v", linearizable, events)
		}
	})
}

// drawScripts draws the events of each process, in its own order.
func drawScripts(t *rapid.T) [][]history.Event {
	var scripts [][]history.Event
	for p := int32(1); p <= rapid.Int32Range(2, 4).Draw(t, "processes"); p++ {
		path := fmt.Sprintf("/lock/%d", p)
		del, call := deleted(p, path, 0), unlockCall(p, 1)
		script := []history.Event{lockCall(p, 1), created(p, path, 0), lockOK(p, 1, path)}
		switch rapid.IntRange(0, 5).Draw(t, "ending") {
		case 0:
			script = append(script, call, del, unlockOK(p, 1))
		case 1:
			script = append(script, call, unlockFailed(p, 1), del)
		case 2:
			script = append(script, del, call, unlockOK(p, 1))
		case 3:
			script = append(script, del)
		case 4:
			script = append(script, call, del)
		case 5:
			script[2] = lockFailed(p, 1)
		}
		scripts = append(scripts, script)
	}
	return scripts
}

func interleave(t *rapid.T, scripts [][]history.Event) []history.Event {
	var events []history.Event
	for len(scripts) > 0 {
		n := rapid.IntRange(0, len(scripts)-1).Draw(t, "next")
		events = append(events, scripts[n][0])
		if scripts[n] = scripts[n][1:]; len(scripts[n]) == 0 {
			scripts = slices.Delete(scripts, n, n+1)
		}
	}
	return events
}

// linearizableByBruteForce decides linearizability from the definition of the intervals by trying
// every order of the grants. It requires that each process has one attempt and that every granted
// node is deleted.
func linearizableByBruteForce(events []history.Event) bool {
	index := func(kind history.Kind, p int32) int {
		return slices.IndexFunc(events, func(e history.Event) bool {
			return e.Kind == kind &&
				e.Process == p
		})
	}
	var turns [][4]int // the bounds of the acquire and of the release
	for _, e := range events {
		if e.Kind != history.LockReturn || e.Err != "" {
			continue
		}
		from, to := index(history.UnlockCall, e.Process), index(history.NodeDeleted, e.Process)
		if from < 0 || from > to {
			from = to
		} else if back := index(history.UnlockReturn, e.Process); back > to &&
			events[back].Err == "" {
			to = back
		}
		turns = append(turns, [4]int{
			index(history.LockCall, e.Process),
			index(history.LockReturn, e.Process), from, to,
		})
	}
	return sequential(turns, 0)
}

// sequential reports whether the turns are possible one after the other in some order, all after
// the instant now. It places each operation at its earliest possible instant.
func sequential(turns [][4]int, now int) bool {
	if len(turns) == 0 {
		return true
	}
	for n, turn := range turns {
		acquire := max(now, turn[0])
		release := max(acquire, turn[2])
		rest := slices.Concat(turns[:n], turns[n+1:])
		if acquire <= turn[1] && release <= turn[3] && sequential(rest, release) {
			return true
		}
	}
	return false
}
