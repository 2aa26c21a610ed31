package check

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A hold is a process's tenure of the lock, from a grant to the return of the Unlock that ends it.
type hold struct {
	process  int32
	attempt  int32
	node     int    // the index of the creation of its node, -1 if unknown
	path     string // of the node
	lost     bool   // the node was deleted before Unlock was called
	notified bool   // the process was notified of the loss

	reentering        bool // a ReenterCall is open, and the following hold the state at that call
	lostAtReenter     bool
	notifiedAtReenter bool
	// the index of a ReenterReturn with an error for which there is no cause yet, or 0
	reenterFailed int

	unlocking bool // Unlock was called
	deleted   bool // the node was deleted, before or after the call of Unlock
}

// holdKinds holds the kinds of events that change holds.
const holdKinds = 1<<history.LockReturn | 1<<history.NodeDeleted | 1<<history.Lost |
	1<<history.UnlockCall | 1<<history.ReenterCall |
	1<<history.Crashed | 1<<history.UnlockReturn

// A holdList holds the current holds, at most one for each process.
type holdList []hold

// observe updates the holds. The queue is that of the events before.
func (l *holdList) observe(q *queue, e *history.Event) {
	if e.Kind == history.NodeDeleted {
		l.delete(q, e)
		return
	}
	h := l.find(e.Process)
	if e.Kind == history.LockReturn && e.Err == "" {
		granted := hold{process: e.Process, attempt: e.Attempt, node: -1}
		if n := q.Granted(e); n >= 0 {
			m := &q.Nodes[n]
			granted.node, granted.path, granted.lost, granted.deleted = m.Created, m.Path,
				m.Deleted != 0,
				m.Deleted != 0
		}
		if h >= 0 {
			(*l)[h] = granted
		} else {
			*l = append(*l, granted)
		}
		return
	}
	if h < 0 || e.Kind != history.Crashed && (*l)[h].attempt != e.Attempt {
		return
	}
	switch had := &(*l)[h]; e.Kind {
	case history.Lost:
		had.notified, had.reenterFailed = true, 0
	case history.UnlockCall:
		had.unlocking = true
	case history.ReenterCall:
		had.reentering, had.lostAtReenter, had.notifiedAtReenter = true, had.lost, had.notified
	case history.Crashed, history.UnlockReturn:
		*l = slices.Delete(*l, h, h+1)
	}
}

func (l holdList) delete(q *queue, e *history.Event) {
	n := q.Live(e.Path)
	if n < 0 {
		return
	}
	for h := range l {
		if l[h].node != q.Nodes[n].Created {
			continue
		}
		l[h].deleted = true
		l[h].lost = l[h].lost || !l[h].unlocking
	}
}

func (l holdList) find(process int32) int {
	return slices.IndexFunc(l, func(h hold) bool { return h.process == process })
}

// state folds in the holds as a set.
func (l holdList) state(s *State) {
	sum := uint64(0)
	for i := range l {
		h := &l[i]
		flags := bit(h.lost, 0) | bit(h.notified, 1) | bit(h.reentering, 2) | bit(h.lostAtReenter,
			3) | bit(h.notifiedAtReenter,
			4) |
			bit(h.reenterFailed != 0, 5) | bit(h.unlocking, 6) | bit(h.deleted,
			7) | bit(h.node >= 0, 8)
		one := fold(uint64(uint32(h.process))<<32|uint64(uint32(h.attempt)), flags)
		if h.node >= 0 && !h.deleted {
			one = fold(one, s.text(h.path))
		}
		sum += one
	}
	s.fold(sum, 0)
}
