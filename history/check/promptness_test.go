package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestPromptness(t *testing.T) {
	const (
		lateCreate = "a process asked for a node after its attempt had ended"
		lateReturn = "a cancelled call of Lock did not return in time"
	)
	type events = []history.Event
	state := func(name string) history.Event {
		return history.Event{Kind: history.SessionState, Process: 1, Name: name}
	}
	sends := func(op, path string) history.Event {
		return history.Event{Kind: history.Send, Process: 1, Op: op, Path: path}
	}
	passed := func(at time.Duration) history.Event {
		return history.Event{Kind: history.Tick, At: at}
	}
	struck := func(name string) history.Event {
		return history.Event{Kind: history.Fault, Process: 1, Name: name}
	}
	reply := func(at time.Duration) history.Event {
		return history.Event{Kind: history.Reply, Process: 1, Op: "create", At: at}
	}
	begun := events{on(history.Tick, 0), lockCall(1, 1), sends("create", "/l/a/n-")}
	after := func(more ...history.Event) events { return slices.Concat(begun, more) }
	lenient := func(events events) *history.Violation {
		return check.Promptness(events, history.Limits{})
	}
	strict := func(events events) *history.Violation {
		return check.Promptness(events, history.Limits{NoLateRetries: true})
	}
	judge(t, history.Promptness, strict, []verdict{
		{
			name: "the same create again, which the lock rules out", reason: lateCreate, event: 4,
			events: after(cancelled(1), sends("create", "/l/a/n-")),
		},
		{name: "a directory", events: after(cancelled(1), sends("create", "/l"))},
		{name: "a retry in time", events: after(sends("create", "/l/a/n-"), cancelled(1))},
		{
			name: "the same create again, without a session",
			events: after(state("disconnected"), cancelled(1), state("has-session"),
				sends("create", "/l/a/n-")),
		},
	})
	judge(t, history.Promptness, lenient, []verdict{
		{name: "nothing"},
		{name: "a create in the attempt", events: after(sends("create", "/l/b/n-"))},
		{
			name: "a create after a cancel", reason: lateCreate, event: 4,
			events: after(cancelled(1), sends("create", "/l/b/n-")),
		},
		{
			name: "a create after a failure", reason: lateCreate, event: 4,
			events: after(lockFailed(1, 1), sends("create", "/l/b/n-")),
		},
		{
			name: "a create after a cancel and the return", reason: lateCreate, event: 5,
			events: after(cancelled(1), lockFailed(1, 1), sends("create", "/l/b/n-")),
		},
		{name: "the same create again", events: after(cancelled(1), sends("create", "/l/a/n-"))},
		{name: "a directory", events: after(cancelled(1), sends("create", "/l"))},
		{
			name: "a path that only begins alike", reason: lateCreate, event: 4,
			events: after(cancelled(1), sends("create", "/l/a/n")),
		},
		{name: "a delete", events: after(cancelled(1), sends("delete", "/l/b/n-"))},
		{name: "another gave up", events: after(cancelled(2), sends("create", "/l/b/n-"))},
		{
			name: "the next attempt",
			events: after(cancelled(1), lockFailed(1, 1), lockCall(1, 2),
				sends("create", "/l/b/n-")),
		},
		{
			name:   "granted all the same",
			events: after(cancelled(1), lockOK(1, 1, ""), sends("create", "/l/b/n-")),
		},
		{
			name: "without a session",
			events: after(state("disconnected"), cancelled(1), state("has-session"),
				sends("create", "/l/b/n-")),
		},
		{
			name: "with a session again", reason: lateCreate, event: 6,
			events: after(state("disconnected"), state("has-session"), cancelled(1),
				sends("create", "/l/b/n-")),
		},
		{
			name: "no return in time", reason: lateReturn, event: 5,
			events: after(reply(0), cancelled(1), passed(history.PromptReturn+1)),
		},
		{
			name: "no return after a reply", reason: lateReturn, event: 5,
			events: after(cancelled(1), reply(time.Second),
				passed(time.Second+history.PromptReturn+1)),
		},
		{
			name:   "time left",
			events: after(reply(0), cancelled(1), passed(history.PromptReturn)),
		},
		{
			name:   "time left since a reply",
			events: after(cancelled(1), reply(time.Second), passed(history.PromptReturn+1)),
		},
		{
			name:   "an unanswered request",
			events: after(cancelled(1), passed(history.PromptReturn+1)),
		},
		{
			name: "a return in time",
			events: after(reply(0), cancelled(1), lockFailed(1, 1),
				passed(history.PromptReturn+1)),
		},
		{
			name: "another fault",
			events: after(reply(0), cancelled(1), struck("stall-replies"),
				passed(history.PromptReturn+1)),
		},
		{
			name:   "a crash",
			events: after(reply(0), cancelled(1), crash(1), passed(history.PromptReturn+1)),
		},
		{name: "not cancelled", events: after(passed(time.Hour))},
	})
}

