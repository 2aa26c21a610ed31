package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-sim/interlock/history/models"
)

// op returns an operation that is called at from and returns at to.
func op(from, to int64, process int32, verb models.Verb, out ...models.Output) porcupine.Operation {
	o := porcupine.Operation{
		ClientId: int(process), Input: models.Input{Process: process, Verb: verb},
		Output: models.Output{}, Call: from, Return: to,
	}
	if len(out) > 0 {
		o.Output = out[0]
	}
	return o
}

// with sets the token that an operation sends to the resource.
func with(token int64, o porcupine.Operation) porcupine.Operation {
	in := o.Input.(models.Input)
	in.Token = token
	o.Input = in
	return o
}

// at sets the znode of an operation.
func at(path string, o porcupine.Operation) porcupine.Operation {
	in := o.Input.(models.Input)
	in.Path = path
	o.Input = in
	return o
}

type operations = []porcupine.Operation

func TestModels(t *testing.T) {
	token := func(n int64) models.Output { return models.Output{Token: n} }
	version := func(n int64) models.Output { return models.Output{Version: n} }
	refused := models.Output{Refused: true}
	two := models.Semaphore(2)
	for _, test := range []struct {
		model porcupine.Model
		name  string
		ops   operations
		want  models.Verdict
	}{
		{models.Mutex, "mutex: two have it", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 2, models.Acquire),
		}, models.Violated},
		{models.Mutex, "mutex: one after the other", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 1, models.Release), op(4, 5, 2, models.Acquire),
		}, models.Holds},
		{models.Mutex, "mutex: the release overlaps", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 5, 1, models.Release), op(3, 4, 2, models.Acquire),
		}, models.Holds},
		{models.Mutex, "mutex: anybody releases", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 2, models.Release),
		}, models.Holds},
		{
			models.Mutex, "mutex: released while free",
			operations{op(0, 1, 1, models.Release)},
			models.Violated,
		},

		{models.Owner, "owner: another releases", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 2, models.Release),
		}, models.Violated},
		{models.Owner, "owner: the owner releases", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 1, models.Release),
		}, models.Holds},
		{models.Owner, "owner: again", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 1, models.Acquire),
		}, models.Violated},

		{models.Reentrant, "reentrant: again", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 1, models.Acquire),
		}, models.Holds},
		{models.Reentrant, "reentrant: released once of twice", operations{
			op(0, 1, 1, models.Acquire), op(2, 3, 1, models.Acquire),
			op(4, 5, 1, models.Release), op(6, 7, 2, models.Acquire),
		}, models.Violated},
		{models.Reentrant, "reentrant: released twice of twice", operations{
			op(0, 1, 1, models.Acquire), op(2, 3, 1, models.Acquire),
			op(4, 5, 1, models.Release), op(6, 7, 1, models.Release), op(8, 9, 2, models.Acquire),
		}, models.Holds},
		{models.Reentrant, "reentrant: released thrice of twice", operations{
			op(0, 1, 1, models.Acquire), op(2, 3, 1, models.Acquire),
			op(4, 5, 1, models.Release), op(6, 7, 1, models.Release), op(8, 9, 1, models.Release),
		}, models.Violated},
		{models.Reentrant, "reentrant: another", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 2, models.Acquire),
		}, models.Violated},

		{models.Fenced, "fenced: equal", operations{
			op(0, 1, 1, models.Acquire, token(5)),
			op(2, 3, 1, models.Release), op(4, 5, 2, models.Acquire, token(5)),
		}, models.Violated},
		{models.Fenced, "fenced: rising", operations{
			op(0, 1, 1, models.Acquire, token(5)),
			op(2, 3, 1, models.Release), op(4, 5, 2, models.Acquire, token(6)),
		}, models.Holds},
		{models.Fenced, "fenced: two have it", operations{
			op(0, 1, 1, models.Acquire, token(5)),
			op(4, 5, 2, models.Acquire, token(6)),
		}, models.Violated},
		{models.Fenced, "fenced: another releases", operations{
			op(0, 1, 1, models.Acquire, token(5)),
			op(4, 5, 2, models.Release),
		}, models.Violated},

		{
			models.ReadWrite, "read-write: a writer beside a reader",
			operations{op(0, 1, 1, models.AcquireShared), op(2, 3, 2, models.Acquire)},
			models.Violated,
		},
		{models.ReadWrite, "read-write: a reader beside a writer", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 2, models.AcquireShared),
		}, models.Violated},
		{models.ReadWrite, "read-write: two readers", operations{
			op(0, 1, 1, models.AcquireShared),
			op(2, 3, 2, models.AcquireShared),
		}, models.Holds},
		{models.ReadWrite, "read-write: a writer after both readers", operations{
			op(0, 1, 1, models.AcquireShared), op(2, 3, 2, models.AcquireShared),
			op(4, 5, 2, models.ReleaseShared), op(6, 7, 1, models.ReleaseShared),
			op(8, 9, 3, models.Acquire),
		}, models.Holds},
		{models.ReadWrite, "read-write: a writer after one of two readers", operations{
			op(0, 1, 1, models.AcquireShared), op(2, 3, 2, models.AcquireShared),
			op(4, 5, 2, models.ReleaseShared), op(8, 9, 3, models.Acquire),
		}, models.Violated},
		{
			models.ReadWrite, "read-write: a reader after a downgrade",
			operations{
				op(0, 1, 1, models.Acquire), op(2, 3, 1, models.Downgrade),
				op(4, 5, 2, models.AcquireShared),
			},
			models.Holds,
		},
		{
			models.ReadWrite, "read-write: a writer after a downgrade",
			operations{
				op(0, 1, 1, models.Acquire), op(2, 3, 1, models.Downgrade),
				op(4, 5, 2, models.Acquire),
			},
			models.Violated,
		},
		{
			models.ReadWrite, "read-write: a downgrade by a reader",
			operations{op(0, 1, 1, models.AcquireShared), op(2, 3, 1, models.Downgrade)},
			models.Violated,
		},
		{models.ReadWrite, "read-write: downgraded and released", operations{
			op(0, 1, 1, models.Acquire), op(2, 3, 1, models.Downgrade),
			op(4, 5, 1, models.ReleaseShared), op(6, 7, 2, models.Acquire),
		}, models.Holds},

		{two, "semaphore: three of two", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 2, models.Acquire), op(4, 5, 3, models.Acquire),
		}, models.Violated},
		{two, "semaphore: two of two", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 2, models.Acquire),
		}, models.Holds},
		{two, "semaphore: both by one", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 1, models.Acquire), op(4, 5, 1, models.Release), op(6, 7, 2, models.Acquire),
		}, models.Holds},
		{two, "semaphore: released by another", operations{
			op(0, 1, 1, models.Acquire),
			op(2, 3, 2, models.Release),
		}, models.Violated},

		{models.Queue, "queue: the second first", operations{
			op(0, 0, 1, models.Enter),
			op(1, 1, 2, models.Enter), op(2, 3, 2, models.Grant),
		}, models.Violated},
		{models.Queue, "queue: in turn", operations{
			op(0, 0, 1, models.Enter), op(1, 1, 2, models.Enter),
			op(2, 3, 1, models.Grant), op(4, 4, 1, models.Leave), op(5, 6, 2, models.Grant),
		}, models.Holds},
		{models.Queue, "queue: the first gives up", operations{
			op(0, 0, 1, models.Enter),
			op(1, 1, 2, models.Enter), op(2, 2, 1, models.Leave), op(3, 4, 2, models.Grant),
		}, models.Holds},
		{models.Queue, "queue: entered at the same time", operations{
			op(0, 2, 1, models.Enter),
			op(1, 3, 2, models.Enter), op(4, 5, 2, models.Grant),
		}, models.Holds},
		{models.Queue, "queue: granted twice", operations{
			op(0, 0, 1, models.Enter),
			op(1, 2, 1, models.Grant), op(3, 4, 1, models.Grant),
		}, models.Violated},
		{models.Queue, "queue: one behind the holder gives up", operations{
			op(0, 0, 1, models.Enter), op(1, 1, 2, models.Enter), op(2, 2, 3, models.Enter),
			op(3, 4, 1, models.Grant), op(5, 5, 2, models.Leave), op(6, 7, 3, models.Grant),
		}, models.Violated},
		{models.Queue, "queue: not there", operations{op(0, 1, 1, models.Grant)}, models.Violated},

		{models.Register, "register: an older token after a newer", operations{
			with(1, op(0, 1, 1, models.Read, version(0))),
			with(2, op(2, 3, 2, models.Read, version(0))),
			with(1, op(4, 5, 1, models.Write, version(1))),
		}, models.Violated},
		{models.Register, "register: an older token is refused", operations{
			with(1, op(0, 1, 1, models.Read, version(0))),
			with(2, op(2, 3, 2, models.Read, version(0))),
			with(1, op(4, 5, 1, models.Write, refused)),
		}, models.Holds},
		{
			models.Register, "register: refused without a reason",
			operations{with(1, op(0, 1, 1, models.Read, refused))},
			models.Violated,
		},
		{
			models.Register, "register: an old version",
			operations{
				with(1, op(0, 1, 1, models.Write, version(1))),
				with(2, op(2, 3, 2, models.Read, version(0))),
			},
			models.Violated,
		},
		{
			models.Register, "register: the version",
			operations{
				with(1, op(0, 1, 1, models.Write, version(1))),
				with(2, op(2, 3, 2, models.Read, version(1))),
			},
			models.Holds,
		},

		{models.Tree, "tree: created twice", operations{
			at("/a", op(0, 1, 1, models.Create)),
			at("/a", op(2, 3, 2, models.Create)),
		}, models.Violated},
		{
			models.Tree, "tree: created twice, once refused",
			operations{
				at("/a", op(0, 1, 1, models.Create)),
				at("/a", op(2, 3, 2, models.Create, refused)),
			},
			models.Holds,
		},
		{models.Tree, "tree: two znodes", operations{
			at("/a", op(0, 1, 1, models.Create)),
			at("/b", op(2, 3, 2, models.Create)),
		}, models.Holds},
		{models.Tree, "tree: a read of the past", operations{
			at("/a", op(0, 1, 1, models.Create)),
			at("/a", op(2, 3, 2, models.Read, version(models.Absent))),
		}, models.Violated},
		{models.Tree, "tree: a read that overlaps", operations{
			at("/a", op(0, 3, 1, models.Create)),
			at("/a", op(2, 4, 2, models.Read, version(models.Absent))),
		}, models.Holds},
		{models.Tree, "tree: a version that was", operations{
			at("/a", op(0, 1, 1, models.Create)),
			at("/a", op(2, 3, 1, models.Write)), at("/a", op(4, 5, 2, models.Read, version(0))),
		}, models.Violated},
		{models.Tree, "tree: some version", operations{
			at("/a", op(0, 1, 1, models.Create)),
			at("/a", op(2, 3, 1, models.Write)),
			at("/a", op(4, 5, 2, models.Read, version(models.Present))),
		}, models.Holds},
		{
			models.Tree, "tree: delete refused, though it existed",
			operations{
				at("/a", op(0, 1, 1, models.Create)),
				at("/a", op(2, 3, 2, models.Delete, refused)),
			},
			models.Violated,
		},
		{
			models.Tree, "tree: written, though it did not exist",
			operations{at("/a", op(0, 1, 1, models.Write))},
			models.Violated,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := models.Check(test.model, test.ops, models.Limits{}); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			for _, o := range test.ops {
				if text := test.model.DescribeOperation(o.Input, o.Output); !strings.HasPrefix(text,
					"c") ||
					strings.ContainsAny(text, "{}") {
					t.Errorf("described as %q", text)
				}
			}
			checkHash(t, &test.model, test.ops)
		})
	}
}

