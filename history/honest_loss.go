package history

import "fmt"

const (
	reasonNotTold    = "a holder whose node was gone was never told"
	reasonUnsaid     = "a holder that was told of its loss was told the contrary by Unlock"
	reasonReentered  = "a holder that had lost the lock was granted it once more"
	reasonDeadGrant  = "the lock was granted by a node that was gone before it was asked for"
	reasonNoNode     = "the lock was granted to a process that had no node"
	reasonEnteredOut = "a process entered its critical section after it was told of its loss"
)

// CheckHonestLoss decides [HonestLoss]: a holder that loses the lock is told so, and nothing says otherwise afterwards.
//
// A hold is lost when its node is deleted before its process calls Unlock: with its session, or by anybody. Its process
// is told by a Lost event, or at last by an error of Unlock. The property holds if
//   - Unlock returns no success to a holder that has lost the lock, and none to one that was told that it has;
//   - a holder that had lost the lock or was told so is not granted it once more (ReenterReturn), nor does it enter its
//     critical section after it was told;
//   - Lock does not return success by a node that was deleted before Lock was called, nor, where it names no node, to a
//     process that has made ephemeral nodes of which none is left.
//
// Whether the holder is told in time is a matter of [BeliefExclusion]. A process that has crashed is told nothing. Where
// the history knows no nodes, as that of a service in production, only what a holder was told is judged.
//
// It takes time linear in the events, times the number of nodes and processes alive; a grant whose node is not among
// those costs another pass.
func CheckHonestLoss(events []Event) *Violation {
	var nodeSpace [12]node
	var openSpace [12]opening
	var holdSpace [12]hold
	nodes, open, holds := nodeSpace[:0], openSpace[:0], holdSpace[:0]
	for i := range events {
		e := &events[i]
		reason := ""
		switch e.Kind {
		case LockReturn:
			if e.Err == "" && grantedNode(nodes, e) < 0 {
				reason = judgeNodeless(events[:i], nodes, e)
			}
		case UnlockReturn, ReenterReturn, Enter:
			reason = judgeTold(holds, e)
		}
		if reason != "" {
			return &Violation{Property: HonestLoss, Event: i, Reason: reason,
				Detail: fmt.Sprintf("c%d: %v of attempt %d", e.Process, e.Kind, e.Attempt)}
		}
		if holdsMatter(e.Kind) {
			holds = trackHolds(holds, nodes, e, i)
		}
		if contends(e.Kind) {
			nodes, open = track(nodes, open, e, i)
		}
	}
	return nil
}

// judgeTold returns what is wrong with what a holder is told, or does.
func judgeTold(holds []hold, e *Event) string {
	h := findHold(holds, e.Process)
	if h < 0 || holds[h].attempt != e.Attempt || e.Err != "" {
		return ""
	}
	lost := &holds[h]
	switch {
	case e.Kind == UnlockReturn && lost.told != 0:
		return reasonUnsaid
	case e.Kind == UnlockReturn && lost.gone != 0:
		return reasonNotTold
	case e.Kind == Enter && lost.told != 0:
		return reasonEnteredOut
	case e.Kind == ReenterReturn && (lost.told != 0 && lost.told < lost.asking || lost.gone != 0 && lost.gone < lost.asking):
		return reasonReentered
	}
	return ""
}

// judgeNodeless returns what is wrong with a grant whose node is not alive and was not made in this attempt.
func judgeNodeless(before []Event, nodes []node, e *Event) string {
	for n := range nodes {
		if nodes[n].process == e.Process && nodes[n].ephemeral && e.Path == "" {
			return "" // It has one from before, by which it may hold the lock.
		}
	}
	for i := len(before) - 1; i >= 0; i-- {
		b := &before[i]
		switch {
		case b.Kind == NodeDeleted && e.Path != "" && b.Path == e.Path:
			return reasonDeadGrant
		case b.Kind == NodeCreated && e.Path == "" && b.Process == e.Process && b.Session != 0:
			return reasonNoNode
		}
	}
	return ""
}
