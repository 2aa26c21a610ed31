package check_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/models"
)

func TestLinearizable(t *testing.T) {
	const wrong = "no order of the operations is one that a lock allows"
	one := []history.Event{
		lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1),
		created(2, "/l/b", 2), lockOK(1, 1, ""),
	}
	after := func(events ...history.Event) []history.Event {
		return append(one[:len(one):len(one)],
			events...)
	}
	judge(t, history.Linearizable, check.Linearizable, []verdict{
		{name: "nothing"},
		{name: "one holds", events: one},
		{name: "two hold", reason: wrong, event: 5, events: after(lockOK(2, 1, ""))},
		{name: "two hold, and one unlocks then", reason: wrong, event: 5, events: after(
			lockOK(2, 1, ""), unlockCall(1, 1), deleted(1, "/l/a", 3), unlockOK(1, 1))},
		{name: "the second failed", events: after(lockFailed(2, 1))},
		{name: "unlocked", events: after(unlockCall(1, 1), deleted(1, "/l/a", 3), unlockOK(1, 1),
			lockOK(2, 1, ""))},
		{name: "granted during unlock", events: after(unlockCall(1, 1), lockOK(2, 1, ""),
			deleted(1, "/l/a", 3), unlockOK(1, 1))},
		{name: "unlock did nothing", reason: wrong, event: 7, events: after(unlockCall(1, 1),
			unlockOK(1, 1), lockOK(2, 1, ""))},
		{name: "unlock failed, and then the node was deleted", events: after(
			unlockCall(1, 1), unlockFailed(1, 1), lockOK(2, 1, ""), deleted(1, "/l/a", 3))},
		{
			name: "unlock failed, and the node was never deleted", reason: wrong, event: 7,
			events: after(
				unlockCall(1, 1), unlockFailed(1, 1), lockOK(2, 1, "")),
		},
		{name: "expired", events: after(deleted(1, "/l/a", 3), expired(1), lockOK(2, 1, ""))},
		{name: "expired too late", reason: wrong, event: 5, events: after(lockOK(2, 1, ""),
			deleted(1, "/l/a", 3), expired(1))},
		{name: "expired too late, and unlocked afterwards", reason: wrong, event: 5, events: after(
			lockOK(2, 1, ""), deleted(1, "/l/a", 3), unlockCall(1, 1), unlockOK(1, 1))},
		{name: "expired before the grant returned", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), deleted(1, "/l/a", 2), expired(1),
			lockCall(2, 1),
			created(2, "/l/b", 3),
			lockOK(2, 1, ""), lockOK(1, 1, ""),
		}},
		{
			name: "expired before it ever had the lock", reason: wrong, event: 6,
			events: []history.Event{
				lockCall(2, 1), created(2, "/l/a", 1), lockOK(2, 1, ""), lockCall(1, 1),
				created(1, "/l/b", 2),
				deleted(1, "/l/b", 3),
				lockOK(1, 1, ""),
			},
		},
		{name: "a node taken over", reason: wrong, event: 5, events: after(lockOK(2, 1, "/l/a"))},
		{name: "without nodes, two hold", reason: wrong, event: 3, events: []history.Event{
			lockCall(1, 1), lockOK(1, 1, ""), lockCall(2, 1), lockOK(2, 1, ""),
		}},
		{
			name: "without nodes, the holder crashed", reason: wrong, event: 4,
			events: []history.Event{
				lockCall(1, 1), lockOK(1, 1, ""), crash(1), lockCall(2, 1), lockOK(2, 1, ""),
			},
		},
		{name: "without nodes, unlocked", events: []history.Event{
			lockCall(1, 1), lockOK(1, 1, ""), unlockCall(1, 1), lockCall(2, 1), lockOK(2, 1, ""),
			unlockOK(1, 1),
		}},
		{name: "without nodes, unlock failed", events: []history.Event{
			lockCall(1, 1), lockOK(1, 1, ""), unlockCall(1, 1), unlockFailed(1, 1), lockCall(2, 1),
			lockOK(2, 1, ""),
		}},
		{
			name: "without nodes, unlocked too late", reason: wrong, event: 3,
			events: []history.Event{
				lockCall(1, 1), lockOK(1, 1, ""), lockCall(2, 1), lockOK(2, 1, ""),
				unlockCall(1, 1),
				unlockOK(1, 1),
			},
		},
	})
}