// checkHash requires that equal states have equal hashes and descriptions, and that unequal states
// have unequal descriptions.
func checkHash(t *testing.T, model *porcupine.Model, ops operations) {
	t.Helper()
	states := []any{model.Init()}
	for _, o := range ops {
		for _, s := range states {
			if legal, next := model.Step(s, o.Input, o.Output); legal {
				states = append(states, next)
			}
		}
	}
	for _, a := range states {
		for _, b := range states {
			equal := a == b
			if equal && model.Hash(a) != model.Hash(b) ||
				equal != (model.DescribeState(a) == model.DescribeState(b)) {
				t.Errorf("states %q and %q: equal %v, hashes %d and %d", model.DescribeState(a),
					model.DescribeState(b), equal, model.Hash(a), model.Hash(b))
			}
		}
	}
}

// A model rejects unknown verbs.
func TestModelsRefuseOtherVerbs(t *testing.T) {
	for _, model := range []porcupine.Model{
		models.Mutex, models.Owner, models.Reentrant, models.Fenced, models.ReadWrite,
		models.Semaphore(1), models.Queue, models.Register, models.Tree,
	} {
		known := 0
		for verb := models.Acquire; verb <= models.Delete; verb++ {
			state := model.Init()
			for _, before := range []models.Verb{
				models.Enter, models.Create, models.Acquire,
				models.AcquireShared,
			} {
				if legal, next := model.Step(state, models.Input{Process: 1, Verb: before},
					models.Output{Token: 1}); legal {
					state = next
				}
			}
			if legal, _ := model.Step(state, models.Input{Process: 1, Verb: verb},
				models.Output{Version: 1, Token: 2}); legal {
				known++
			}
		}
		if known > 5 {
			t.Errorf("%s: %d verbs are allowed", model.DescribeState(model.Init()), known)
		}
	}
}

