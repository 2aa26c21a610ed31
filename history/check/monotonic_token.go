package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

const reasonTokenFell = "a fencing token is not higher than one of an earlier grant"

// MonotonicToken decides [history.MonotonicToken]: fencing tokens increase strictly from grant to
// grant.
//
// An event of the property is a grant with a token, which is the Zxid of the LockReturn. The token
// is higher than the tokens of all earlier grants that the property covers.
//
// The property does not cover grants without a token, nor grants whose node was deleted before Lock
// returned: such a grant is void, and may return late.
//
// The check takes time linear in the events, times the number of live nodes and processes.
func MonotonicToken(events []history.Event) *history.Violation {
	return decide(history.MonotonicToken, &tokenMonitor{config: new(monitorConfig)}, events)
}

type tokenMonitor struct {
	config  *monitorConfig
	highest int64 // the highest token
	holder  int32 // the process with the highest token
}

func (m *tokenMonitor) reset() { *m = tokenMonitor{config: m.config} }

func (m *tokenMonitor) copy(from monitor) {
	*m = *from.(*tokenMonitor)
}
func (m *tokenMonitor) finish(*queue, []history.Event) *history.Violation { return nil }
func (m *tokenMonitor) state(_ *queue, s *State) {
	s.fold(
		uint64(m.highest), 0)
}

// visible: the token of an earlier grant may no longer be too low. If the lock claims
// [history.Linearizable], two such grants by live nodes overlap, which is a violation already.
func (m *tokenMonitor) visible(q *queue, e *history.Event) bool {
	if e.Kind != history.LockReturn || e.Err != "" || e.Zxid == 0 {
		return false
	}
	n := q.granted(e)
	return !(m.config.linearizable && q.grantIsLocal(e) && n >= 0 && q.nodes[n].deleted == 0)
}

func (m *tokenMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if e.Err != "" || e.Zxid == 0 {
		return nil
	}
	if n := q.granted(e); n >= 0 && q.nodes[n].deleted > 0 {
		return nil
	}
	if e.Zxid <= m.highest {
		return &history.Violation{
			Property: history.MonotonicToken, Event: i, Reason: reasonTokenFell,
			Detail: fmt.Sprintf("c%d was granted the lock with token %d after c%d with %d",
				e.Process,
				e.Zxid, m.holder, m.highest),
			Evidence: history.Evidence{
				Process: e.Process, Other: m.holder, Zxid: e.Zxid, After: m.highest,
			},
		}
	}
	m.highest, m.holder = e.Zxid, e.Process
	return nil
}
