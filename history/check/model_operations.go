package check

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/guarantee"
	"github.com/interlock-sim/interlock/history/models"
)

// A ModelOperations is a model against which a history can be checked, with the conversion of a
// history to operations of the model. The ensemble's events supply what a client did not learn, so
// that every operation returns.
type ModelOperations struct {
	Name       string
	Model      porcupine.Model
	Operations func([]history.Event) []porcupine.Operation
	Besides    func([]history.Event) *history.Violation // a further check, or nil
}

// Models returns the models against which histories can be checked. [models.Semaphore] and
// [models.ReadWrite] are not among them, because a history does not show the number of permits, nor
// which processes are readers and writers.
func Models() []ModelOperations {
	return []ModelOperations{
		{"mutex", models.Mutex, LockOperations, nil},
		{"owner", models.Owner, LockOperations, nil},
		{"fenced", models.Fenced, LockOperations, nil},
		{"reentrant", models.Reentrant, NestedOperations, nil},
		{"queue", models.Queue, QueueOperations, nil},
		{"register", models.Register, ResourceOperations, nil},
		{"tree", models.Tree, guarantee.TreeOperations, guarantee.SessionReads},
	}
}

// NestedOperations returns the operations for [models.Reentrant]: those of [LockOperations] and
// those of reentries. A ReenterReturn without an error is an acquire from its ReenterCall on. An
// Exited is a release from the process's previous event on. If a hold ends with its session before
// the last Exited, its remaining reentries are released with it.
func NestedOperations(events []history.Event) []porcupine.Operation {
	var c LinearizableChecker
	c.build(events)
	var spans []interval
	for i := range c.operations {
		o := &c.operations[i]
		spans = append(spans, interval{o.input(), models.Output{Token: o.token}, o.from, o.to})
	}
	for g := range c.grants {
		spans = append(spans, nested(events, &c.grants[g])...)
	}
	return timed(spans)
}

// nested returns the reentries of the holder of a grant and their releases.
func nested(events []history.Event, g *grant) []interval {
	var spans []interval
	depth, asked, last := 0, 0, g.granted
	end := len(events)
	lost := g.deleted != 0 && (g.unlock == 0 || g.deleted < g.unlock)
	if lost {
		end = g.deleted // From here on the process holds nothing.
	}
	for i := g.granted + 1; i < end; i++ {
		e := &events[i]
		if e.Process != g.process || e.Attempt != g.attempt {
			continue
		}
		switch {
		case e.Kind == history.ReenterCall:
			asked = i
		case e.Kind == history.ReenterReturn && e.Err == "":
			depth++
			spans = append(spans, interval{
				models.Input{Process: g.process, Verb: models.Acquire},
				models.Output{},
				asked * slots, i * slots,
			})
		case e.Kind == history.Exited && depth > 0:
			depth--
			spans = append(spans, interval{
				models.Input{Process: g.process, Verb: models.Release},
				models.Output{},
				last * slots, i * slots,
			})
		}
		last = i
	}
	for lost && depth > 0 {
		depth--
		spans = append(spans, interval{
			models.Input{Process: g.process, Verb: models.Release},
			models.Output{},
			last * slots, end*slots + slotReleased,
		})
	}
	return spans
}

// QueueOperations returns the operations for [models.Queue]:
//   - A process enters when its ephemeral node is created while it waits for the lock.
//   - It is granted the lock between that and the return of Lock.
//   - It leaves between the call of Unlock, or the failure of Lock, and the deletion of its node.
//     If the node is deleted earlier, it leaves at the deletion.
//
// It omits a node of a process that has another node in the queue, and a grant by a node that was
// deleted before.
func QueueOperations(events []history.Event) []porcupine.Operation {
	var spans []interval
	var q queue
	type member struct {
		process       int32
		created, left int
		attempt       int32
		done          bool
	}
	var members []member
	find := func(process int32) int {
		return slices.IndexFunc(members, func(m member) bool {
			return m.process == process &&
				!m.done
		})
	}
	leave := func(m *member, to int) {
		from := to
		if m.left != 0 {
			from = m.left
		}
		m.done = true
		spans = append(spans, interval{
			models.Input{Process: m.process, Verb: models.Leave},
			models.Output{},
			from*slots + slotRelease, to*slots + slotReleased,
		})
	}
	for i := range events {
		e := &events[i]
		if history.QueueKinds>>e.Kind&1 == 0 {
			continue
		}
		m := find(e.Process)
		switch {
		case e.Kind == history.NodeCreated && e.Session != 0 && m < 0 &&
			q.OpenAttempt(e.Process) >= 0:
			members = append(members, member{process: e.Process, created: i})
			spans = append(spans, interval{
				models.Input{Process: e.Process, Verb: models.Enter},
				models.Output{},
				i * slots, i * slots,
			})
		case e.Kind == history.LockReturn && e.Err != "" && m >= 0:
			members[m].left = i
		case e.Kind == history.LockReturn && m >= 0:
			if n := q.Granted(e); n >= 0 && q.Nodes[n].Created == members[m].created {
				members[m].attempt = e.Attempt
				spans = append(spans, interval{
					models.Input{Process: e.Process, Verb: models.Grant},
					models.Output{},
					members[m].created * slots, i * slots,
				})
			}
		case e.Kind == history.UnlockCall && m >= 0 && members[m].left == 0:
			members[m].left = i
		case e.Kind == history.NodeDeleted:
			if n := q.Live(e.Path); n >= 0 {
				if m := slices.IndexFunc(members,
					func(m member) bool {
						return m.created == q.Nodes[n].Created &&
							!m.done
					}); m >= 0 {
					leave(&members[m], i)
				}
			}
		}
		q.Observe(e, i)
	}
	for m := range members {
		if !members[m].done && members[m].left != 0 {
			leave(&members[m], len(events))
		}
	}
	return timed(spans)
}

// ResourceOperations returns the operations for [models.Register]: the reads and writes of the
// resource that is not a znode. Each takes effect at its event, with the token of the process's
// last grant. The versions of a history may start at any number.
func ResourceOperations(events []history.Event) []porcupine.Operation {
	var spans []interval
	tokens := make(map[int32]int64)
	for i := range events {
		e := &events[i]
		verb := models.Read
		switch e.Kind {
		case history.LockReturn:
			if e.Err == "" {
				tokens[e.Process] = e.Zxid
			}
			continue
		case history.ResourceWrite:
			verb = models.Write
		case history.ResourceRead:
		default:
			continue
		}
		if e.Path == "" {
			spans = append(spans, interval{
				models.Input{Process: e.Process, Verb: verb, Token: tokens[e.Process]},
				models.Output{Version: e.Zxid, Refused: e.Err != ""},
				i * slots, i * slots,
			})
		}
	}
	return timed(spans)
}

// An interval is an operation with the instants between which it took effect.
type interval struct {
	input    models.Input
	output   models.Output
	from, to int
}

// timed returns the operations of intervals.
func timed(spans []interval) []porcupine.Operation {
	operations := make([]porcupine.Operation, len(spans))
	for i, s := range spans {
		operations[i] = porcupine.Operation{
			ClientId: max(0, int(s.input.Process)-1), Input: s.input, Output: s.output,
			Call: int64(s.from), Return: int64(s.to),
		}
	}
	return operations
}