func TestPromptnessOfTimedCalls(t *testing.T) {
	const overrun = "a call went on after its time limit"
	type events = []history.Event
	timed := func(limit time.Duration) history.Event {
		return history.Event{Kind: history.TimedCall, Process: 1, Validity: limit}
	}
	at := func(at time.Duration, kind history.Kind) history.Event {
		return history.Event{Kind: kind, Process: 1, At: at}
	}
	struck := func(name string) history.Event {
		return history.Event{Kind: history.Fault, Process: 1, Name: name}
	}
	strict := func(events []history.Event) *history.Violation {
		return check.Promptness(events, history.Limits{})
	}
	judge(t, history.Promptness, strict, []verdict{
		{
			name: "a try that waits", reason: overrun, event: 1,
			events: events{timed(0), at(1, history.Tick)},
		},
		{
			name:   "a try that returns",
			events: events{timed(0), at(0, history.TimedReturn), at(1, history.Tick)},
		},
		{
			name: "a try that waits for a reply",
			events: events{
				timed(0), at(0, history.Send), at(9, history.Reply), at(9, history.TimedReturn),
			},
		},
		{
			name: "a try that waits before a request", reason: overrun, event: 3,
			events: events{timed(0), at(0, history.Send), at(9, history.Reply), at(10, history.Send)},
		},
		{
			name:   "a call within its time",
			events: events{timed(5), at(5, history.Tick), at(5, history.TimedReturn)},
		},
		{
			name: "a call that returns late", reason: overrun, event: 1,
			events: events{timed(5), at(6, history.Tick), at(6, history.TimedReturn)},
		},
		{
			name: "a call that waits on after a late reply", reason: overrun, event: 3,
			events: events{timed(5), at(4, history.Send), at(8, history.Reply), at(9, history.Tick)},
		},
		{
			name:   "a fault",
			events: events{timed(0), struck("pause"), at(1, history.Tick)},
		},
		{
			name: "a cancel", reason: overrun, event: 2,
			events: events{timed(0), struck("cancel"), at(1, history.Tick)},
		},
		{name: "a crash", events: events{timed(0), crash(1), at(1, history.Tick)}},
		{
			name: "a second call", reason: overrun, event: 4,
			events: events{
				timed(0), at(0, history.TimedReturn), at(7, history.Tick),
				{Kind: history.TimedCall, Process: 1, At: 7},
				at(8, history.Tick),
			},
		},
	})
}

func TestPromptnessAllowsOverrun(t *testing.T) {
	limits := history.DefaultLimits
	limits.Overrun = 2
	var c check.Checker
	c.Limits = limits
	// The waits before the request and after the reply count together.
	log := []history.Event{
		{Kind: history.TimedCall, Process: 1},
		{Kind: history.Send, Process: 1, At: 1},
		{Kind: history.Reply, Process: 1, At: 7},
		{Kind: history.Tick, At: 8},
	}
	claims := []history.Property{history.Promptness}
	if v := c.CheckAll(claims, log); len(v) != 0 {
		t.Errorf("with an overrun of 2: %+v", v[0])
	}
	log = append(log, history.Event{Kind: history.Tick, At: 9})
	if v := c.CheckAll(claims, log); len(v) != 1 || v[0].Event != 4 {
		t.Errorf("with an overrun of 3: %v, want a violation at event 4", v)
	}
}
