package guarantee_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/guarantee"
)

// With one server, a reply shows when the server has heard of a client. With several, the reply to
// a write may come long after the request: as soon as an event shows one of them, it proves
// nothing.
func TestEnsembleSessionTimes(t *testing.T) {
	const early = "a session expired before its time"
	opened := history.Event{Kind: history.SessionOpened, Process: 1, Session: 7, Name: "4s"}
	sent := history.Event{Kind: history.Send, Process: 1, Request: 1, Op: "multi"}
	logged := history.Event{Kind: history.Logged, Server: 1, Zxid: 2}
	crashed := history.Event{Kind: history.Crashed, Process: 1}
	exclusion := history.Event{
		At: 3 * time.Second, Kind: history.Serve, Process: 1, Request: 1,
		Op: "multi",
	}
	expired := func(at time.Duration) history.Event {
		return history.Event{At: at, Kind: history.SessionExpired, Process: 1, Session: 7, Zxid: 3}
	}
	judge(t, history.ZooKeeperConsistency, guarantee.ZooKeeperConsistency, []verdict{
		{name: "one server, too early", reason: early, event: 4, events: []history.Event{
			opened, sent,
			crashed, exclusion, expired(6 * time.Second),
		}},
		{name: "one server, in time", events: []history.Event{
			opened, sent, crashed, exclusion,
			expired(8 * time.Second),
		}},
		{name: "several servers", events: []history.Event{
			opened, sent, logged, crashed, exclusion,
			expired(6 * time.Second),
		}},
		{name: "several servers that show after the answer", events: []history.Event{
			opened, sent, exclusion,
			logged, expired(6 * time.Second),
		}},
	})
}

// A transaction needs a majority that has logged it, however low its zxid. Only the sessions from
// before a run have not been logged.
func TestEnsembleMajority(t *testing.T) {
	const alone = "a transaction was committed without a majority"
	opened := func(process int32) history.Event {
		return history.Event{
			Kind: history.SessionOpened, Process: process, Session: int64(process),
			Zxid: 1<<32 + int64(process), Name: "4s",
		}
	}
	logged := func(server int32, count int64) history.Event {
		return history.Event{Kind: history.Logged, Server: server, Zxid: 1<<32 + count}
	}
	created := history.Event{
		Kind: history.NodeCreated, Process: 1, Path: "/n", Server: 3,
		Zxid: 1<<32 + 4,
	}
	called := history.Event{Kind: history.LockCall, Process: 1, Attempt: 1}
	judge(t, history.ZooKeeperConsistency, guarantee.ZooKeeperConsistency, []verdict{
		{name: "logged", events: []history.Event{
			opened(1), opened(2), opened(3), called, logged(1, 4),
			created,
		}},
		{name: "not logged", reason: alone, event: 4, events: []history.Event{
			opened(1), opened(2),
			opened(3), called, created,
		}},
		{name: "not logged, as many as sessions", reason: alone, event: 5, events: []history.Event{
			opened(1), opened(2), opened(3), called,
			logged(1, 3), created,
		}},
		{
			name: "a session that begins amid the run", reason: alone, event: 3,
			events: []history.Event{opened(1), called, logged(3, 1), opened(2)},
		},
		{name: "one that was logged", events: []history.Event{
			opened(1), called, logged(3, 1),
			logged(2, 2), opened(2),
		}},
	})
}

