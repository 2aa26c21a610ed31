package scenarios

import (
	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
)

// A memory is what properties remember of a process where a key does not hold its past; see [state]. Of an attempt that goes on that is what has been asked and what watches were set since Lock
// was called, of one that has the lock by what it was granted. When it was, and in what order among the other processes,
// decides nothing that the order of nodes and an [order] do not tell.
type memory struct {
	attempt   uint64 // hash of what the process has asked of its lock and been told, and of the watches
	left      bool   // an earlier attempt has left a node behind, which is judged by what it was
	requests  int    // that the process has sent, and
	changes   int    // nodes that have gone: by these the cost of an acquire is judged, unless something has
	disturbed bool   // the attempt; see [history.CheckHerd]
	inFlight  int    // requests without a reply, and watches that have fired and whose event has not come
	open      bool   // the process waits for the lock
	queued    bool   // and has made its node
	before    uint64 // the processes that had queued when it asked and still wait, by their numbers modulo 64

	claim claim
}

// A claim is what [history.CheckNoStarvation] knows of a process when the fair phase begins, but for whether it has given up, which
// a key tells. The other properties that are judged from then on, [history.CheckNoLivelock] and [history.CheckProgress], know nothing
// of what was before but which calls are open, which a key tells too.
type claim struct {
	place uint64 // hash of the node by which the process has queued, 0 if it has none
	made  bool   // a node in this attempt, and the connection has kept its state since
	late  int    // so many of the next nodes may be those of attempts before, which were given up without one
}

// note brings the claim up to date with an event of its process.
func (c *claim) note(e *history.Event, open bool) {
	switch e.Kind {
	case history.LockCall:
		*c = claim{late: c.late}
	case history.NodeCreated:
		switch {
		case e.Session == 0:
		case c.late > 0:
			c.late--
		case open:
			if c.made = true; c.place == 0 {
				c.place = xxhash.Sum64String(e.Path)
			}
		}
	case history.SessionState:
		*c = claim{late: c.late}
	case history.LockReturn:
		if e.Err == "" || c.made {
			*c = claim{}
		} else {
			*c = claim{late: c.late + 1}
		}
	case history.Finished:
		*c = claim{} // It asks no more.
	}
}

// key folds the claim into a key, which stays what it is without one.
func (c *claim) key(key uint64) uint64 {
	if *c == (claim{}) {
		return key
	}
	flags := uint64(0)
	if c.made {
		flags = 1
	}
	return mix(mix(key, c.place), flags|uint64(c.late)<<1)
}

// key returns 64 bits over the memory.
func (m *memory) key() uint64 {
	key := m.claim.key(mix(m.attempt, uint64(m.inFlight)))
	if !m.open {
		return key
	}
	flags := uint64(0)
	if m.disturbed {
		flags = 1
	}
	return mix(mix(key, uint64(m.requests)<<32|uint64(m.changes)<<1|flags), m.before)
}

// remember takes note of the events since the last time.
func (l *loop) remember() {
	events := l.log.Events()
	for i := l.remembered; i < len(events); i++ {
		e := &events[i]
		for _, p := range l.processes {
			m := &p.stand.memory
			switch {
			case e.Kind == history.NodeDeleted:
				m.changes++
				if m.claim.place != 0 && m.claim.place == xxhash.Sum64String(e.Path) {
					m.claim.place = 0
				}
			case e.Kind == history.Tick:
				m.disturbed = m.disturbed || m.inFlight > 0
			case e.Kind == history.Fault && e.Process == 0:
				m.disturbed = true
			}
		}
		if e.Process > 0 {
			l.remind(l.processes[e.Process-1], e)
		}
	}
	l.remembered = len(events)
}

// remind puts an event into the memory of its process.
func (l *loop) remind(p *process, e *history.Event) {
	m := &p.stand.memory
	m.claim.note(e, m.open)
	switch e.Kind {
	case history.LockCall:
		before := l.queued()
		*m = memory{attempt: m.attempt, left: p.link.OwnsNodes(), open: true, before: before, inFlight: m.inFlight, claim: m.claim}
		if !m.left {
			m.attempt = 0
		}
	case history.LockReturn:
		m.open = false
		if !m.left {
			m.attempt = 0
		}
		for _, other := range l.processes {
			other.stand.memory.before &^= 1 << (e.Process % 64)
		}
	case history.NodeCreated:
		if m.open && e.Session != 0 {
			m.queued, m.attempt = true, mix(m.attempt, xxhash.Sum64String(e.Path))
		}
	case history.Send:
		m.requests++
		m.inFlight++
	case history.WatchFired:
		m.inFlight++
	case history.Reply, history.WatchEvent:
		m.inFlight = max(0, m.inFlight-1)
	case history.SessionState:
		m.disturbed, m.inFlight = true, 0
	case history.Fault:
		m.disturbed = true
	}
	if p.link.Crashed() {
		m.inFlight = 0 // It acquires nothing any more.
	}
	if !concerns(e.Kind) {
		return
	}
	h := mix(uint64(e.Kind)<<32|uint64(uint32(e.Attempt)), xxhash.Sum64String(e.Path)^xxhash.Sum64String(e.Name)*3)
	h = mix(h, xxhash.Sum64String(e.Err))
	switch e.Kind {
	case history.LockReturn, history.ResourceRead, history.ResourceWrite: // Tokens and versions.
		h = mix(h, uint64(e.Zxid))
	case history.WatchArmed:
		h = mix(h, uint64(min(e.Request, 1)))
	}
	m.attempt = mix(m.attempt, h)
}

// queued returns the processes that have queued and wait.
func (l *loop) queued() (mask uint64) {
	for _, p := range l.processes {
		if m := &p.stand.memory; m.open && m.queued {
			mask |= 1 << (p.Number % 64)
		}
	}
	return mask
}

// concerns tells whether events of the kind say what a process does with its lock, or what may wake it.
func concerns(kind history.Kind) bool {
	switch kind {
	case history.LockCall, history.LockReturn, history.Enter, history.Leave, history.Lost, history.UnlockCall, history.UnlockReturn,
		history.Finished, history.ReenterCall, history.ReenterReturn, history.Exited, history.ResourceRead, history.ResourceWrite,
		history.SessionState, history.WatchArmed:
		return true
	}
	return false
}
