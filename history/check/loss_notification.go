package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// The reasons of violations of [history.LossNotification].
const (
	reasonNotTold    = "Unlock returned success to a holder whose node had been deleted"
	ReasonUnsaid     = "Unlock returned success to a holder that was notified of its loss"
	ReasonReentered  = "a holder that had lost the lock was granted it again"
	reasonDeadGrant  = "the lock was granted by a deleted node"
	reasonNoSuchNode = "the lock was granted by a node that did not exist"
	reasonNoNode     = "the lock was granted to a process that had no node"
	ReasonEnteredOut = "a process entered its critical section after it was notified of its loss"
)

// LossNotification decides [history.LossNotification]: a holder that loses the lock is notified,
// and no later result contradicts the loss.
//
// A hold is lost when its node is deleted before its process calls Unlock. The process is notified
// by a Lost event, or at the latest by an error of Unlock. The events of the property are:
//   - an UnlockReturn without an error: the holder has neither lost the lock nor been notified of a
//     loss;
//   - a ReenterReturn without an error: the holder had neither lost the lock nor been notified at
//     the ReenterCall;
//   - an Enter: the process was not notified of the loss of its hold;
//   - a LockReturn without an error: if it names a node, the node is live, or the process created
//     it in this attempt; if it names none, the process has a live ephemeral node or has never
//     created one.
//
// The property does not cover when a holder is notified, which [history.ClientMutualExclusion]
// covers, nor a crashed process. If the history shows no node in the directory of the named one, as
// that of a service in production, the property does not cover the LockReturn.
//
// The check takes time linear in the events, times the number of live nodes and processes.
func LossNotification(events []history.Event) *history.Violation {
	return decide(history.LossNotification, new(lossMonitor), events)
}

type lossMonitor struct {
	holds       holdList
	creators    []int32  // the processes that have ever created an ephemeral node
	directories []string // in which the ensemble has created nodes
}

func (m *lossMonitor) reset() {
	m.holds, m.creators, m.directories = m.holds[:0], m.creators[:0], m.directories[:0]
}

func (m *lossMonitor) copy(from monitor) {
	other := from.(*lossMonitor)
	m.holds, m.creators = append(m.holds[:0], other.holds...),
		append(m.creators[:0], other.creators...)
	m.directories = append(m.directories[:0], other.directories...)
}

func (m *lossMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *lossMonitor) state(_ *queue, s *State) {
	m.holds.state(s)
	s.foldProcesses(m.creators)
	directories := uint64(0)
	for _, d := range m.directories {
		directories += s.text(d)
	}
	s.fold(directories, 0)
}

// freedom: a node that is deleted before an Unlock or a reentry is called is lost to it. A grant by
// the process's own node may come earlier, because the process must be notified of the loss anyway.
// Everything else depends on events of the process itself, or on what was lost by those calls.
func (m *lossMonitor) freedom(q *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.LockReturn:
		if e.Err == "" && q.Granted(e) < 0 && slices.Contains(m.creators, e.Process) {
			return fixed
		}
		return queueFreedom(q, e)
	case history.UnlockCall, history.ReenterCall:
		return later
	case history.LockCall, history.UnlockReturn, history.ReenterReturn, history.Enter,
		history.Lost, history.Crashed:
		return anywhere
	}
	return fixed
}

func (m *lossMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	reason := ""
	switch e.Kind {
	case history.LockReturn:
		if e.Err == "" && q.Granted(e) < 0 {
			reason = m.checkGrant(q, log[:i], e)
		}
	case history.UnlockReturn, history.ReenterReturn, history.Enter:
		reason = m.checkNotified(e)
	}
	if reason != "" {
		return &history.Violation{
			Property: history.LossNotification, Event: i, Reason: reason,
			Detail:   LossDetail(e),
			Evidence: history.Evidence{Process: e.Process},
		}
	}
	m.holds.observe(q, e)
	if e.Kind == history.NodeCreated {
		m.created(e)
	}
	return nil
}

// LossDetail says what a process was granted, or did, without having the lock.
func LossDetail(e *history.Event) string {
	what := "%s's Lock of attempt %d returned without an error"
	switch e.Kind {
	case history.UnlockReturn:
		what = "%s's Unlock of attempt %d returned without an error"
	case history.ReenterReturn:
		what = "%s's Lock in its hold of attempt %d returned without an error"
	case history.Enter:
		what = "%s entered its critical section in attempt %d"
	}
	return fmt.Sprintf(what, history.ProcessName(e.Process), e.Attempt)
}

// created records a node by which the lock may be granted.
func (m *lossMonitor) created(e *history.Event) {
	if e.Session != 0 && !slices.Contains(m.creators, e.Process) {
		m.creators = append(m.creators, e.Process)
	}
	if in := history.Directory(e.Path); e.Zxid != 0 && !slices.Contains(m.directories, in) {
		m.directories = append(m.directories, in)
	}
}

// checkNotified returns the reason why a result or an Enter contradicts a loss, or "".
func (m *lossMonitor) checkNotified(e *history.Event) string {
	h := m.holds.find(e.Process)
	if h < 0 || m.holds[h].attempt != e.Attempt || e.Err != "" {
		return ""
	}
	lost := &m.holds[h]
	switch {
	case e.Kind == history.UnlockReturn && lost.notified:
		return ReasonUnsaid
	case e.Kind == history.UnlockReturn && lost.lost:
		return reasonNotTold
	case e.Kind == history.Enter && lost.notified:
		return ReasonEnteredOut
	case e.Kind == history.ReenterReturn && lost.reentering &&
		(lost.notifiedAtReenter || lost.lostAtReenter):
		return ReasonReentered
	}
	return ""
}

// checkGrant returns the reason why a grant is wrong whose node is not live and was not created in
// this attempt, or "".
func (m *lossMonitor) checkGrant(q *queue, before []history.Event, e *history.Event) string {
	switch {
	case e.Path == "":
		own := func(n history.QueueNode) bool { return n.Process == e.Process && n.Ephemeral }
		if slices.Contains(m.creators, e.Process) && !slices.ContainsFunc(q.Nodes, own) {
			return reasonNoNode // An older node of the process could hold the lock.
		}
	case q.Live(e.Path) < 0 && slices.Contains(m.directories, history.Directory(e.Path)):
		if slices.ContainsFunc(before, func(b history.Event) bool {
			return b.Kind == history.NodeDeleted &&
				b.Path == e.Path
		}) {
			return reasonDeadGrant
		}
		return reasonNoSuchNode
	}
	return ""
}
