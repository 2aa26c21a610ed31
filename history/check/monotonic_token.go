package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// ReasonTokenFell is a reason of violations of [history.MonotonicToken].
const ReasonTokenFell = "a fencing token is not higher than one of an earlier grant"

// MonotonicToken decides [history.MonotonicToken]: fencing tokens increase strictly from grant to
// grant.
//
// An event of the property is a grant with a token, which is the Zxid of the LockReturn. The token
// is higher than the tokens of all earlier grants that the property covers.
//
// The property does not cover grants without a token, nor grants whose node was deleted before Lock
// returned: such a grant is void, and may return late. Grants that may hold the lock together have
// no order: those in shared mode, and all grants of a lock with several places
// ([history.Limits].Places). Of two such grants the tokens differ, and the later one has the higher
// token if its LockCall came after the grant of the other.
//
// The check takes time linear in the events, times the number of live nodes and processes.
func MonotonicToken(events []history.Event) *history.Violation {
	return decide(history.MonotonicToken, &tokenMonitor{config: new(monitorConfig)}, events)
}

type tokenMonitor struct {
	config    *monitorConfig
	highest   int64 // the highest token
	holder    int32 // the process with the highest token
	exclusive int64 // the highest token of a grant that excludes all others
	// the highest tokens at the open LockCalls whose grants may hold the lock with others
	floors []tokenFloor
	tokens []int64 // of such grants, as far as they are above a floor
}

// A tokenFloor is the highest token when a process called Lock.
type tokenFloor struct {
	process int32
	token   int64
}

func (m *tokenMonitor) reset() {
	*m = tokenMonitor{config: m.config, floors: m.floors[:0], tokens: m.tokens[:0]}
}

func (m *tokenMonitor) copy(from monitor) {
	other, floors, tokens := from.(*tokenMonitor), m.floors[:0], m.tokens[:0]
	*m = *other
	m.floors, m.tokens = append(floors, other.floors...), append(tokens, other.tokens...)
}

func (m *tokenMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *tokenMonitor) state(_ *queue, s *State) {
	s.fold(uint64(m.highest), 0)
	if m.exclusive == m.highest && len(m.floors) == 0 {
		return
	}
	floors, tokens := uint64(0), uint64(0)
	for _, f := range m.floors {
		if !s.ended(f.process) {
			floors += fold(uint64(f.process), uint64(f.token))
		}
	}
	for _, token := range m.tokens {
		tokens += scatter(uint64(token))
	}
	s.fold(floors, tokens)
	s.fold(uint64(m.exclusive), 0)
}

// freedom: the token of an earlier grant may no longer be too low, and an earlier LockCall may
// require less. If the lock claims [history.Linearizable], two such grants by live nodes overlap if
// one of them excludes the other, which is a violation already.
func (m *tokenMonitor) freedom(q *queue, e *history.Event) freedom {
	switch {
	case e.Kind == history.LockCall:
		return later | free(!m.sharing(e), sooner)
	case e.Kind == history.UnlockCall:
		return anywhere
	case e.Kind == history.LockReturn && e.Err == "" && e.Zxid != 0:
		n := q.Granted(e)
		return free(!m.sharing(e) && m.config.linearizable && n >= 0 && q.Nodes[n].Deleted == 0,
			sooner) & queueFreedom(q, e)
	case e.Kind == history.LockReturn:
		return anywhere
	}
	return queueFreedom(q, e)
}

// sharing reports whether the grant of an attempt may hold the lock together with others.
func (m *tokenMonitor) sharing(e *history.Event) bool { return e.Shared() || !m.config.solitary() }

func (m *tokenMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if e.Kind == history.LockCall {
		m.floors = slices.DeleteFunc(m.floors,
			func(f tokenFloor) bool { return f.process == e.Process })
		if m.sharing(e) {
			m.floors = append(m.floors, tokenFloor{e.Process, m.highest})
		}
		return nil
	}
	floor := m.floor(e)
	if e.Err != "" || e.Zxid == 0 {
		return nil
	}
	if n := q.Granted(e); n >= 0 && q.Nodes[n].Deleted > 0 {
		return nil
	}
	if e.Zxid <= floor || slices.Contains(m.tokens, e.Zxid) {
		return &history.Violation{
			Property: history.MonotonicToken, Event: i, Reason: ReasonTokenFell,
			Detail: fmt.Sprintf("c%d was granted the lock with token %d after c%d with %d",
				e.Process,
				e.Zxid, m.holder, m.highest),
			Evidence: history.Evidence{
				Process: e.Process, Other: m.holder, Zxid: e.Zxid, After: m.highest,
			},
		}
	}
	if e.Zxid > m.highest {
		m.highest, m.holder = e.Zxid, e.Process
	}
	if m.sharing(e) {
		m.tokens = append(m.tokens, e.Zxid)
	} else {
		m.exclusive = e.Zxid
	}
	m.forget()
	return nil
}

// floor returns the token that a grant must exceed, and removes the floor of its LockCall.
func (m *tokenMonitor) floor(e *history.Event) int64 {
	if !m.sharing(e) {
		return m.highest
	}
	floor := m.exclusive
	m.floors = slices.DeleteFunc(m.floors, func(f tokenFloor) bool {
		if f.process == e.Process {
			floor = max(floor, f.token)
		}
		return f.process == e.Process
	})
	return floor
}

// forget drops the tokens that no grant can have, because its LockCall is open or still to come.
func (m *tokenMonitor) forget() {
	lowest := m.highest
	for _, f := range m.floors {
		lowest = min(lowest, f.token)
	}
	m.tokens = slices.DeleteFunc(m.tokens, func(token int64) bool { return token <= lowest })
}
