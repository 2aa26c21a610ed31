// Package models holds what locks and the things that they are made of do when they are used by one
// process at a time, as models for porcupine, and checks histories of operations against them.
//
// An operation that has not returned may have taken effect or not, and each such operation doubles
// what must be searched. Whoever knows better, as the log of a cluster does, should say so: package
// history makes the operations of a recorded history so that nothing is left open.
package models

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// A Verb says what an operation does.
type Verb uint8

// The verbs. Each model knows some of them and allows no other.
const (
	Acquire       Verb = iota // the lock, or a place of a semaphore
	Release                   // what was acquired
	AcquireShared             // as a reader
	ReleaseShared
	Downgrade // from writer to reader
	Enter     // the queue
	Grant     // the lock to the first of the queue
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

// String returns the verb as it stands in a description.
func (v Verb) String() string { return verbNames[v] }

// An Input is who does what.
type Input struct {
	Process int32
	Verb    Verb
	Token   int64  // with which the resource is used
	Path    string // of the znode
}

// An Output is what came of it.
type Output struct {
	Token   int64 // that was granted
	Version int64 // of what was read or written
	Refused bool  // the operation had no effect
}

// A Verdict is what a check has found out.
type Verdict uint8

// The verdicts.
const (
	Unknown  Verdict = iota // the limit was reached first
	Holds                   // some order of the operations is allowed by the model
	Violated                // none is
)

// String returns the verdict in a word.
func (v Verdict) String() string { return [...]string{"unknown", "holds", "violated"}[v] }

// Limits bound a check, whose search is exponential in the number of operations that overlap. No
// limit, once reached, gives a verdict other than [Unknown].
type Limits struct {
	Steps int           // how many steps of the model; the same on every machine. 0 for no limit
	Time  time.Duration // for how long; 0 for no limit
}

// Check decides whether the operations are linearizable: whether they can be put in an order that
// the model allows, and in which an operation that returned before another was called comes before
// it.
//
// Source: M. Herlihy and J. Wing, Linearizability, TOPLAS 1990; A. Athalye, porcupine.
func Check(model porcupine.Model, operations []porcupine.Operation, limits Limits) Verdict {
	var steps atomic.Int64 // porcupine checks partitions at the same time
	exceeded := func() bool { return limits.Steps > 0 && steps.Load() > int64(limits.Steps) }
	if limits.Steps > 0 {
		step := model.Step
		model.Step = func(state, input, output any) (bool, any) {
			steps.Add(1)
			if exceeded() {
				return false, state // The search ends soon, and what it says does not count.
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

// describe says what an operation was. Models that have nothing to add use it as it is.
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