// Every violation of a guarantee of an ensemble is found, and nothing else is.
func TestEnsemble(t *testing.T) {
	const (
		disorder  = "a client's requests were handled out of order"
		answers   = "a client got its answers out of order"
		older     = "a client saw an older state than before"
		oldSync   = "a sync was answered from an old state"
		commits   = "transactions were committed out of order"
		early     = "a server applied a transaction before it was committed"
		applied   = "a server applied transactions out of order"
		uncreated = "a create was answered with success and never committed"
		twice     = "a node was created that was there already"
		outlived  = "an ephemeral node outlived its session"
		afterEnd  = "something was done in the name of a session that has ended"
		tooEarly  = "a session expired before its time"
	)
	type events = []history.Event
	opened := history.Event{
		Kind: history.SessionOpened, Process: 1, Session: session(1), Zxid: 1,
		Name: "4s",
	}
	run := func(rest ...history.Event) events {
		return append(events{opened, state(1, "has-session")},
			rest...)
	}
	message := func(kind history.Kind, request int32, op string, zxid int64) history.Event {
		return history.Event{Kind: kind, Process: 1, Request: request, Op: op, Zxid: zxid}
	}
	failed := func(e history.Event) history.Event { e.Err = "no node"; return e }
	at := func(second int,
		e history.Event,
	) history.Event {
		e.At = time.Duration(second) * time.Second
		return e
	}
	zxid := func(zxid int64, e history.Event) history.Event { e.Zxid = zxid; return e }
	send := func(request int32, op string) history.Event {
		return message(history.Send, request, op,
			0)
	}
	serve := func(request int32, op string, zxid int64) history.Event {
		return message(history.Serve, request, op, zxid)
	}
	answer := func(request int32, op string, zxid int64) history.Event {
		return message(history.Reply, request, op, zxid)
	}
	server := func(kind history.Kind, server int32, zxid int64) history.Event {
		return history.Event{Kind: kind, Server: server, Zxid: zxid}
	}
	struck := history.Event{Kind: history.Fault, Name: "slow-clock", Relaxes: true}
	cut := history.Event{Kind: history.Fault, Name: "cut", Process: 1}
	two := events{send(1, "get"), send(2, "get")}
	with := func(first events, rest ...history.Event) events {
		return run(append(first[:len(first):len(first)], rest...)...)
	}
	closed := history.Event{Kind: history.SessionClosed, Process: 1, Session: session(1), Zxid: 9}
	judge(t, history.ZooKeeperConsistency, guarantee.ZooKeeperConsistency, []verdict{
		{name: "nothing"},
		{name: "in order", events: with(two, serve(1, "get", 1), serve(2, "get", 1),
			answer(1, "get", 1),
			answer(2, "get", 1))},
		{name: "handled twice", reason: disorder, event: 5, events: with(two, serve(1, "get", 1),
			serve(1, "get", 1))},
		{
			name: "handled in another order", reason: disorder, event: 5,
			events: with(two, serve(2, "get", 1), serve(1, "get", 1)),
		},
		{
			name: "handled before it was sent", reason: disorder, event: 2,
			events: run(serve(1, "get", 1)),
		},
		{
			name: "answered in another order", reason: answers, event: 5,
			events: with(two, answer(2, "get", 1), answer(1, "get", 1)),
		},
		{name: "answered twice", reason: answers, event: 5, events: with(two, answer(1, "get", 1),
			answer(1, "get", 1))},
		{name: "answered by the client library", events: with(two, answer(2, "get", 1),
			answer(1, "get", 0))},
		{
			name: "an answer after that to a handshake", reason: answers, event: 5,
			events: with(two, answer(2, "connect", 1), answer(1, "get", 1)),
		},

		{name: "an older state", reason: older, event: 5, events: with(two, answer(1, "get", 5),
			answer(2, "get", 4))},
		{
			name: "an older state in an answer that tells of none",
			events: with(two, answer(1, "get", 5),
				answer(2, "auth", 4)),
		},
		{
			name: "an older state after a handshake", reason: older, event: 6,
			events: with(two, send(3, "get"), answer(1, "get", 5), answer(2, "connect", 3),
				answer(3, "get", 4))[1:],
		},
		{name: "an older state in another session", events: with(two, answer(1, "get", 5),
			state(1, "expired"), answer(2, "get", 4))},
		{
			name: "an older state in the same session", reason: older, event: 6,
			events: with(two, answer(1, "get", 5), state(1, "connected"), answer(2, "get", 4)),
		},

		{name: "an old sync", reason: oldSync, event: 4, events: run(created(1, "/l/a", 5),
			send(1, "sync"), answer(1, "sync", 4))},
		{name: "a sync of what was committed", events: run(created(1, "/l/a", 5), send(1, "sync"),
			created(1, "/l/b", 6), answer(1, "sync", 5))},
		{name: "a sync that failed", events: run(created(1, "/l/a", 5), send(1, "sync"),
			failed(answer(1, "sync", 4)))},
		{name: "an old sync where clocks are wrong", events: run(struck, created(1, "/l/a", 5),
			send(1, "sync"), answer(1, "sync", 4))},
		{
			name: "an old sync after a cut", reason: oldSync, event: 5,
			events: run(cut, created(1, "/l/a", 5), send(1, "sync"), answer(1, "sync", 4)),
		},
		{name: "an old answer to a read", events: run(created(1, "/l/a", 5), send(1, "get"),
			answer(1, "get", 4))},
		{name: "the first of two syncs counts", events: run(created(1, "/l/a", 5), send(1, "sync"),
			created(1, "/l/b", 6), send(2, "sync"), answer(1, "sync", 5))},
		{
			name: "a sync after one that was answered", reason: oldSync, event: 7,
			events: run(created(1, "/l/a", 5), send(1, "sync"), answer(1, "sync", 5),
				created(1, "/l/b", 7), send(2, "sync"), answer(2, "sync", 6)),
		},

		{
			name: "committed out of order", reason: commits, event: 3,
			events: run(created(1, "/l/a", 5),
				deleted(1, "/l/a", 4)),
		},
		{name: "several changes of one transaction", events: run(created(1, "/l/a", 5),
			changed(1, "/l/b", 5))},
		{
			name: "applied too early", reason: early, event: 5,
			events: run(server(history.Logged, 1, 5),
				server(history.Logged, 2, 5),
				server(history.Applied, 2, 5), created(1, "/l/a", 5)),
		},
		{name: "applied when it was committed", events: run(server(history.Logged, 1, 5),
			server(history.Logged, 2, 5), created(1, "/l/a", 5),
			server(history.Applied, 2, 5), created(1, "/l/b", 5))},
		{
			name: "applied out of order", reason: applied, event: 3,
			events: run(server(history.Applied, 2, 6), server(history.Applied, 2, 5)),
		},
		{
			name: "applied twice", reason: applied, event: 3,
			events: run(server(history.Applied, 2, 6),
				server(history.Applied, 2, 6)),
		},
		{name: "applied by two servers", events: run(server(history.Applied, 2, 6),
			server(history.Applied, 3, 5))},
		{name: "committed by an election", events: run(server(history.Logged, 3, 2),
			server(history.Leading, 2, 5), created(1, "/l/a", 5))},

		{name: "never created", reason: uncreated, event: 3, events: run(send(1, "create"),
			serve(1, "create", 5))},
		{name: "created", events: run(send(1, "create"), created(1, "/l/a", 5),
			serve(1, "create", 5))},
		{
			name: "created once and answered twice", reason: uncreated, event: 6,
			events: run(send(1, "create"), send(2, "create"), created(1, "/l/a", 5),
				serve(1, "create", 5), serve(2, "create", 6)),
		},
		{
			name: "created by what was not answered", reason: uncreated, event: 6,
			events: run(send(1, "create"), send(2, "create"), created(1, "/l/a", 5),
				failed(serve(1, "create", 5)), serve(2, "create", 6)),
		},
		{name: "created by a failed call", events: run(send(1, "create"), failed(serve(1, "create", 5)))},
		{name: "created twice", reason: twice, event: 3, events: run(created(1, "/l/a", 5),
			created(2, "/l/a", 6))},
		{name: "created anew", events: run(created(1, "/l/a", 5), created(1, "/l/b", 6),
			deleted(1, "/l/a", 7), created(2, "/l/a", 8))},

		{
			name: "outlives its session", reason: outlived, event: 3,
			events: run(created(1, "/l/a", 5),
				closed),
		},
		{name: "goes with its session", events: run(created(1, "/l/a", 5), created(2, "/l/b", 6),
			deleted(1, "/l/a", 9), closed)},
		{name: "stays, as it is not ephemeral", events: run(persistent(1, "/l/a", 5), closed)},
		{
			name: "created after the end", reason: afterEnd, event: 3,
			events: run(closed, created(1, "/l/a", 10)),
		},
		{
			name:   "a persistent one created after the end",
			events: run(closed, persistent(1, "/l/a", 10)),
		},
		{
			name: "watched after the end", reason: afterEnd, event: 3,
			events: run(closed, armed(1, 1, "/l/a", "data")),
		},
		{
			name:   "watched by another after the end",
			events: run(closed, armed(2, 1, "/l/a", "data")),
		},

		{
			name: "expires too early", reason: tooEarly, event: 2,
			events: run(at(3, zxid(5, expired(1)))),
		},
		{name: "expires in time", events: run(at(4, zxid(5, expired(1))))},
		{name: "closes early", events: run(at(3, closed))},
		{
			name:   "expires early where clocks are wrong",
			events: run(struck, at(3, zxid(5, expired(1)))),
		},
		{
			name: "expires early when the client has another",
			events: run(history.Event{
				Kind: history.SessionState, Process: 1, Session: 7,
				Name: "has-session",
			},
				at(3, zxid(5, expired(1)))),
		},
		{
			name: "expires too early after an answer", reason: tooEarly, event: 4,
			events: run(send(1, "sync"), at(3, serve(1, "sync", 1)), at(6, zxid(5, expired(1)))),
		},
		{
			name: "expires after an auth and a sasl, which do not keep it",
			events: run(send(1, "auth"), at(1, serve(1, "auth", 1)), send(2, "sasl"),
				at(3, serve(2, "sasl", 1)), at(4, zxid(5, expired(1)))),
		},
		{
			name: "expires too early after an answer before an auth", reason: tooEarly, event: 6,
			events: run(send(1, "sync"), at(3, serve(1, "sync", 1)), send(2, "auth"),
				at(4, serve(2, "auth", 1)), at(6, zxid(5, expired(1)))),
		},
		{
			name: "expires too early after a read from one of several", reason: tooEarly, event: 5,
			events: run(send(1, "get"), server(history.Logged, 1, 5),
				at(3, serve(1, "get", 1)), at(6, zxid(5, expired(1)))),
		},
		{
			name: "expires after a read of a process that has crashed",
			events: run(send(1, "get"), server(history.Logged, 1, 5), crash(1),
				at(3, serve(1, "get", 1)), at(6, zxid(5, expired(1)))),
		},
	})
}
