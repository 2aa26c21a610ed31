package history

import (
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
)

const (
	reasonNotTold    = "a holder whose node was gone was never told"
	reasonUnsaid     = "a holder that was told of its loss was told the contrary by Unlock"
	reasonReentered  = "a holder that had lost the lock was granted it once more"
	reasonDeadGrant  = "the lock was granted by a node that was gone"
	reasonNoSuchNode = "the lock was granted by a node that did not exist"
	reasonNoNode     = "the lock was granted to a process that had no node"
	reasonEnteredOut = "a process entered its critical section after it was told of its loss"
)

// CheckLossNotification decides [LossNotification]: a holder that loses the lock is told so, and
// nothing says otherwise afterwards.
//
// A hold is lost when its node is deleted before its process calls Unlock: with its session, or by
// anybody. Its process is told by a Lost event, or at last by an error of Unlock. The property
// holds if
//   - Unlock returns no success to a holder that has lost the lock, and none to one that was told
//     that it has;
//   - a holder that had lost the lock or was told so is not granted it once more (ReenterReturn),
//     nor does it enter its critical section after it was told;
//   - Lock does not return success by a node that does not exist, unless the process has made it in
//     this attempt; nor, where it names no node, to a process that has made ephemeral nodes of
//     which none is left.
//
// Whether the holder is told in time is a matter of [ClientMutualExclusion]. A process that has
// crashed is told nothing. Where the history has seen no node in the directory of the one that is
// named, as that of a service in production, only what a holder was told is judged.
//
// It takes time linear in the events, times the number of nodes and processes alive.
func CheckLossNotification(events []Event) *Violation {
	return decide(LossNotification, new(lossMonitor), events)
}

type lossMonitor struct {
	holds       holdList
	creators    []int32  // the processes that have ever made an ephemeral node
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

func (m *lossMonitor) finish(*queue, []Event) *Violation { return nil }

func (m *lossMonitor) state(_ *queue, s *State) {
	m.holds.state(s)
	s.foldProcesses(m.creators)
	directories := uint64(0)
	for _, d := range m.directories {
		directories += xxhash.Sum64String(d)
	}
	s.fold(directories, 0)
}

// visible: a node that goes before an unlock or a reentry is called is lost to it. A grant by the
// process's own node may come sooner, for the process has to be told of the loss all the same.
func (m *lossMonitor) visible(q *queue, e *Event) bool {
	switch e.Kind {
	case UnlockCall, ReenterCall:
		return true
	case LockReturn:
		return e.Err == "" && (!q.grantIsLocal(e) || q.granted(e) < 0 &&
			slices.Contains(m.creators, e.Process))
	}
	return false
}

func (m *lossMonitor) observe(q *queue, log []Event, i int) *Violation {
	e := &log[i]
	reason := ""
	switch e.Kind {
	case LockReturn:
		if e.Err == "" && q.granted(e) < 0 {
			reason = m.checkGrant(q, log[:i], e)
		}
	case UnlockReturn, ReenterReturn, Enter:
		reason = m.checkNotified(e)
	}
	if reason != "" {
		return &Violation{
			Property: LossNotification, Event: i, Reason: reason,
			Detail: fmt.Sprintf("c%d: %v of attempt %d", e.Process, e.Kind, e.Attempt),
		}
	}
	m.holds.observe(q, e)
	if e.Kind == NodeCreated {
		m.created(e)
	}
	return nil
}

// created takes note of a node by which the lock may be granted.
func (m *lossMonitor) created(e *Event) {
	if e.Session != 0 && !slices.Contains(m.creators, e.Process) {
		m.creators = append(m.creators, e.Process)
	}
	if in := directory(e.Path); e.Zxid != 0 && !slices.Contains(m.directories, in) {
		m.directories = append(m.directories, in)
	}
}

// checkNotified returns what is wrong with what a holder is told, or does.
func (m *lossMonitor) checkNotified(e *Event) string {
	h := m.holds.find(e.Process)
	if h < 0 || m.holds[h].attempt != e.Attempt || e.Err != "" {
		return ""
	}
	lost := &m.holds[h]
	switch {
	case e.Kind == UnlockReturn && lost.notified:
		return reasonUnsaid
	case e.Kind == UnlockReturn && lost.lost:
		return reasonNotTold
	case e.Kind == Enter && lost.notified:
		return reasonEnteredOut
	case e.Kind == ReenterReturn && lost.reentering &&
		(lost.notifiedAtReenter || lost.lostAtReenter):
		return reasonReentered
	}
	return ""
}

// checkGrant returns what is wrong with a grant whose node is not alive and was not made in this
// attempt.
func (m *lossMonitor) checkGrant(q *queue, before []Event, e *Event) string {
	switch {
	case e.Path == "":
		own := func(n node) bool { return n.process == e.Process && n.ephemeral }
		if slices.Contains(m.creators, e.Process) && !slices.ContainsFunc(q.nodes, own) {
			return reasonNoNode // With a node from before it may hold the lock by that.
		}
	case q.live(e.Path) < 0 && slices.Contains(m.directories, directory(e.Path)):
		if slices.ContainsFunc(before, func(b Event) bool {
			return b.Kind == NodeDeleted &&
				b.Path == e.Path
		}) {
			return reasonDeadGrant
		}
		return reasonNoSuchNode
	}
	return ""
}