// TestLockOperations renders the operations as the order of their calls, in capitals, and returns.
func TestLockOperations(t *testing.T) {
	begin := []history.Event{lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1)}
	after := func(events ...history.Event) []history.Event {
		return append(begin[:len(begin):len(begin)], events...)
	}
	del, ok := deleted(1, "/l/a", 2), lockOK(1, 1, "/l/a")
	for _, test := range []struct {
		name   string
		events []history.Event
		want   string
	}{
		{"waiting", after(), ""},
		{"granted", after(ok), "A1 a1"},
		{
			"unlocked", after(ok, unlockCall(1, 1), lockCall(3, 1), del, lockOK(3, 1, ""),
				unlockOK(1, 1)),
			"A1 a1 R1 A3 a3 r1",
		},
		{"deleted later", after(ok, unlockCall(1, 1), lockCall(3, 1), unlockOK(1, 1),
			lockOK(3, 1, ""),
			del), "A1 a1 R1 A3 a3 r1"},
		{"unlock failed", after(ok, unlockCall(1, 1), lockCall(3, 1), del, lockOK(3, 1, ""),
			unlockFailed(1, 1)), "A1 a1 R1 A3 r1 a3"},
		{
			"deleted before", after(ok, del, unlockCall(1, 1), lockOK(2, 1, ""), unlockOK(1, 1)),
			"A1 A2 a1 R1 r1 a2",
		},
		{
			"late return", after(del, lockOK(2, 1, ""), ok, unlockCall(1, 1), unlockOK(1, 1)),
			"A1 A2 a1 R1 r1 a2",
		},
		{"two nodes deleted before", after(del, lockOK(2, 1, ""), created(1, "/l/b", 3),
			deleted(1, "/l/b", 4), lockOK(1, 1, "")), "A1 A2 a2 a1 R1 r1"},
		{"the first of two nodes deleted", after(lockOK(2, 1, ""), del, created(1, "/l/b", 3),
			unlockCall(2, 1), lockOK(1, 1, "")), "A1 A2 a2 R2 a1 r2"},
		{
			"another attempt unlocked", after(ok, unlockCall(1, 2), lockOK(2, 1, ""), del),
			"A1 A2 a1 a2 R1 r1",
		},
		{"unlocked twice", after(ok, unlockCall(1, 1), unlockFailed(1, 1), lockOK(2, 1, ""),
			unlockCall(1, 1), del, unlockOK(1, 1)), "A1 A2 a1 R1 a2 r1"},
		{"no process", []history.Event{lockCall(0, 1), lockOK(0, 1, "")}, ""},
		{"never deleted", after(ok, unlockCall(1, 1), unlockOK(1, 1)), "A1 a1"},
		{
			"no node", after(lockOK(2, 1, ""), unlockCall(2, 1), unlockOK(2, 1), ok),
			"A1 A2 a2 R2 r2 a1",
		},
		{
			"no node, unlock failed", after(lockOK(2, 1, ""), unlockCall(2, 1), unlockFailed(2, 1),
				ok),
			"A1 A2 a2 R2 a1 r2",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := spell(check.LockOperations(test.events)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func spell(operations []porcupine.Operation) string {
	words := make([]string, 2*len(operations))
	for _, o := range operations {
		input := o.Input.(models.Input)
		letters := "Aa"
		if input.Verb == models.Release {
			letters = "Rr"
		}
		words[o.Call] = fmt.Sprintf("%c%d", letters[0], input.Process)
		words[o.Return] = fmt.Sprintf("%c%d", letters[1], input.Process)
	}
	return strings.Join(words, " ")
}

func TestLinearizableCheckerRemembers(t *testing.T) {
	var c check.LinearizableChecker
	right := []history.Event{lockCall(1, 1), lockOK(1, 1, ""), unlockCall(1, 1), unlockOK(1, 1)}
	wrong := []history.Event{lockCall(1, 1), lockOK(1, 1, ""), lockCall(2, 1), lockOK(2, 1, "")}
	twice := []history.Event{lockCall(1, 1), lockOK(1, 1, ""), lockCall(1, 2), lockOK(1, 2, "")}
	renamed := []history.Event{
		on(history.Tick, 0), lockCall(5, 1), lockOK(5, 1, ""), lockCall(3, 1),
		lockOK(3, 1, ""),
	}
	for range 2 {
		for _, events := range [][]history.Event{right, wrong, renamed, twice} {
			if got, want := c.Check(events),
				check.Linearizable(events); !reflect.DeepEqual(got,
				want) {
				t.Errorf("got %+v, a new checker says %+v", got, want)
			}
		}
	}
}

// A checker whose cache has been emptied gives the same verdicts as before.
func TestLinearizableCheckerForgets(t *testing.T) {
	var c check.LinearizableChecker
	wrong := []history.Event{lockCall(1, 1), lockOK(1, 1, ""), lockCall(2, 1), lockOK(2, 1, "")}
	want := c.Check(wrong)
	// Every n encodes a history of its own: each bit is whether the next grant goes to the other
	// process.
	var events []history.Event
	for n := range 1<<15 + 1 {
		events = events[:0]
		process := int32(1)
		for bit := range 17 {
			events = append(events, lockCall(process, 1), lockOK(process, 1, ""),
				unlockCall(process, 1),
				unlockOK(process, 1))
			if n>>bit&1 == 1 {
				process = 3 - process
			}
		}
		if v := c.Check(events); v != nil {
			t.Fatal(v.Detail)
		}
	}
	if got := c.Check(wrong); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Only the prefix of a history that is too long is checked.
func TestLinearizableIsBounded(t *testing.T) {
	var turns []history.Event
	for n := range int32(3000) {
		p := n%3 + 1
		turns = append(turns, lockCall(p, n), lockOK(p, n, ""), unlockCall(p, n), unlockOK(p, n))
	}
	wrong := []history.Event{lockCall(4, 1), lockOK(4, 1, ""), lockCall(5, 1), lockOK(5, 1, "")}
	if v := check.Linearizable(slices.Insert(slices.Clone(turns), 4*2000,
		wrong...)); v == nil || v.Event != 4*2000+3 {
		t.Errorf("%+v", v)
	}
	if v := check.Linearizable(append(turns, wrong...)); v != nil {
		t.Errorf("%+v", v)
	}
}

// In a prefix, a release in progress may complete later, but a release that was not called may not.
func TestLinearizableOfABeginning(t *testing.T) {
	c := check.LinearizableChecker{Cut: true}
	held := []history.Event{lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a")}
	next := []history.Event{lockCall(2, 1), created(2, "/l/b", 2), lockOK(2, 1, "/l/b")}
	if v := c.Check(slices.Concat(held, []history.Event{unlockCall(1, 1)}, next)); v != nil {
		t.Errorf("%+v", v)
	}
	if v := c.Check(slices.Concat(held, next)); v == nil {
		t.Error("two have the lock, and nothing is found")
	}
}

func TestLockModelDescribes(t *testing.T) {
	acquire, release := models.Input{Process: 2, Verb: models.Acquire},
		models.Input{Process: 2, Verb: models.Release}
	free := models.Owner.Init()
	legal, owned := models.Owner.Step(free, acquire, nil)
	if !legal {
		t.Fatal("a free lock cannot be acquired")
	}
	for _, test := range []struct{ got, want string }{
		{models.Owner.DescribeState(free), "free"},
		{models.Owner.DescribeState(owned), "owned by c2"},
		{models.Owner.DescribeOperation(acquire, nil), "c2 acquires"},
		{models.Owner.DescribeOperation(release, nil), "c2 releases"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	if models.Owner.Hash(free) == models.Owner.Hash(owned) {
		t.Error("a free and an owned lock hash alike")
	}
}
