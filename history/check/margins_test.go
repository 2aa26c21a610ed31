package check_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestMargins(t *testing.T) {
	at := func(s int, kind history.Kind, e history.Event) history.Event {
		e.At, e.Kind = time.Duration(s)*time.Second, kind
		if e.Process == 0 {
			e.Process = 1
		}
		return e
	}
	send := func(s int, number int32, op string) history.Event {
		return at(s, history.Send, history.Event{Request: number, Op: op})
	}
	reply := func(s int, number int32, op, err string) history.Event {
		return at(s, history.Reply, history.Event{Request: number, Op: op, Err: err})
	}
	held := []history.Event{
		at(0, history.SessionOpened, history.Event{Session: 7}),
		at(1, history.Send, history.Event{Request: 1, Op: "create"}),
		at(1, history.Send, history.Event{Request: 2, Op: "get"}),
		at(2, history.Reply, history.Event{Request: 1, Op: "create"}),
		at(2, history.LockReturn, history.Event{}),
		at(3, history.Reply, history.Event{Request: 2, Op: "get"}),
	}
	lost := at(5, history.Lost, history.Event{Ago: time.Second})
	expired := at(6, history.SessionExpired, history.Event{Session: 7})
	inside := at(4, history.Enter, history.Event{})
	granted := at(8, history.LockReturn, history.Event{Process: 2})
	used := at(3, history.ResourceRead, history.Event{Process: 2})
	for _, test := range []struct {
		name   string
		events []history.Event
		index  int
		want   check.Margin
	}{
		{
			"told two seconds before the end",
			[]history.Event{lost, expired},
			0,
			check.Margin{Times: 1, Smallest: 2 * time.Second},
		},
		{"told after the end", []history.Event{
			expired, at(8, history.Lost, history.Event{Ago: time.Second}),
		}, 0, check.Margin{Times: 1, Smallest: -time.Second}},
		{"told after the next session", []history.Event{
			expired, at(7, history.SessionOpened, history.Event{Session: 9}),
			at(8, history.Lost, history.Event{}),
			at(100, history.SessionExpired, history.Event{Session: 9}),
		}, check.LossToEnd, check.Margin{Times: 1, Smallest: -2 * time.Second}},
		{"never told", []history.Event{
			expired, at(10, history.UnlockCall, history.Event{}),
		}, check.LossToEnd, check.Margin{Times: 1, Smallest: -4 * time.Second}},
		{"one write is no pair", []history.Event{expired}, check.ProofToEnd, check.Margin{}},
		{"a write and a sync are no pair", []history.Event{
			send(3, 3, "sync"), reply(4, 3, "sync", ""), expired,
		}, check.ProofToEnd, check.Margin{}},
		{"two writes", []history.Event{
			send(3, 3, "multi"), reply(4, 3, "multi", ""), expired,
		}, check.ProofToEnd, check.Margin{Times: 1, Smallest: 5 * time.Second}},
		{"a sync and a write", []history.Event{
			send(3, 3, "sync"), reply(3, 3, "sync", ""),
			send(4, 4, "set"), reply(5, 4, "set", ""), expired,
		}, check.ProofToEnd, check.Margin{Times: 1, Smallest: 3 * time.Second}},
		{"the second was sent before the reply to the first", []history.Event{
			send(3, 3, "sync"), send(3, 4, "delete"),
			reply(4, 3, "sync", ""), reply(4, 4, "delete", ""), expired,
		}, check.ProofToEnd, check.Margin{Times: 1, Smallest: 5 * time.Second}},
		{"a second that fails", []history.Event{
			send(5, 3, "delete"), reply(5, 3, "delete", "zk: connection closed"), expired,
		}, check.ProofToEnd, check.Margin{}},
		{"a read is no second", []history.Event{
			send(5, 3, "get"), reply(5, 3, "get", ""), expired,
		}, check.ProofToEnd, check.Margin{}},
		{
			"unlocked before",
			[]history.Event{at(3, history.UnlockCall, history.Event{}), expired},
			0,
			check.Margin{},
		},
		{"another session ends", []history.Event{
			lost, at(6, history.SessionExpired, history.Event{Session: 8}),
		}, 0, check.Margin{}},
		{"the later of two ends is no smaller", []history.Event{
			send(3, 3, "multi"), reply(3, 3, "multi", ""),
			expired, at(9, history.SessionOpened, history.Event{Session: 9}),
			send(9, 4, "sync"), reply(9, 4, "sync", ""),
			send(10, 5, "multi"), reply(10, 5, "multi", ""),
			at(15, history.SessionExpired, history.Event{Session: 9}),
		}, check.ProofToEnd, check.Margin{Times: 2, Smallest: 5 * time.Second}},
		{"a pair is of one session", []history.Event{
			at(3, history.SessionOpened, history.Event{Session: 9}),
			send(4, 4, "multi"), reply(4, 4, "multi", ""),
			at(15, history.SessionExpired, history.Event{Session: 9}),
		}, check.ProofToEnd, check.Margin{}},
		{"a write is refused", []history.Event{
			used, at(4, history.ResourceWrite, history.Event{Err: "stale"}),
		}, 2, check.Margin{Times: 1, Smallest: time.Second}},
		{"a write is accepted", []history.Event{
			used, at(4, history.ResourceWrite, history.Event{}),
		}, 2, check.Margin{}},
		{"another process is granted the lock", []history.Event{
			inside, lost, expired, granted, granted,
		}, check.LossToGrant, check.Margin{Times: 1, Smallest: 4 * time.Second}},
		{"told after the grant", []history.Event{
			inside, expired, granted, at(10, history.Lost, history.Event{Ago: time.Second}),
		}, check.LossToGrant, check.Margin{Times: 1, Smallest: -time.Second}},
		{
			"granted before the end",
			[]history.Event{inside, lost, granted, expired},
			check.LossToGrant,
			check.Margin{},
		},
		{"granted to itself", []history.Event{
			inside, lost, expired, at(8, history.LockReturn, history.Event{}),
		}, check.LossToGrant, check.Margin{}},
		{"granted to another before the own grant", []history.Event{
			at(3, history.UnlockCall, history.Event{}), expired, granted,
			at(9, history.LockReturn, history.Event{}), at(9, history.Enter, history.Event{}),
			at(10, history.Lost, history.Event{}),
		}, check.LossToGrant, check.Margin{}},
		{"lost after the critical section", []history.Event{
			inside, at(4, history.Leave, history.Event{}), lost, expired, granted,
		}, check.LossToGrant, check.Margin{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := check.MeasureMargins(append(held[:len(held):len(held)], test.events...))
			if got[test.index] != test.want {
				t.Errorf("%s: %+v, want %+v", check.MarginNames[test.index], got[test.index],
					test.want)
			}
		})
	}
}

// Merged margins keep the first schedule with the smallest one.
func TestMergeMargins(t *testing.T) {
	var sum check.Margins
	for _, later := range []check.Margin{
		{},
		{Times: 2, Smallest: 3, Schedule: 4},
		{Times: 1, Smallest: 3, Schedule: 5},
		{Times: 1, Smallest: 2, Schedule: 6},
		{},
	} {
		sum.Merge(&check.Margins{later})
	}
	if want := (check.Margin{Times: 4, Smallest: 2, Schedule: 6}); sum[0] != want {
		t.Errorf("%+v, want %+v", sum[0], want)
	}
}
