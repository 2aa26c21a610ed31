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
	})
}
