package history

import "fmt"

const (
	reasonTooSoon = "the lock was given back before its last unlock"
	reasonTooLate = "the lock was kept after its last unlock"
	reasonRefusal = "a holder was refused the lock that it has"
)

// CheckReentrancy decides [Reentrancy]: as many unlocks as locks give the lock back, no sooner and no later.
//
// A process that has the lock takes it once more by a ReenterCall, and gives that back by what an Exited records; the
// last of its unlocks is the one that UnlockCall and UnlockReturn record. The property holds if
//   - the holder's node is not deleted by the holder's own request before UnlockCall, unless it was told before that the
//     lock is lost;
//   - it is deleted when UnlockReturn reports success;
//   - a ReenterReturn reports no failure to a holder whose node stands, unless it is told right then that the lock is lost.
//
// A node that goes with its session, or that somebody else deletes, is a matter of [HonestLoss]. Holds whose node is not
// known are not judged.
//
// It takes time linear in the events, times the number of nodes and processes alive.
func CheckReentrancy(events []Event) *Violation {
	var nodeSpace [12]node
	var openSpace [12]opening
	var holdSpace [12]hold
	nodes, open, holds := nodeSpace[:0], openSpace[:0], holdSpace[:0]
	for i := range events {
		e := &events[i]
		if !holdsMatter(e.Kind) && !contends(e.Kind) {
			continue
		}
		if v := judgeCount(events, holds, nodes, i); v != nil {
			return v
		}
		holds = trackHolds(holds, nodes, e, i)
		if h := findHold(holds, e.Process); h >= 0 && e.Kind == ReenterReturn && e.Err != "" && !holds[h].freed && holds[h].told == 0 {
			holds[h].refused = i
		}
		if contends(e.Kind) {
			nodes, open = track(nodes, open, e, i)
		}
	}
	return nil
}

// judgeCount returns how event number i breaks the count, or nil.
func judgeCount(events []Event, holds []hold, nodes []node, i int) *Violation {
	e := &events[i]
	reason, at := "", i
	h := findHold(holds, e.Process)
	if h < 0 || holds[h].node < 0 {
		return nil
	}
	had := &holds[h]
	switch {
	case had.refused != 0 && e.Kind != Lost && e.Kind != Crashed && e.Kind != NodeDeleted:
		reason, at = reasonRefusal, had.refused
	case e.Kind == NodeDeleted && !had.leaving && had.told == 0:
		if n := findLive(nodes, e.Path); n >= 0 && nodes[n].created == had.node && !endsSession(events, i) {
			reason = reasonTooSoon
		}
	case e.Kind == UnlockReturn && e.Err == "" && e.Attempt == had.attempt && !had.freed:
		reason = reasonTooLate
	}
	if reason == "" {
		return nil
	}
	return &Violation{Property: Reentrancy, Event: at, Reason: reason,
		Detail: fmt.Sprintf("c%d in attempt %d, which has the node of event %d", e.Process, had.attempt, had.node)}
}
