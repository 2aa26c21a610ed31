package guarantee_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/guarantee"
)

func TestWatch(t *testing.T) {
	const (
		neverArmed    = "a watch fired that was never armed"
		firedTwice    = "a watch fired twice"
		firedGone     = "a watch fired after it was gone"
		firedUncaused = "a watch fired without a change to its node"
		inPart        = "a change fired some of the watches on it and not others"
		wrongType     = "an event of a watch has another type than the change that fired it"
		eventOrder    = "an event was delivered after one of a later change"
		notFired      = "a change to a node did not fire a watch on it"
		eventInvented = "an event was delivered of a watch that had not fired"
		eventTwice    = "an event was delivered twice"
		replyFirst    = "a reply overtook the event of an older change"
		eventLost     = "a watch fired and its event was never delivered"
		goneSilently  = "a watch was gone and its owner was not told"
	)
	type events = []history.Event
	tick, data, exist, child := on(history.Tick, 0), armed(1, 7, "/l/a", "data"),
		armed(1, 7, "/l/a", "exist"), armed(1, 7, "/l", "child")
	del, fire, event := deleted(2, "/l/a", 5), fired(1, 7, "/l/a", 5), delivered(1, 7, "/l/a", 5)
	lost, told, connected := gone(1, 7, "/l/a"), notWatching(1, 7, "/l/a"), state(1, "has-session")
	asked := armed(1, 7, "/l/a", "data")
	asked.Request = 3
	as := func(name string, e history.Event) history.Event { e.Name = name; return e }
	replyTo := func(process, request int32) history.Event {
		return history.Event{Kind: history.Reply, Process: process, Request: request}
	}
	change, answer, again := changed(2, "/l/a", 5), replyTo(1, 3), armed(1, 8, "/l/a", "data")
	againFires, againTold := as("changed", fired(1, 8, "/l/a", 5)),
		as("changed", delivered(1, 8, "/l/a", 5))
	asksAgain, answerAgain := history.Event{
		Kind: history.Serve, Process: 1, Request: 4,
		Op: "get+watch", Path: "/l/a",
	}, replyTo(1, 4)
	asksChildren := asksAgain
	asksChildren.Op = "children+watch"
	by2 := func(e history.Event) history.Event { e.Process = 2; return e }
	other, laterFire, laterEvent := armed(1, 8, "/l/b", "data"), fired(1, 8, "/l/b", 6),
		delivered(1, 8, "/l/b", 6)
	broken := make(map[error]bool)
	c := func(events []history.Event) *history.Violation {
		v := guarantee.NoLostWatch(events)
		if v != nil {
			broken[v.Guarantee] = true
		}
		return v
	}
	judge(t, history.NoLostWatch, c, []verdict{
		{name: "nothing"},
		{name: "all is well", events: events{data, del, fire, event}},

		{name: "never armed", reason: neverArmed, event: 1, events: events{del, fire}},
		{
			name: "armed under another number", reason: neverArmed, event: 2,
			events: events{data, changed(2, "/l/b", 4), fired(1, 8, "/l/a", 5)},
		},
		{name: "fired twice", reason: firedTwice, event: 3, events: events{data, del, fire, fire}},
		{
			name: "fired again after its event", reason: firedTwice, event: 4,
			events: events{data, del, fire, event, fire},
		},
		{name: "fired after it was gone", reason: firedGone, event: 3, events: events{
			data, lost, del,
			fire,
		}},
		{
			name: "fired after it was gone and the owner was told", reason: firedGone, event: 4,
			events: events{data, lost, told, del, fire},
		},
		{
			name: "fired without a change", reason: firedUncaused, event: 1,
			events: events{data, fire},
		},
		{
			name: "fired by a later change", reason: firedUncaused, event: 2,
			events: events{deleted(2, "/l/a", 6), data, fire},
		},
		{
			name: "fired by another node's change", reason: firedUncaused, event: 2,
			events: events{data, deleted(2, "/l/b", 5), fire},
		},
		{
			name: "fired by another kind of change", reason: firedUncaused, event: 2,
			events: events{data, created(2, "/l/a", 5), fire},
		},
		{name: "fired by a change before it was armed", events: events{del, data, fire, event}},
		{name: "two fire by one change", events: events{
			data, armed(2, 8, "/l/a", "data"), del,
			fired(2, 8, "/l/a", 5), fire, event, delivered(2, 8, "/l/a", 5),
		}},

		{
			name: "data not fired by deletion", reason: notFired, event: 2,
			events: events{data, del, tick},
		},
		{
			name: "data not fired by change", reason: notFired, event: 2,
			events: events{data, changed(2, "/l/a", 5), tick},
		},
		{name: "exist not fired", reason: notFired, event: 2, events: events{
			exist, created(2, "/l/a", 5),
			tick,
		}},
		{
			name: "child not fired by its own deletion", reason: notFired, event: 2,
			events: events{child, deleted(2, "/l", 5), tick},
		},
		{
			name: "child not fired by creation", reason: notFired, event: 2,
			events: events{child, created(2, "/l/a", 5), tick},
		},
		{
			name: "child not fired by deletion", reason: notFired, event: 2,
			events: events{child, del, tick},
		},
		{
			name: "child of the root not fired", reason: notFired, event: 2,
			events: events{armed(1, 7, "/", "child"), created(2, "/l", 5), tick},
		},
		{
			name: "one of two not fired", reason: inPart, event: 4,
			events: events{data, armed(2, 8, "/l/a", "data"), del, fire, tick},
		},
		{name: "fired too late", reason: notFired, event: 2, events: events{data, del, tick, fire}},
		{
			name: "two changes and one firing", reason: notFired, event: 3,
			events: events{data, armed(1, 8, "/l/b", "data"), del, deleted(2, "/l/b", 5), fire},
		},
		{name: "data not concerned by creation", events: events{data, created(2, "/l/a", 5), tick}},
		{name: "data not concerned by another node", events: events{
			data, deleted(2, "/l/ab", 5),
			tick,
		}},
		{name: "exist not concerned by deletion", events: events{exist, del, tick}},
		{name: "child not concerned by a grandchild", events: events{
			child, created(2, "/l/a/b", 5),
			tick,
		}},
		{name: "child not concerned by a sibling", events: events{
			child, created(2, "/lo/a", 5),
			tick,
		}},
		{name: "child not concerned by data", events: events{
			child, changed(2, "/l/a", 5),
			changed(2, "/l", 6), tick,
		}},
		{name: "child not concerned by the root itself", events: events{
			armed(1, 7, "/", "child"),
			created(2, "/", 5), tick,
		}},
		{name: "changed again after it fired", events: events{
			data, changed(2, "/l/a", 5),
			as("changed", fire), changed(2, "/l/a", 6), as("changed", event),
		}},
		{
			name: "fired as another type", reason: wrongType, event: 2,
			events: events{data, del, as("changed", fire)},
		},
		{name: "delivered as another type", reason: wrongType, event: 3, events: events{
			data, del, fire,
			as("changed", event),
		}},
		{
			name: "fired as created", reason: wrongType, event: 2,
			events: events{child, created(2, "/l/a", 5), as("created", fire)},
		},
		{name: "fired as children", events: events{
			child, created(2, "/l/a", 5), as("children", fire),
			as("children", event),
		}},
		{name: "events out of order", reason: eventOrder, event: 7, events: events{
			data, other, del, fire,
			deleted(2, "/l/b", 6), laterFire, laterEvent, event,
		}},
		{name: "events in order", events: events{
			data, other, del, fire, deleted(2, "/l/b", 6), laterFire,
			event, laterEvent,
		}},
		{name: "events out of order of two connections", events: events{
			data, other, del, fire,
			deleted(2, "/l/b", 6), laterFire, laterEvent, state(1, "disconnected"), event,
		}},
		{name: "gone before the change", events: events{data, lost, del, tick}},
		{name: "armed after the change", events: events{del, data, tick}},
		{name: "the history ends with the change", events: events{data, del}},

		{name: "event invented", reason: eventInvented, event: 1, events: events{data, event}},
		{name: "event of no watch", reason: eventInvented, event: 0, events: events{event}},
		{name: "event twice", reason: eventTwice, event: 4, events: events{
			data, del, fire, event,
			event,
		}},
		{name: "told twice", reason: eventTwice, event: 2, events: events{data, told, told}},
		{
			name: "told twice of a watch that is gone", reason: eventTwice, event: 3,
			events: events{data, lost, told, told},
		},
		{name: "event after it was told", reason: eventTwice, event: 4, events: events{
			data, told, del,
			fire, event,
		}},
		{name: "told by path of two watches", events: events{
			data, armed(1, 8, "/l/a", "exist"), lost,
			gone(1, 8, "/l/a"), told, notWatching(1, 8, "/l/a"), connected,
		}},
		{name: "told without a number, twice", events: events{
			notWatching(1, 0, "/l/a"),
			notWatching(1, 0, "/l/a"),
		}},

		{name: "reply first", reason: replyFirst, event: 3, events: events{
			data, del, fire, reply(1, 5),
			event,
		}},
		{name: "newer reply first", reason: replyFirst, event: 3, events: events{
			data, del, fire,
			reply(1, 6), event,
		}},
		{name: "older reply first", events: events{data, del, fire, reply(1, 4), event}},
		{name: "another's reply first", events: events{data, del, fire, reply(2, 5), event}},
		{name: "no server's reply first", events: events{data, del, fire, reply(1, 0), event}},
		{name: "reply served first", events: events{
			del, on(history.Serve, 1), data, fire, reply(1, 5),
			event,
		}},
		{
			name: "another's reply served first", reason: replyFirst, event: 4,
			events: events{del, on(history.Serve, 2), data, fire, reply(1, 5), event},
		},
		{name: "reply after the event", events: events{data, del, fire, event, reply(1, 5)}},
		{name: "reply after it was told", events: events{data, told, del, fire, reply(1, 5)}},
		{name: "nothing has a zxid", events: events{
			data, deleted(2, "/l/a", 0), fired(1, 7, "/l/a", 0),
			reply(1, 0), event,
		}},
		{name: "reply after it is gone", events: events{data, del, fire, lost, reply(1, 5)}},

		{name: "event lost", reason: eventLost, event: 2, events: events{data, del, fire}},
		{name: "event lost by a crash", events: events{data, del, fire, crash(1)}},
		{
			name: "event lost by another's crash", reason: eventLost, event: 2,
			events: events{data, del, fire, crash(2)},
		},
		{name: "told before the server knew", events: events{data, told, del, fire}},
		{name: "told before the server knew, and gone then", events: events{
			data, told, lost,
			connected,
		}},

		{
			name: "gone silently", reason: goneSilently, event: 1,
			events: events{data, lost, connected},
		},
		{
			name: "gone silently after it fired", reason: goneSilently, event: 3,
			events: events{data, del, fire, lost, connected},
		},
		{name: "gone before its owner knew of it", events: events{asked, lost, connected}},
		{name: "gone after another's reply", events: events{asked, replyTo(2, 3), lost, connected}},
		{
			name: "gone after its owner knew of it", reason: goneSilently, event: 2,
			events: events{asked, replyTo(1, 3), lost, connected},
		},
		{
			name: "told of another path", reason: goneSilently, event: 1,
			events: events{data, lost, notWatching(1, 0, "/l/b"), connected},
		},
		{
			name: "another was told", reason: goneSilently, event: 1,
			events: events{data, lost, notWatching(2, 0, "/l/a"), connected},
		},
		{
			name: "another armed", reason: goneSilently, event: 1,
			events: events{data, lost, armed(2, 8, "/l/a", "data"), connected},
		},
		{
			name: "armed again and gone again", reason: goneSilently, event: 3,
			events: events{data, lost, armed(1, 8, "/l/a", "data"), gone(1, 8, "/l/a"), connected},
		},
		{name: "gone after another one has told of the path", events: events{
			change, asked, answer, again,
			againFires, againTold, lost, connected,
		}},
		{
			name:   "gone after another one has told of the path, and it was waited for again",
			reason: goneSilently, event: 8, events: events{
				change, asked, answer, again, againFires,
				againTold, asksAgain, answerAgain, lost, connected,
			},
		},
		{name: "gone after another one has told of the path, and before it was known to be " +
			"waited for " +
			"again", events: events{
			change, asked, answer, again, againFires, againTold, asksAgain, lost,
			answerAgain, connected,
		}},
		{
			name: "gone after another one has told of the path, and another kind was waited for",
			events: events{
				change, asked, answer, again, againFires, againTold, asksChildren, answerAgain,
				lost, connected,
			},
		},
		{
			name:   "gone after another one has told who did not know of it yet",
			reason: goneSilently,
			event:  6, events: events{
				change, asked, again, againFires, againTold, answer, lost,
				connected,
			},
		},
		{
			name: "gone after another one has told of another path", reason: goneSilently, event: 5,
			events: events{
				data, other, deleted(2, "/l/b", 6), laterFire, laterEvent, lost,
				connected,
			},
		},
		{
			name: "gone after another one has told another", reason: goneSilently, event: 5,
			events: events{
				change, data, by2(again), by2(againFires), by2(againTold), lost,
				connected,
			},
		},
		{
			name:   "gone after another one has told of what it does not wait for",
			reason: goneSilently,
			event:  5, events: events{
				change, armed(1, 7, "/l/a", "child"), again, againFires, againTold,
				lost, connected,
			},
		},
		{name: "gone and told", events: events{data, lost, told, connected}},
		{name: "gone and told without a number", events: events{
			data, lost, notWatching(1, 0, "/l/a"),
			connected,
		}},
		{name: "gone and armed again", events: events{
			data, lost, armed(1, 8, "/l/a", "data"),
			connected,
		}},
		{name: "fired, gone and told", events: events{data, del, fire, lost, told, connected}},
		{name: "fired, gone and delivered", events: events{
			data, del, fire, lost, event,
			connected,
		}},
		{name: "gone and crashed", events: events{data, lost, connected, crash(1)}},
		{name: "gone and not connected again", events: events{
			data, connected, lost,
			state(1, "disconnected"),
		}},
		{name: "gone and no state known", events: events{data, lost}},
	})
	for _, guarantee := range []error{
		guarantee.ErrOrdered, guarantee.ErrUnique, guarantee.ErrAtomic, guarantee.ErrReliable,
		guarantee.ErrResumable,
		guarantee.ErrBookmarkable, guarantee.ErrPrevKV, guarantee.ErrIsCreate, guarantee.ErrFilter,
	} {
		if !broken[guarantee] || !strings.HasPrefix(guarantee.Error(), "broke ") {
			t.Errorf("no history above has %q", guarantee)
		}
	}
	if broken[nil] {
		t.Error("a violation names no guarantee")
	}
}
