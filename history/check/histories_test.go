package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/eventtest"
)

var (
	lockCall      = eventtest.LockCall
	in            = eventtest.In
	shared        = eventtest.Shared
	lockOK        = eventtest.LockOK
	lockFailed    = eventtest.LockFailed
	observed      = eventtest.Observed
	unlockCall    = eventtest.UnlockCall
	unlockOK      = eventtest.UnlockOK
	unlockFailed  = eventtest.UnlockFailed
	on            = eventtest.On
	cancelled     = eventtest.Cancelled
	crash         = eventtest.Crash
	session       = eventtest.Session
	created       = eventtest.Created
	persistent    = eventtest.Persistent
	deleted       = eventtest.Deleted
	changed       = eventtest.Changed
	expired       = eventtest.Expired
	state         = eventtest.State
	armed         = eventtest.Armed
	fired         = eventtest.Fired
	delivered     = eventtest.Delivered
	reply         = eventtest.Reply
	token         = eventtest.Token
	lost          = eventtest.Lost
	reenter       = eventtest.Reenter
	reentered     = eventtest.Reentered
	reenterFailed = eventtest.ReenterFailed
	exited        = eventtest.Exited
	read          = eventtest.Read
	wrote         = eventtest.Wrote
	refused       = eventtest.Refused
	enter         = eventtest.Enter
)

// A verdict is a history and the expected result of a checker.
type verdict struct {
	name   string
	events []history.Event
	reason string // of the violation, empty if there must be none
	event  int    // of the violation
}

func judge(t *testing.T, property history.Property, check func([]history.Event) *history.Violation,
	verdicts []verdict,
) {
	t.Helper()
	for _, want := range verdicts {
		t.Run(want.name, func(t *testing.T) {
			v := check(want.events)
			switch {
			case v == nil && want.reason != "":
				t.Fatalf("no violation, want %q at %d", want.reason, want.event)
			case v == nil:
				return
			case v.Property != property || v.Reason != want.reason || v.Event != want.event:
				t.Fatalf("violation %+v, want %q at %d", *v, want.reason, want.event)
			}
			if strings.ContainsAny(v.Reason, "0123456789/") {
				t.Errorf("the reason %q has specifics", v.Reason)
			}
			if !strings.Contains(v.Detail, "c") || v.Detail == v.Reason {
				t.Errorf("the detail %q has no specifics", v.Detail)
			}
		})
	}
}

// contention returns a history of processes that queue for the lock in order, with their messages
// and the events of the ensemble.
func contention(processes int32) []history.Event {
	var log []history.Event
	zxid, request := int64(0), int32(0)
	path := func(p int32) string { return fmt.Sprintf("/lock/n-%010d", p) }
	exchange := func(p int32, op string, effects ...history.Event) {
		request++
		log = append(log, history.Event{
			Kind: history.Send, Process: p, Request: request, Op: op,
			Path: path(p),
		})
		log = append(log, effects...)
		log = append(log,
			history.Event{
				Kind: history.Serve, Process: p, Request: request, Op: op, Path: path(p),
				Zxid: zxid,
			},
			history.Event{
				Kind: history.Reply, Process: p, Request: request, Op: op, Path: path(p),
				Zxid: zxid,
			})
	}
	for p := int32(1); p <= processes; p++ {
		exchange(p, "connect", history.Event{
			Kind: history.SessionOpened, Process: p,
			Session: session(p),
		})
		log = append(log, state(p, "has-session"), lockCall(p, 1))
		zxid++
		exchange(p, "create", created(p, path(p), zxid))
		exchange(p, "children")
		if p > 1 {
			watch := armed(p, p, path(p-1), "data")
			watch.Request = request + 1
			exchange(p, "exists", watch)
		}
	}
	log = append(log, on(history.FairPhase, 0))
	for p := int32(1); p <= processes; p++ {
		log = append(log, lockOK(p, 1, path(p)), on(history.Enter, p), on(history.Leave, p),
			unlockCall(p, 1))
		zxid++
		if p == processes {
			exchange(p, "delete", deleted(p, path(p), zxid))
		} else {
			exchange(p, "delete", deleted(p, path(p), zxid), fired(p+1, p+1, path(p), zxid))
			log = append(log, delivered(p+1, p+1, path(p), zxid))
			exchange(p+1, "children")
		}
		log = append(log, unlockOK(p, 1), on(history.Finished, p))
	}
	return log
}
