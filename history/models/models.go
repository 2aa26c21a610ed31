// Package models holds sequential specifications of locks and of what they are built from, as
// models for porcupine, and checks histories of operations against them.
//
// An operation that has not returned may have taken effect or not, which doubles the search space.
// A caller that knows more, such as from the log of a cluster, should supply a return: package
// check converts a recorded history to operations that all return.
package models

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// A Verb is the kind of an operation.
type Verb uint8

// The verbs. Each model accepts some of them and rejects the others.
const (
	Acquire       Verb = iota // the lock, or a permit of a semaphore
	Release                   // what was acquired
	AcquireShared             // as a reader
	ReleaseShared
	Downgrade // from writer to reader
	Enter     // the queue
	Grant     // the lock to the head of the queue
	Leave     // the queue, holding the lock or not
	Read      // the resource, or a znode
	Write     // the resource, or the data of a znode
	Create    // a znode
	Delete    // a znode
)

var verbNames = [...]string{
	Acquire: "acquires", Release: "releases", AcquireShared: "acquires to read",
	ReleaseShared: "releases, having read",
	Downgrade:     "downgrades", Enter: "enters the queue", Grant: "is granted the lock",
	Leave: "leaves the queue",
	Read:  "reads", Write: "writes", Create: "creates", Delete: "deletes",
}

// String returns the verb as in a description of an operation.
func (v Verb) String() string { return verbNames[v] }

// An Input is the call of an operation.
type Input struct {
	Process int32
	Verb    Verb
	Token   int64  // the fencing token sent to the resource
	Path    string // of the znode
}

// An Output is the result of an operation.
type Output struct {
	Token   int64 // the token of the grant
	Version int64 // the version read or written
	Refused bool  // the operation had no effect
}

// A Verdict is the result of a check.
type Verdict uint8

// The verdicts.
const (
	Unknown  Verdict = iota // a limit was reached
	Holds                   // the model allows some order of the operations
	Violated                // the model allows no order
)

// String returns the verdict as a word.
func (v Verdict) String() string { return [...]string{"unknown", "holds", "violated"}[v] }

// Limits bound a check, whose search is exponential in the number of overlapping operations. A
// check that reaches a limit returns [Unknown].
type Limits struct {
	Steps int           // of the model, which does not depend on the machine; 0 for no limit
	Time  time.Duration // 0 for no limit
}

// Check decides whether the operations are linearizable: whether the model allows some order of
// them in which an operation that returned before another was called precedes it.
//
// Source: M. Herlihy and J. Wing, Linearizability, TOPLAS 1990; A. Athalye, porcupine.
func Check(model porcupine.Model, operations []porcupine.Operation, limits Limits) Verdict {
	var steps atomic.Int64 // porcupine checks partitions concurrently
	exceeded := func() bool { return limits.Steps > 0 && steps.Load() > int64(limits.Steps) }
	if limits.Steps > 0 {
		step := model.Step
		model.Step = func(state, input, output any) (bool, any) {
			steps.Add(1)
			if exceeded() {
				return false, state // The search ends soon, and its result is discarded.
			}
			return step(state, input, output)
		}
	}
	switch result := porcupine.CheckOperationsTimeout(model, operations, limits.Time); {
	case exceeded(), result == porcupine.Unknown:
		return Unknown
	case result == porcupine.Ok:
		return Holds
	}
	return Violated
}

// describe describes an operation. It is the default of the models.
func describe(input, output any) string {
	in := input.(Input)
	text := fmt.Sprintf("c%d %v", in.Process, in.Verb)
	if in.Path != "" {
		text += " " + in.Path
	}
	if out, ok := output.(Output); ok {
		text += out.describe(in)
	}
	return text
}

func (o Output) describe(in Input) string {
	text := ""
	if in.Token != 0 {
		text += fmt.Sprintf(" with token %d", in.Token)
	}
	switch {
	case o.Refused:
		return text + ", and is refused"
	case o.Token != 0:
		return text + fmt.Sprintf(", with token %d", o.Token)
	case o.Version == -1:
		return text + ", and it does not exist"
	case o.Version == -2:
		return text + ", and it exists"
	case o.Version != 0:
		return text + fmt.Sprintf(" version %d", o.Version)
	}
	return text
}
