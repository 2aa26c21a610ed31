package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

// An explanation and the verdict that it explains agree on who holds the lock and who waits.
func TestExplanationsAgreeWithVerdicts(t *testing.T) {
	call, created, deleted := eventtest.LockCall, eventtest.Created, eventtest.Deleted
	for _, tc := range []struct {
		name   string
		decide func([]history.Event) *history.Violation
		events []history.Event
		want   string
	}{
		{
			"the node of another process has the path of a holder's deleted node",
			check.ServerMutualExclusion,
			[]history.Event{
				call(1, 1), call(2, 1), call(3, 1), created(3, "/l/a", 1), deleted(3, "/l/a", 2),
				created(2, "/l/a", 3), eventtest.LockOK(2, 1, "/l/a"),
				eventtest.LockOK(3, 1, "/l/a"), created(1, "/l/b", 4),
				eventtest.LockOK(1, 1, "/l/b"),
			},
			"c1 was granted the lock (event 9) while c2 held it",
		},
		{
			"a holder of another lock",
			check.ServerMutualExclusion,
			[]history.Event{
				call(1, 1), call(2, 1), call(3, 1), created(2, "/l/a", 1),
				eventtest.LockOK(2, 1, "/l/a"), created(3, "/m/a", 2),
				eventtest.LockOK(3, 1, "/m/a"), created(1, "/l/b", 3),
				eventtest.LockOK(1, 1, "/l/b"),
			},
			"c1 was granted the lock (event 8) while c2 held it",
		},
		{
			"a holder that has deleted the second of its nodes, and names none",
			check.ServerMutualExclusion,
			[]history.Event{
				call(1, 1), call(2, 1), created(2, "/l/a", 1), created(2, "/l/b", 2),
				deleted(2, "/l/b", 3), eventtest.LockOK(2, 1, ""), created(1, "/l/c", 4),
				eventtest.LockOK(1, 1, ""),
			},
			"c1 was granted the lock (event 7) while c2 held it: c2 was granted it (event 5) by a, which still",
		},
		{
			"a waiting process with two nodes",
			check.FIFO,
			[]history.Event{
				call(1, 1), call(2, 1), created(2, "/l/a-0000000000", 1),
				created(1, "/l/b-0000000001", 2), created(2, "/l/a-0000000002", 3),
				eventtest.LockOK(1, 1, "/l/b-0000000001"),
			},
			"c1 was granted the lock (event 5) by c1#1 while c2, which had queued earlier",
		},
		{
			"the loss of a node whose path another node has since",
			check.ClientMutualExclusion,
			[]history.Event{
				call(1, 1), call(2, 1), created(1, "/l/a", 1), eventtest.LockOK(1, 1, "/l/a"),
				deleted(1, "/l/a", 2), created(2, "/l/a", 3),
				eventtest.LockOK(2, 1, "/l/a"), eventtest.Enter(1, 1), eventtest.Enter(2, 1),
			},
			"c1's lock never told its holder that the lock was lost (event 4)",
		},
		{
			"a grant by a deleted node whose path another node has since",
			check.ClientMutualExclusion,
			[]history.Event{
				call(1, 1), call(2, 1), created(1, "/l/a", 1), deleted(1, "/l/a", 2),
				created(2, "/l/a", 3), eventtest.LockOK(1, 1, "/l/a"),
				eventtest.LockOK(2, 1, "/l/a"), eventtest.Enter(1, 1), eventtest.Enter(2, 1),
			},
			"c1 took the lock (event 5) by a, which had been deleted by c1 (event 3). c2 entered",
		},
		{
			"the loss of a node after another process had been granted the lock",
			check.ClientMutualExclusion,
			[]history.Event{
				call(1, 1), call(2, 1), created(1, "/l/a", 1), created(2, "/l/b", 2),
				eventtest.LockOK(1, 1, "/l/a"), eventtest.LockOK(2, 1, "/l/b"),
				eventtest.Enter(1, 1), deleted(1, "/l/a", 3), eventtest.Enter(2, 1),
			},
			"c2 entered its critical section (event 8) while c1 was inside: c1 had entered at " +
				"event 6, and had neither left nor been notified of a loss. c1 was granted the " +
				"lock at event 4, c2 at event 5.",
		},
	} {
		v := tc.decide(tc.events)
		if v == nil {
			t.Errorf("%s: no violation", tc.name)
			continue
		}
		if got := explain.Of(tc.events, []*history.Violation{v}).Whys[0].Text; !strings.HasPrefix(
			got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// An explanation calls a grant of a semaphore early only if as many older contenders as it has
// places were before it.
func TestLegalGrantIsNoCause(t *testing.T) {
	call, created, ok := eventtest.LockCall, eventtest.Created, eventtest.LockOK
	queued := []history.Event{
		call(1, 1), call(2, 1), call(3, 1), call(4, 1), created(1, "/l/a", 1),
		created(2, "/l/b", 2), created(3, "/l/c", 3), created(4, "/l/d", 4),
	}
	const although = "although a of c1, created earlier (event 4), was before"
	for _, tc := range []struct {
		name   string
		grants []history.Event
		want   bool
	}{
		{
			"the last holder had one older contender before it",
			[]history.Event{ok(3, 1, "/l/c"), ok(2, 1, "/l/b"), ok(4, 1, "/l/d")},
			false,
		},
		{
			"the last holder had as many older contenders before it as there are places",
			[]history.Event{ok(2, 1, "/l/b"), ok(3, 1, "/l/c"), ok(4, 1, "/l/d")},
			true,
		},
		{
			"two holders of one node",
			[]history.Event{ok(2, 1, "/l/b"), ok(4, 1, "/l/b")},
			false,
		},
	} {
		checker := check.Checker{Limits: history.Limits{Places: 2}}
		events := slices.Concat(queued, tc.grants)
		v := checker.Check(history.ServerMutualExclusion, events)
		if v == nil {
			t.Errorf("%s: no violation", tc.name)
			continue
		}
		text := explain.Of(events, []*history.Violation{v}).Whys[0].Text
		if strings.Contains(text, although) != tc.want {
			t.Errorf("%s: %q", tc.name, text)
		}
	}
}
