package history

import "fmt"

const reasonTokenFell = "a fencing token is not higher than one of an earlier grant"

// CheckMonotonicToken decides [MonotonicToken]: fencing tokens rise from grant to grant.
//
// The property holds if each grant's token, which a LockReturn carries as its Zxid, is higher than
// those of all grants before it. Grants without a token do not count, nor do those whose node was
// deleted before Lock returned: they are no grants any more, and may return late.
//
// It takes time linear in the events, times the number of nodes and processes alive.
func CheckMonotonicToken(events []Event) *Violation {
	return decide(MonotonicToken, &tokenMonitor{config: new(monitorConfig)}, events)
}

type tokenMonitor struct {
	config  *monitorConfig
	highest int64 // of the grants that count
	holder  int32
}

func (m *tokenMonitor) reset()                            { *m = tokenMonitor{config: m.config} }
func (m *tokenMonitor) copy(from monitor)                 { *m = *from.(*tokenMonitor) }
func (m *tokenMonitor) finish(*queue, []Event) *Violation { return nil }
func (m *tokenMonitor) state(_ *queue, s *State)          { s.fold(uint64(m.highest), 0) }

// visible: a grant that comes sooner may no longer have a token that is too low. Where grants
// exclude each other it is one of two that overlap then, if its node stands; a node that does not
// does not count.
func (m *tokenMonitor) visible(q *queue, e *Event) bool {
	if e.Kind != LockReturn || e.Err != "" || e.Zxid == 0 {
		return false
	}
	n := q.granted(e)
	return !(m.config.linearizable && q.grantIsLocal(e) && n >= 0 && q.nodes[n].deleted == 0)
}

func (m *tokenMonitor) observe(q *queue, log []Event, i int) *Violation {
	e := &log[i]
	if e.Err != "" || e.Zxid == 0 {
		return nil
	}
	if n := q.granted(e); n >= 0 && q.nodes[n].deleted > 0 {
		return nil
	}
	if e.Zxid <= m.highest {
		return &Violation{
			Property: MonotonicToken, Event: i, Reason: reasonTokenFell,
			Detail: fmt.Sprintf("c%d was granted the lock with token %d after c%d with %d",
				e.Process,
				e.Zxid, m.holder, m.highest),
		}
	}
	m.highest, m.holder = e.Zxid, e.Process
	return nil
}