// hard returns operations whose check takes long: the given number of processes overlap, and no
// order of them is legal.
func hard(processes int32) operations {
	ops := operations{op(0, 1000, 99, models.Acquire)}
	for p := range processes {
		ops = append(ops, op(int64(p), 500, p+1, models.Acquire),
			op(int64(p), 501, p+1, models.Release))
	}
	return append(ops, op(502, 503, 98, models.Release))
}

// A check that reaches a limit returns Unknown.
func TestLimits(t *testing.T) {
	if got := models.Check(models.Owner, hard(3), models.Limits{}); got != models.Violated {
		t.Fatalf("%v without a limit", got)
	}
	if got := models.Check(models.Owner, hard(3), models.Limits{Steps: 5}); got != models.Unknown {
		t.Errorf("%v after 5 steps", got)
	}
	if got := models.Check(models.Owner, hard(12),
		models.Limits{Steps: 1000}); got != models.Unknown {
		t.Errorf("%v after 1000 steps", got)
	}
	if got := models.Check(models.Owner, hard(14),
		models.Limits{Time: time.Microsecond}); got != models.Unknown {
		t.Errorf("%v after a microsecond", got)
	}
	legal := operations{op(0, 1, 1, models.Acquire), op(2, 3, 1, models.Release)}
	if got := models.Check(models.Owner, legal, models.Limits{Steps: 1}); got != models.Unknown {
		t.Errorf("%v after 1 step", got)
	}
	if got := models.Check(models.Owner, legal,
		models.Limits{Steps: 1000, Time: time.Minute}); got != models.Holds {
		t.Errorf("%v within limits", got)
	}
}
