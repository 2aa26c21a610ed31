package check_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestOneLeaderPerTerm(t *testing.T) {
	const (
		notElected = "a process saw a leader that was never elected"
		twoLeaders = "a term has two leaders"
		twoTerms   = "a leader has two terms at once"
		wrongName  = "a process saw a leader under another's name"
		noLeader   = "a leader saw that nobody leads"
	)
	type events = []history.Event
	// Both are candidates, and the first of them leads in term 5.
	two := events{
		on(history.Tick, 0), lockCall(1, 1), created(1, "/l/1", 1), lockCall(2, 1),
		created(2, "/l/2", 2), elected(1, "/l/1", 5),
	}
	// The second leads in term 6.
	next := append(slices.Clone(two), deleted(1, "/l/1", 3), elected(2, "/l/2", 6))
	after := func(before events, more ...history.Event) events {
		return slices.Concat(before, more)
	}
	judge(t, history.OneLeaderPerTerm, check.OneLeaderPerTerm, []verdict{
		{name: "nothing"},
		{name: "one after the other", events: next},
		{name: "all see the first", events: after(two, observed(1, 1, "/l/1", 5),
			observed(2, 1, "/l/1", 5), observed(3, 1, "/l/1", 5))},
		{name: "a late observer", events: after(next, observed(3, 1, "/l/1", 5),
			observed(3, 2, "/l/2", 6))},
		{name: "seen before Lock returns", events: after(two[:5], observed(2, 1, "/l/1", 5),
			elected(1, "/l/1", 5))},
		{
			name: "a candidate that waits", reason: notElected, event: 6,
			events: after(two, observed(3, 2, "/l/2", 6)),
		},
		{
			name: "a node that is no candidate's", reason: notElected, event: 6,
			events: after(two, observed(3, 1, "/l/x", 5)),
		},
		{
			name: "an earlier candidate has given up",
			events: events{
				on(history.Tick, 0), created(1, "/l/1", 1), created(2, "/l/2", 2),
				deleted(1, "/l/1", 3), observed(3, 2, "/l/2", 6),
			},
		},
		{
			name: "another directory",
			events: events{
				on(history.Tick, 0), created(1, "/l/1", 1), created(2, "/m/2", 2),
				observed(3, 2, "/m/2", 6),
			},
		},
		{
			name: "a persistent node before it",
			events: events{
				on(history.Tick, 0), persistent(1, "/l/leader", 1), created(2, "/l/2", 2),
				observed(3, 2, "/l/2", 6),
			},
		},
		{
			name: "another's name", reason: wrongName, event: 6,
			events: after(two, observed(3, 2, "/l/1", 5)),
		},
		{
			name: "the term of the leader before", reason: twoLeaders, event: 8,
			events: after(next, observed(3, 2, "/l/2", 5)),
		},
		{
			name: "a grant in the term of the leader before", reason: twoLeaders, event: 7,
			events: after(two, deleted(1, "/l/1", 3), elected(2, "/l/2", 5)),
		},
		{
			name: "a term of its own for each observer", reason: twoTerms, event: 6,
			events: after(two, observed(3, 1, "/l/1", 4)),
		},
		{
			name: "the leader sees none", reason: noLeader, event: 6,
			events: after(two, observed(1, 0, "", 0)),
		},
		{name: "another sees none", events: after(two, observed(2, 0, "", 0))},
		{name: "it has resigned", events: after(two, unlockCall(1, 1), observed(1, 0, "", 0))},
		{name: "its node is gone", events: after(two, deleted(1, "/l/1", 3),
			observed(1, 0, "", 0))},
	})
}

// elected is a grant by a node, with a token.
func elected(p int32, path string, token int64) history.Event {
	e := lockOK(p, 1, path)
	e.Zxid = token
	return e
}
