package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestNoLostUpdate(t *testing.T) {
	const overwritten = "a write was accepted that did not take an earlier write into account"
	type events = []history.Event
	znode := func(e history.Event) history.Event { e.Path = "/data"; return e }
	judge(t, history.NoLostUpdate, check.NoLostUpdate, []verdict{
		{name: "nothing"},
		{name: "two of the same version", reason: overwritten, event: 3, events: events{
			read(1, 1, 0),
			read(2, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2),
		}},
		{name: "one after the other", events: events{
			read(1, 1, 0), wrote(1, 1, 1), read(2, 1, 1),
			wrote(2, 1, 2),
		}},
		{name: "the second is refused", events: events{
			read(1, 1, 0), read(2, 1, 0), wrote(1, 1, 1),
			refused(wrote(2, 1, 0)),
		}},
		{name: "the first is refused", events: events{
			read(1, 1, 0), read(2, 1, 0),
			refused(wrote(1, 1, 0)), wrote(2, 1, 1),
		}},
		{name: "the second reads again", events: events{
			read(1, 1, 0), read(2, 1, 0), wrote(1, 1, 1),
			read(2, 1, 1), wrote(2, 1, 2),
		}},
		{name: "the second cannot read again", reason: overwritten, event: 4, events: events{
			read(1, 1, 0), read(2, 1, 0), wrote(1, 1, 1), refused(read(2, 1, 0)), wrote(2, 1, 2),
		}},
		{name: "its own writes", events: events{read(1, 1, 0), wrote(1, 1, 1), wrote(1, 1, 2)}},
		{name: "its own writes with one between", reason: overwritten, event: 4, events: events{
			read(1, 1, 0), wrote(1, 1, 1), read(2, 1, 1), wrote(2, 1, 2), wrote(1, 1, 3),
		}},
		{name: "without reading", events: events{read(1, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2)}},
		{name: "the history begins in the middle", events: events{read(1, 1, 7), wrote(1, 1, 8)}},
		{name: "two resources", events: events{
			read(1, 1, 0), znode(read(2, 1, 0)), wrote(1, 1, 1),
			changed(2, "/data", 9),
		}},
		{name: "the second of two resources", reason: overwritten, event: 4, events: events{
			read(1, 1, 0), znode(read(1, 1, 3)), znode(read(2, 1, 3)), changed(1, "/data", 5),
			changed(2, "/data", 6),
		}},
		{name: "one process and two resources", events: events{
			read(1, 1, 7), znode(read(1, 1, 3)),
			wrote(1, 1, 8), changed(1, "/data", 5),
		}},
		{name: "overwritten twice", reason: overwritten, event: 4, events: events{
			read(1, 1, 0), read(2, 1, 0), read(3, 1, 0), wrote(1, 1, 1), wrote(2, 1, 2),
			wrote(3, 1, 3),
		}},
		{name: "a znode that no process heard about", reason: overwritten, event: 3, events: events{
			znode(read(1, 1, 3)), znode(read(2, 1, 3)), changed(1, "/data", 5),
			changed(2, "/data", 6),
		}},
		{name: "a znode that is created", reason: overwritten, event: 3, events: events{
			znode(read(1, 1, 0)), znode(read(2, 1, 0)), persistent(1, "/data", 5),
			changed(2, "/data", 6),
		}},
		{name: "a znode that says that it was written, and was not", events: events{
			znode(read(1, 1, 3)), znode(read(2, 1, 3)), znode(wrote(1, 1, 5)),
			changed(2, "/data", 6),
		}},
	})
}

func TestLostUpdatesCounts(t *testing.T) {
	events := []history.Event{
		read(1, 1, 0), read(2, 1, 0), read(3, 1, 0), wrote(1, 1, 1),
		wrote(2, 1, 2), refused(wrote(3, 1, 0)), wrote(3, 1, 3),
	}
	if lost, writes := check.LostUpdates(events); lost != 2 || writes != 3 {
		t.Errorf("%d lost of %d, want 2 of 3", lost, writes)
	}
}
