package production

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/models"
)

// linearizableWithin decides [history.Linearizable] of the history of one lock. The model is that
// of a reentrant lock, because attempts of one owner are not checked against each other; with
// attempts in shared mode that of a read-write lock, and with several places that of a semaphore.
func linearizableWithin(events []history.Event, clocks *Clocks,
	limits models.Limits,
) (all []*history.Violation, decided bool) {
	of := make(map[attemptKey][]int) // the events of an attempt
	sharing, places := false, Places(events)
	for i := range events {
		e := &events[i]
		key := attemptKey{e.Process, e.Attempt}
		of[key] = append(of[key], i)
		sharing = sharing || e.Shared()
	}
	model := models.Reentrant
	switch {
	case sharing:
		model = models.ReadWrite
	case places > 1:
		model = models.Semaphore(places)
	}
	leases, calls := leasesOfNodes(events), timedCalls(events)
	var spans []timedOperation
	for i := range events {
		e := &events[i]
		if e.Kind != history.LockReturn || e.Err != "" || e.Process == 0 {
			continue
		}
		key := attemptKey{e.Process, e.Attempt}
		own := operationsWithin(events, of[key], e, clocks)
		if call, known := calls[key]; known {
			own[0].from = clocks.earliest(&events[call])
		}
		if node := (nodeKey{e.Process, e.Path}); sharing && e.Path != "" && leases[node] != 1 {
			// The leases of an owner may end in any order and change the mode, so that only the
			// first acquire is certain.
			if leases[node] == 0 {
				continue
			}
			leases[node] = 0
			own = []timedOperation{own[0], releaseAtAnyTime(e, clocks)}
		}
		spans = append(spans, own...)
	}
	switch models.Check(model, fromTimed(spans), limits) {
	case models.Unknown:
		return nil, false
	case models.Violated:
		detail := fmt.Sprintf("%d acquires and releases of %s and others", len(spans),
			history.ProcessName(spans[0].input.Process))
		return []*history.Violation{{
			Property: history.Linearizable, Event: len(events) - 1, Reason: check.ReasonNoOrder,
			Detail: detail,
		}}, true
	}
	return nil, true
}

// A timedOperation is an operation with the times between which it took effect.
type timedOperation struct {
	input      models.Input
	from, till time.Duration
}

// fromTimed returns the operations of timedOperations.
func fromTimed(all []timedOperation) []porcupine.Operation {
	operations := make([]porcupine.Operation, len(all))
	for i, o := range all {
		operations[i] = porcupine.Operation{
			ClientId: max(0, int(o.input.Process)-1), Input: o.input,
			Call: int64(o.from), Return: int64(o.till),
		}
	}
	return operations
}

// A nodeKey identifies a node of a process.
type nodeKey struct {
	process int32
	path    string
}

// leasesOfNodes counts the grants by each node: an owner may take its lock again.
func leasesOfNodes(events []history.Event) map[nodeKey]int {
	leases := make(map[nodeKey]int)
	for i := range events {
		if e := &events[i]; e.Kind == history.LockReturn && e.Err == "" {
			leases[nodeKey{e.Process, e.Path}]++
		}
	}
	return leases
}

// forever is later than all events.
const forever = time.Duration(1<<63 - 1)

// releaseAtAnyTime returns the release of a grant that may have taken effect at any time since.
func releaseAtAnyTime(granted *history.Event, clocks *Clocks) timedOperation {
	release := timedOperation{
		from: clocks.earliest(granted), till: forever,
		input: models.Input{Process: granted.Process, Verb: models.Release},
	}
	if granted.Shared() {
		release.input.Verb = models.ReleaseShared
	}
	return release
}

// operationsWithin returns the acquire and the release of an attempt, and its downgrade in between.
// The acquire may have taken effect at any time before the grant. If Unlock returned no error and
// no Lost event precedes, the release took effect between the call and the return of Unlock.
// Otherwise it may have taken effect at any time since the grant.
func operationsWithin(events []history.Event, of []int, granted *history.Event,
	clocks *Clocks,
) []timedOperation {
	acquire := timedOperation{
		from: -forever, till: clocks.latest(granted),
		input: models.Input{Process: granted.Process, Verb: models.Acquire},
	}
	if granted.Shared() {
		acquire.input.Verb = models.AcquireShared
	}
	release := releaseAtAnyTime(granted, clocks)
	from, till, lost := release.from, forever, false
	downgraded := -forever
	for _, i := range of {
		switch e := &events[i]; e.Kind {
		case history.Enter:
			if e.Shared() && !granted.Shared() {
				downgraded = clocks.earliest(e)
			}
		case history.Lost:
			lost = true
		case history.UnlockCall:
			from = clocks.earliest(e)
		case history.UnlockReturn:
			if e.Err == "" {
				till = clocks.latest(e)
			}
		}
	}
	if lost || till == forever {
		return []timedOperation{acquire, release}
	}
	release.from, release.till = from, till
	if downgraded == -forever {
		return []timedOperation{acquire, release}
	}
	release.input.Verb = models.ReleaseShared
	downgrade := timedOperation{
		from: downgraded, till: till,
		input: models.Input{Process: granted.Process, Verb: models.Downgrade},
	}
	return []timedOperation{acquire, downgrade, release}
}

// Places returns the number of places of a lock that the modes of its attempts name, otherwise 1.
func Places(events []history.Event) int {
	places := 1
	for i := range events {
		places = max(places, events[i].Places())
	}
	return places
}
