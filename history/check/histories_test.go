package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
)

// The following functions construct the events of test histories. A process p has the session
// 100+p.

func lockCall(p, attempt int32) history.Event {
	return history.Event{Kind: history.LockCall, Process: p, Attempt: attempt}
}

// in returns the event as one of an attempt in the mode.
func in(mode string, e history.Event) history.Event {
	e.Op = mode
	return e
}

func shared(e history.Event) history.Event { return in(history.SharedMode, e) }

func lockOK(p, attempt int32, path string) history.Event {
	return history.Event{Kind: history.LockReturn, Process: p, Attempt: attempt, Path: path}
}

func lockFailed(p, attempt int32) history.Event {
	return history.Event{Kind: history.LockReturn, Process: p, Attempt: attempt, Err: "timeout"}
}

// observed is the observation of a leader by a node, in a term; of none if the term is 0.
func observed(p, leader int32, path string, term int64) history.Event {
	e := history.Event{Kind: history.Observed, Process: p, Path: path, Zxid: term}
	if term != 0 {
		e.Name = history.ProcessName(leader)
	}
	return e
}

func unlockCall(p, attempt int32) history.Event {
	return history.Event{Kind: history.UnlockCall, Process: p, Attempt: attempt}
}

func unlockOK(p, attempt int32) history.Event {
	return history.Event{Kind: history.UnlockReturn, Process: p, Attempt: attempt}
}

func unlockFailed(p, attempt int32) history.Event {
	return history.Event{
		Kind: history.UnlockReturn, Process: p, Attempt: attempt,
		Err: "connection loss",
	}
}

func on(kind history.Kind, p int32) history.Event { return history.Event{Kind: kind, Process: p} }

func cancelled(p int32) history.Event {
	return history.Event{Kind: history.Fault, Process: p, Name: "cancel"}
}

func crash(p int32) history.Event { return on(history.Crashed, p) }

func session(p int32) int64 { return 100 + int64(p) }

func created(p int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: history.NodeCreated, Process: p, Path: path, Zxid: zxid,
		Session: session(p),
	}
}

func persistent(p int32, path string, zxid int64) history.Event {
	return history.Event{Kind: history.NodeCreated, Process: p, Path: path, Zxid: zxid}
}

func deleted(p int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: history.NodeDeleted, Process: p, Path: path, Zxid: zxid,
		Session: session(p),
	}
}

func changed(p int32, path string, zxid int64) history.Event {
	return history.Event{Kind: history.NodeChanged, Process: p, Path: path, Zxid: zxid}
}

func expired(p int32) history.Event {
	return history.Event{Kind: history.SessionExpired, Process: p, Session: session(p)}
}

func state(p int32, name string) history.Event {
	return history.Event{Kind: history.SessionState, Process: p, Name: name, Session: session(p)}
}

func armed(p, watch int32, path, kind string) history.Event {
	return history.Event{
		Kind: history.WatchArmed, Process: p, Watch: watch, Path: path, Name: kind,
		Session: session(p),
	}
}

func fired(p, watch int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: history.WatchFired, Process: p, Watch: watch, Path: path, Zxid: zxid,
		Name: "deleted",
	}
}

func gone(p, watch int32, path string) history.Event {
	return history.Event{Kind: history.WatchGone, Process: p, Watch: watch, Path: path}
}

func delivered(p, watch int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: history.WatchEvent, Process: p, Watch: watch, Path: path, Zxid: zxid,
		Name: "deleted",
	}
}

func notWatching(p, watch int32, path string) history.Event {
	return history.Event{
		Kind: history.WatchEvent, Process: p, Watch: watch, Path: path,
		Name: "not-watching",
	}
}

func reply(p int32, zxid int64) history.Event {
	return history.Event{Kind: history.Reply, Process: p, Zxid: zxid}
}

func token(p, attempt int32, token int64) history.Event {
	return history.Event{Kind: history.LockReturn, Process: p, Attempt: attempt, Zxid: token}
}

func lost(p, attempt int32) history.Event {
	return history.Event{Kind: history.Lost, Process: p, Attempt: attempt}
}

func reenter(p, attempt int32) history.Event {
	return history.Event{Kind: history.ReenterCall, Process: p, Attempt: attempt}
}

func reentered(p, attempt int32) history.Event {
	return history.Event{Kind: history.ReenterReturn, Process: p, Attempt: attempt}
}

func reenterFailed(p, attempt int32) history.Event {
	return history.Event{Kind: history.ReenterReturn, Process: p, Attempt: attempt, Err: "no"}
}

func exited(p, attempt int32) history.Event {
	return history.Event{Kind: history.Exited, Process: p, Attempt: attempt}
}

func read(p, attempt int32, version int64) history.Event {
	return history.Event{Kind: history.ResourceRead, Process: p, Attempt: attempt, Zxid: version}
}

func wrote(p, attempt int32, version int64) history.Event {
	return history.Event{Kind: history.ResourceWrite, Process: p, Attempt: attempt, Zxid: version}
}

func refused(e history.Event) history.Event {
	e.Err = "stale token"
	return e
}

func enter(p, attempt int32) history.Event {
	return history.Event{Kind: history.Enter, Process: p, Attempt: attempt}
}

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
			checkExplained(t, want.events, v)
		})
	}
}

// checkExplained checks that a failure of the ensemble or of the client library is explained by
// more than its reason.
func checkExplained(t *testing.T, events []history.Event, v *history.Violation) {
	t.Helper()
	if v.Property != history.NoLostWatch && v.Property != history.ZooKeeperConsistency {
		return
	}
	why := explain.Of(events, []*history.Violation{v}).Whys[0].Text
	if strings.Contains(strings.ToLower(why), v.Reason+":") || !strings.Contains(why, "event") {
		t.Errorf("explained as %q", why)
	}
	if strings.Contains(why, "  ") || strings.Contains(why, "%!") {
		t.Errorf("explained as %q", why)
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
