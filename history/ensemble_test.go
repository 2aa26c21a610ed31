package history_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
)

// An answer shows when a server has heard of a client where there is one server. Where there are several, the answer to a write
// may come long after that: as soon as any of them has shown itself, and be it the first, it proves nothing.
func TestEnsembleSessionTimes(t *testing.T) {
	const early = "a session expired before its time"
	opened := history.Event{Kind: history.SessionOpened, Process: 1, Session: 7, Name: "4s"}
	sent := history.Event{Kind: history.Send, Process: 1, Request: 1, Op: "multi"}
	logged := history.Event{Kind: history.Logged, Server: 1, Zxid: 2}
	crashed := history.Event{Kind: history.Crashed, Process: 1}
	served := history.Event{At: 3 * time.Second, Kind: history.Serve, Process: 1, Request: 1, Op: "multi"}
	expired := func(at time.Duration) history.Event {
		return history.Event{At: at, Kind: history.SessionExpired, Process: 1, Session: 7, Zxid: 3}
	}
	judge(t, history.Ensemble, history.CheckEnsemble, []verdict{
		{name: "one server, too early", reason: early, event: 4, events: []history.Event{opened, sent, crashed, served, expired(6 * time.Second)}},
		{name: "one server, in time", events: []history.Event{opened, sent, crashed, served, expired(8 * time.Second)}},
		{name: "several servers", events: []history.Event{opened, sent, logged, crashed, served, expired(6 * time.Second)}},
		{name: "several servers that show after the answer", events: []history.Event{opened, sent, served, logged, expired(6 * time.Second)}},
	})
}

// A transaction needs a majority that has logged it, however low its number is. Only the sessions that there are before a run have
// not been logged.
func TestEnsembleMajority(t *testing.T) {
	const alone = "a transaction was committed without a majority"
	opened := func(process int32) history.Event {
		return history.Event{Kind: history.SessionOpened, Process: process, Session: int64(process), Zxid: 1<<32 + int64(process), Name: "4s"}
	}
	logged := func(server int32, count int64) history.Event {
		return history.Event{Kind: history.Logged, Server: server, Zxid: 1<<32 + count}
	}
	created := history.Event{Kind: history.NodeCreated, Process: 1, Path: "/n", Server: 3, Zxid: 1<<32 + 4}
	called := history.Event{Kind: history.LockCall, Process: 1, Attempt: 1}
	judge(t, history.Ensemble, history.CheckEnsemble, []verdict{
		{name: "logged", events: []history.Event{opened(1), opened(2), opened(3), called, logged(1, 4), created}},
		{name: "not logged", reason: alone, event: 4, events: []history.Event{opened(1), opened(2), opened(3), called, created}},
		{name: "not logged, as many as sessions", reason: alone, event: 5, events: []history.Event{opened(1), opened(2), opened(3), called,
			logged(1, 3), created}},
		{name: "a session that begins amid the run", reason: alone, event: 3, events: []history.Event{opened(1), called, logged(3, 1), opened(2)}},
		{name: "one that was logged", events: []history.Event{opened(1), called, logged(3, 1), logged(2, 2), opened(2)}},
	})
}
