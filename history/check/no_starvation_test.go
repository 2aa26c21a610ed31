package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestNoStarvation(t *testing.T) {
	const starved = "a process that had queued was overtaken more often than the lock allows"
	type events = []history.Event
	fair := on(history.FairPhase, 0)
	queued := events{lockCall(1, 1), created(1, "/l/a", 1)}
	turn := func(attempt int32) events {
		return events{
			lockCall(2, attempt),
			lockOK(2, attempt, ""),
		}
	}
	join := func(parts ...events) events {
		var all events
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	once := history.Limits{Overtakings: 1}
	judge(t, history.NoStarvation,
		func(e []history.Event) *history.Violation { return check.NoStarvation(e, once) },
		[]verdict{
			{name: "nothing"},
			{name: "overtaken twice", reason: starved, event: 6, events: join(events{fair}, queued,
				turn(1),
				turn(2))},
			{name: "overtaken once", events: join(events{fair}, queued, turn(1))},
			{
				name: "queued before it was fair", reason: starved, event: 6,
				events: join(queued, events{fair},
					turn(1), turn(2)),
			},
			{name: "overtaken before it was fair", events: join(queued, turn(1), events{fair},
				turn(2))},
			{name: "never fair", events: join(queued, turn(1), turn(2))},
			{name: "called before it had queued", events: join(events{fair, lockCall(2, 1)}, queued,
				events{lockOK(2, 1, "")}, turn(2))},
			{name: "has forfeited its place", events: join(events{fair}, queued, turn(1), events{
				on(history.Forfeited, 1), deleted(1, "/l/a", 2),
			}, turn(2))},
			{
				name: "has queued again", reason: starved, event: 9,
				events: join(events{fair}, queued, events{
					on(history.Forfeited, 1), deleted(1, "/l/a", 2), created(1, "/l/b", 3),
				}, turn(1), turn(2)),
			},
			{name: "has no node", events: join(events{fair, lockCall(1, 1)}, turn(1), turn(2))},
			{name: "has lost its connection", events: join(events{fair}, queued, turn(1),
				events{state(1, "disconnected")}, turn(2))},
			{name: "has lost its session", events: join(events{fair}, queued, turn(1),
				events{on(history.SessionExpired, 1)}, turn(2))},
			{
				name:   "has lost its node before it was fair",
				events: join(queued, events{deleted(1, "/l/a", 2), fair}, turn(1), turn(2)),
			},
			{
				name: "has lost another node", reason: starved, event: 7,
				events: join(queued, events{deleted(1, "/l/z", 2), fair}, turn(1), turn(2)),
			},
			{
				name: "has left the queue itself", reason: starved, event: 7,
				events: join(events{fair}, queued,
					events{deleted(1, "/l/a", 2)}, turn(1), turn(2)),
			},
			{name: "has crashed", events: join(events{fair}, queued, turn(1), events{crash(1)},
				turn(2))},
			{name: "has given up", events: join(queued, events{fair, cancelled(1)}, turn(1),
				turn(2))},
			{
				name: "has given up before it was fair",
				events: join(queued, events{cancelled(1), fair},
					turn(1), turn(2)),
			},
			{
				name: "has given up before it had queued",
				events: join(events{fair, lockCall(1, 1), cancelled(1), created(1, "/l/a", 1)},
					turn(1),
					turn(2)),
			},
			{name: "has given up, and queued on a new connection", events: join(events{
				fair, lockCall(1, 1), cancelled(1), state(1, "connected"),
				created(1, "/l/a", 1),
			}, turn(1), turn(2))},
			{
				name: "has given up an earlier attempt", reason: starved, event: 10,
				events: join(events{fair}, queued, events{
					cancelled(1), lockFailed(1, 1),
					lockCall(1, 2), created(1, "/l/b", 2),
				}, turn(1), turn(2)),
			},
			{
				name: "another has given up", reason: starved, event: 7,
				events: join(queued, events{fair, cancelled(3)}, turn(1), turn(2)),
			},
			{name: "is served between", events: join(events{fair}, queued, turn(1),
				events{lockOK(1, 1, ""), lockCall(1, 2), created(1, "/l/b", 2)}, turn(2))},
			{
				name: "has queued for an attempt that was given up",
				events: join(events{
					lockCall(1, 1), lockFailed(1, 1), lockCall(1, 2), created(1, "/l/a", 1),
					fair,
				},
					turn(1), turn(2)),
			},
			{
				name: "has queued for the second of two attempts that were given up",
				events: join(events{
					lockCall(1, 1), lockFailed(1, 1), lockCall(1, 2),
					lockFailed(1, 2), lockCall(1, 3), created(1, "/l/a", 1), created(1, "/l/b", 2),
					fair,
				}, turn(1), turn(2)),
			},
			{
				name: "has queued after two attempts that were given up", reason: starved,
				event: 12,
				events: join(events{
					lockCall(1, 1), lockFailed(1, 1),
					lockCall(1, 2), lockFailed(1, 2), lockCall(1, 3), created(1, "/l/a", 1),
					created(1, "/l/b", 2),
					created(1, "/l/c", 3), fair,
				}, turn(1), turn(2)),
			},
			{name: "is finished", events: join(events{
				lockCall(1, 1), lockFailed(1, 1), lockCall(1, 2), lockFailed(1, 2),
				on(history.Finished, 1),
				created(1, "/l/a", 1),
				created(1, "/l/b", 2), fair,
			}, turn(1), turn(2))},
			{
				name: "has queued after an attempt that was given up", reason: starved, event: 9,
				events: join(events{
					lockCall(1, 1), lockFailed(1, 1), lockCall(1, 2),
					created(1, "/l/a", 1), created(1, "/l/b", 2), fair,
				}, turn(1), turn(2)),
			},
			{
				name: "has queued for an attempt that had lost its node and was given up",
				events: join(events{
					lockCall(1, 1), created(1, "/l/a", 1),
					state(1, "disconnected"), deleted(1, "/l/a", 2), lockFailed(1, 1),
					lockCall(1, 2),
					fair,
					created(1, "/l/b", 3),
				}, turn(1), turn(2)),
			},
			{name: "has queued again", reason: starved, event: 10, events: join(events{
				lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1), lockCall(1, 2),
				created(1, "/l/b", 2), fair, deleted(1, "/l/a", 3),
			}, turn(1), turn(2))},
			{
				name:   "overtaken once since it was fair",
				events: join(queued, events{lockCall(2, 1), fair, lockOK(2, 1, "")}, turn(2)),
			},
			{
				name: "has made another node since", reason: starved, event: 7,
				events: join(events{fair}, queued, events{
					lockCall(2, 1), created(1, "/l/b", 2),
					lockOK(2, 1, ""),
				}, turn(2)),
			},
			{
				name: "has a node that is not ephemeral",
				events: join(events{fair, lockCall(1, 1), persistent(1, "/l/a", 1)}, turn(1),
					turn(2)),
			},
			{
				name: "was struck by another fault", reason: starved, event: 7,
				events: join(queued, events{
					fair,
					{Kind: history.Fault, Process: 1, Name: "pause"},
				}, turn(1), turn(2)),
			},
			{name: "had the lock without a node", reason: starved, event: 8, events: join(events{
				lockCall(1, 1), lockOK(1, 1, ""), lockCall(1, 2),
				created(1, "/l/a", 1), fair,
			}, turn(1), turn(2))},
			{
				name: "has queued for an attempt that was given up, on a new connection",
				events: join(events{
					lockCall(1, 1), lockFailed(1, 1), lockCall(1, 2),
					state(1, "connected"), created(1, "/l/a", 1), fair,
				}, turn(1), turn(2)),
			},
			{
				name: "has queued for the second of two attempts that were given up",
				events: join(events{
					lockCall(1, 1), lockFailed(1, 1), lockCall(1, 2),
					cancelled(1), created(1, "/l/a", 1), lockFailed(1, 2), lockCall(1, 3),
					created(1, "/l/b", 2),
					fair,
				}, turn(1), turn(2)),
			},
			{
				name: "another was overtaken less, and called first", reason: starved, event: 8,
				events: join(events{fair, lockCall(3, 1)}, queued, turn(1),
					events{created(3, "/l/c", 2)}, turn(2)),
			},
			{
				name: "another was overtaken less, and called last", reason: starved, event: 8,
				events: join(events{fair}, queued, turn(1),
					events{lockCall(3, 1), created(3, "/l/c", 2)}, turn(2)),
			},
			{name: "the other fails", events: join(events{fair}, queued, turn(1),
				events{lockCall(2, 2), lockFailed(2, 2)})},
		})
}
