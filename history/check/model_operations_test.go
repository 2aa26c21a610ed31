package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/models"
)

// modelled checks a history against the model with the name.
func modelled(t testing.TB, name string, events []history.Event) models.Verdict {
	t.Helper()
	for _, m := range check.Models() {
		if m.Name != name {
			continue
		}
		if m.Besides != nil && m.Besides(events) != nil {
			return models.Violated
		}
		return models.Check(m.Model, m.Operations(events), models.Limits{})
	}
	t.Fatalf("no model %q", name)
	return models.Unknown
}

// Every model allows a legal history.
func TestModelsHold(t *testing.T) {
	for _, m := range check.Models() {
		events := contention(3)
		if m.Name == "fenced" {
			for i := range events {
				if events[i].Kind == history.LockReturn {
					events[i].Zxid = int64(i)
				}
			}
		}
		if got := modelled(t, m.Name, events); got != models.Holds {
			t.Errorf("%s: %v", m.Name, got)
		}
	}
}

func TestOperations(t *testing.T) {
	type events = []history.Event
	once := func(rest ...history.Event) events {
		return append(events{
			lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a"), reenter(1, 1),
			reentered(1, 1),
		}, rest...)
	}
	next := events{lockCall(2, 1), created(2, "/l/b", 3), lockOK(2, 1, "/l/b")}
	serve := func(p, request int32, op, path, err string, zxid int64) history.Event {
		return history.Event{
			Kind: history.Serve, Process: p, Request: request, Op: op, Path: path,
			Err: err, Zxid: zxid,
		}
	}
	send := func(p, request int32, op, path string) history.Event {
		return history.Event{Kind: history.Send, Process: p, Request: request, Op: op, Path: path}
	}
	answer := func(p, request int32, op, path, err string) history.Event {
		return history.Event{
			Kind: history.Reply, Process: p, Request: request, Op: op, Path: path,
			Err: err,
		}
	}
	opened := on(history.SessionOpened, 1)
	applied := history.Event{Kind: history.Applied, Server: 2}
	for _, test := range []struct {
		model, name string
		events      events
		want        models.Verdict
	}{
		{
			"reentrant", "given back twice",
			append(once(exited(1, 1), unlockCall(1, 1), deleted(1, "/l/a", 2), unlockOK(1, 1)),
				next...),
			models.Holds,
		},
		{
			"reentrant", "kept", append(once(exited(1, 1), unlockCall(1, 1), unlockFailed(1, 1)),
				next...),
			models.Violated,
		},
		{
			"reentrant", "lost while it had it twice",
			append(once(deleted(1, "/l/a", 2), exited(1, 1)),
				next...), models.Holds,
		},
		{
			"reentrant", "never given back once",
			append(once(unlockCall(1, 1), deleted(1, "/l/a", 2), unlockOK(1, 1)), next...),
			models.Violated,
		},

		{"fenced", "no token", contention(2), models.Violated},

		{"queue", "the second first", events{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1),
			created(2, "/l/b", 2), lockOK(2, 1, ""),
		}, models.Violated},
		{"queue", "the first gives up", events{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1),
			created(2, "/l/b", 2), lockFailed(1, 1), lockOK(2, 1, ""),
		}, models.Holds},
		{"queue", "the first goes", events{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1),
			created(2, "/l/b", 2), deleted(1, "/l/a", 3), lockOK(2, 1, ""),
		}, models.Holds},
		{"queue", "the first has it", events{
			lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, ""),
			lockCall(2, 1), created(2, "/l/b", 2), lockOK(2, 1, ""),
		}, models.Violated},

		{"register", "in turn", events{
			token(1, 1, 5), read(1, 1, 0), wrote(1, 1, 1), token(2, 1, 6),
			read(2, 1, 1), wrote(2, 1, 2),
		}, models.Holds},
		{"register", "an older token", events{
			token(1, 1, 5), token(2, 1, 6), read(2, 1, 0),
			wrote(1, 1, 1),
		}, models.Violated},
		{"register", "an older token is refused", events{
			token(1, 1, 5), token(2, 1, 6), read(2, 1, 0),
			refused(wrote(1, 1, 0)),
		}, models.Holds},

		{"tree", "a read of the past", events{
			send(1, 1, "create", "/a"), created(1, "/a", 1), serve(1, 1, "create", "/a", "", 1),
			answer(1, 1, "create", "/a", ""),
			send(2, 1, "exists", "/a"), serve(2, 1, "exists", "/a", "no node", 0),
			answer(2, 1, "exists", "/a", "no node"),
		}, models.Violated},
		{"tree", "a read of the past of a follower", events{
			applied, send(1, 1, "create", "/a"), created(1, "/a", 1),
			serve(1, 1, "create", "/a", "", 1),
			answer(1, 1, "create", "/a", ""),
			send(2, 1, "exists", "/a"), serve(2, 1, "exists", "/a", "no node", 0),
			answer(2, 1, "exists", "/a", "no node"),
		}, models.Holds},
		{"tree", "a synced read of the past of a follower", events{
			applied, send(1, 1, "create", "/a"), created(1, "/a", 1),
			serve(1, 1, "create", "/a", "", 1),
			answer(1, 1, "create", "/a", ""),
			send(2, 1, "sync", "/"), serve(2, 1, "sync", "/", "", 1), send(2, 2, "exists", "/a"),
			serve(2, 2, "exists", "/a", "no node", 0), answer(2, 2, "exists", "/a", "no node"),
		}, models.Violated},
		{"tree", "a session sees the past after the present", events{
			applied, created(2, "/a", 1),
			serve(1, 1, "exists", "/a", "", 1), serve(1, 2, "exists", "/a", "no node", 0),
		}, models.Violated},
		{"tree", "a new session sees the past", events{
			applied, created(2, "/a", 1),
			serve(1, 1, "exists", "/a", "", 1), opened, serve(1, 2, "exists", "/a", "no node", 0),
		}, models.Holds},
		{"tree", "a session does not see what it wrote", events{
			applied, send(1, 1, "create", "/a"), created(1, "/a", 1),
			serve(1, 1, "create", "/a", "", 1),
			send(1, 2, "exists", "/a"), serve(1, 2, "exists", "/a", "no node", 0),
		}, models.Violated},
		{"tree", "two znodes in their order", events{
			applied, created(2, "/a", 1), created(2, "/b", 2),
			serve(1, 1, "exists", "/a", "", 1), serve(1, 2, "exists", "/b", "no node", 1),
		}, models.Holds},
		{"tree", "two znodes against their order", events{
			applied, created(2, "/a", 1), created(2, "/b", 2),
			serve(1, 1, "exists", "/b", "", 2), serve(1, 2, "exists", "/a", "no node", 1),
		}, models.Violated},
		{"tree", "a write that was never answered, gone before its state is", events{
			created(1, "/a", 1), deleted(2, "/a", 2),
			send(1, 2, "connect", ""), serve(1, 2, "connect", "", "", 1),
		}, models.Holds},
		{"tree", "there before the history", events{
			send(1, 1, "exists", "/a"),
			serve(1, 1, "exists", "/a", "", 1), answer(1, 1, "exists", "/a", ""),
		}, models.Holds},
	} {
		t.Run(test.model+": "+test.name, func(t *testing.T) {
			if got := modelled(t, test.model, test.events); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestModelNames(t *testing.T) {
	var names []string
	for _, m := range check.Models() {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "mutex owner fenced reentrant queue register tree" {
		t.Error(got)
	}
}

// crashingClients returns a history of ten clients that hold the lock 500 times and of as many that
// crash: half of them in a call of Lock with an unknown result, and half as holders. The ensemble
// ends their sessions.
func crashingClients() []history.Event {
	var log []history.Event
	zxid := int64(0)
	node := func(kind history.Kind, p int32, n int) history.Event {
		zxid++
		return history.Event{
			Kind: kind, Process: p, Path: fmt.Sprintf("/lock/%d-%d", p, n), Zxid: zxid,
			Session: session(p),
		}
	}
	for n := range 500 {
		p := int32(n%10) + 1
		log = append(log, lockCall(p, int32(n)), node(history.NodeCreated, p, n))
		// The operation of a crashed client overlaps all later ones, unless the ensemble's log ends
		// it.
		if n%50 == 25 {
			c := int32(n/50) + 11
			log = append(log, lockCall(c, 1), node(history.NodeCreated, c, n), crash(c))
		}
		log = append(log, lockOK(p, int32(n), ""), unlockCall(p, int32(n)),
			node(history.NodeDeleted, p, n), unlockOK(p, int32(n)))
		if n%50 == 25 {
			c := int32(n/50) + 11
			if n%100 == 25 {
				log = append(log, token(c, 1, 0)) // The grant was under way when it crashed.
			}
			log = append(log, node(history.NodeDeleted, c, n), expired(c))
		}
	}
	return log
}

// clientOperations returns the operations of the same history as clients alone know them: a crashed
// client may have acquired the lock, and may have lost it, at any time since.
func clientOperations(events []history.Event) []porcupine.Operation {
	never := int64(len(events)) + 1
	operations := check.LockOperations(nil)
	calls := make(map[int32]int64)
	for i, e := range events {
		at, in := int64(i), models.Input{Process: e.Process, Verb: models.Acquire}
		switch {
		case e.Kind == history.LockCall, e.Kind == history.UnlockCall:
			calls[e.Process] = at
		case e.Kind == history.LockReturn && e.Process <= 10:
			operations = append(operations, porcupine.Operation{
				Input: in, Call: calls[e.Process],
				Return: at,
			})
		case e.Kind == history.UnlockReturn:
			in.Verb = models.Release
			operations = append(operations, porcupine.Operation{
				Input: in, Call: calls[e.Process],
				Return: at,
			})
		case e.Kind == history.Crashed:
			operations = append(operations, porcupine.Operation{
				Input: in, Call: calls[e.Process],
				Return: never,
			})
			in.Verb = models.Release
			operations = append(operations, porcupine.Operation{Input: in, Call: at, Return: never})
		}
	}
	return operations
}

func TestCrashingClientsAreLinearizable(t *testing.T) {
	var c check.LinearizableChecker
	if v := c.Check(crashingClients()); v != nil || c.Undecided() {
		t.Errorf("%+v, undecided %v", v, c.Undecided())
	}
}

// BenchmarkCrashedClients checks 1,000 operations of ten clients together with ten that crash. With
// the ensemble's log the check is fast. Without it, the check takes long to find that two clients
// hold the lock at the end.
func BenchmarkCrashedClients(b *testing.B) {
	events := crashingClients()
	b.Run("resolved", func(b *testing.B) {
		for b.Loop() {
			if v := check.Linearizable(events); v != nil {
				b.Fatal(v.Detail)
			}
		}
		b.ReportMetric(float64(len(check.LockOperations(events))), "operations")
	})
	wrong := append(events, lockCall(1, 900), lockOK(1, 900, ""), lockCall(2, 900),
		lockOK(2, 900, ""))
	b.Run("resolved, two have it at the end", func(b *testing.B) {
		for b.Loop() {
			if v := check.Linearizable(wrong); v == nil {
				b.Fatal("nothing found")
			}
		}
	})
	b.Run("open, two have it at the end", func(b *testing.B) {
		operations := clientOperations(wrong)
		for b.Loop() {
			if got := models.Check(models.Owner, operations,
				models.Limits{}); got != models.Violated {
				b.Fatal(got)
			}
		}
		b.ReportMetric(float64(len(operations)), "operations")
	})
}
