package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonEarlyEnter = "a process passed a barrier before enough others had reached it"
	reasonEarlyLeave = "a process left a barrier while another was still inside"
)

// earlyPassKinds holds the kinds of events that a barrier's rounds depend on.
const earlyPassKinds = callKinds | 1<<history.Lost | 1<<history.Crashed |
	1<<history.SessionExpired | 1<<history.SessionClosed

// NoEarlyPass decides [history.NoEarlyPass] for a double barrier, which processes enter by Lock and
// leave by Unlock, and which needs as many of them as [history.Limits.Places].
//
// The property holds if the calls of Lock can be divided into rounds of that number, such that
//   - each call is in at most one round, and each that returns without an error is in one;
//   - all calls of a round are open at some moment;
//   - an Unlock that returns without an error does so after every other process of the round has
//     called Unlock, failed to enter, been told that the lock is lost, or lost its session or the
//     nodes of the call of Lock. A loss does not count if Lock returns afterwards by a live node.
//
// The call of a process that has crashed is open until its session ends. An event of the property
// is the return of a call without an error.
//
// If the barrier needs one process, a shared call of Lock waits instead at a single barrier, which
// exclusive calls of Lock set and their Unlock removes. It is set from the return of such a Lock
// until the next exclusive call, except while another is open and after an Unlock that has failed.
// A shared call returns without an error only if at some moment of it the barrier need not be set.
// A Lock that has failed must not remove the barrier later.
//
// The check takes time linear in the events if no more processes call Lock than the barrier needs.
// Otherwise it tries the possible divisions. It gives up, without a violation, on a history in
// which more than [divisionsMax] have to be distinguished.
func NoEarlyPass(events []history.Event, places int) *history.Violation {
	config := &monitorConfig{limits: history.Limits{Places: places}}
	return decide(history.NoEarlyPass, &earlyPassMonitor{config: config}, events)
}

// divisionsMax is the number of divisions that [NoEarlyPass] distinguishes.
const divisionsMax = 1 << 10

// A passage is a call of Lock, from when it is made until Lock has failed or Unlock has returned.
type passage struct {
	process int32
	attempt int32
	inside  bool // Lock has returned
	leaving bool // Unlock was called
	absent  bool // others need not wait for it
	crashed bool
}

// An earlyPassMonitor holds every division of the passages into rounds that the events allow. A
// round is chosen as late as possible: when the first of its calls returns. So the calls in no
// round are open, and rounds that could have begun before can begin then.
type earlyPassMonitor struct {
	config    *monitorConfig
	single    singleBarrier
	passages  []passage // by process
	divisions []uint8   // of each passage the number of its round, or 0; one row for each division
	count     int       // of rows
	undecided bool

	next   []uint8 // for the rows after the event
	row    []uint8
	chosen []int
}

func (m *earlyPassMonitor) reset() {
	m.single.reset()
	m.passages, m.divisions, m.count, m.undecided = m.passages[:0], m.divisions[:0], 1, false
}

func (m *earlyPassMonitor) copy(from monitor) {
	other := from.(*earlyPassMonitor)
	m.single.copy(&other.single)
	m.passages = append(m.passages[:0], other.passages...)
	m.divisions = append(m.divisions[:0], other.divisions...)
	m.count, m.undecided = other.count, other.undecided
}

func (m *earlyPassMonitor) finish([]history.Event) *history.Violation { return nil }

// state folds in the divisions without their order.
func (m *earlyPassMonitor) state(_ *queue, s *State) {
	if m.config.limits.Places <= 1 {
		m.single.state(s)
	}
	for i := range m.passages {
		p := &m.passages[i]
		s.fold(uint64(uint32(p.process))<<32|uint64(uint32(p.attempt)), bit(p.inside, 0)|
			bit(p.leaving, 1)|bit(p.absent, 2)|bit(p.crashed, 3))
	}
	sum := uint64(0)
	for n := range m.rows() {
		one := uint64(1)
		for _, round := range m.at(n) {
			one = fold(one, uint64(round))
		}
		sum += one
	}
	s.fold(sum, bit(m.undecided, 0))
}

// rows returns the number of divisions. The zero value of a monitor has one.
func (m *earlyPassMonitor) rows() int {
	if len(m.passages) == 0 {
		return 1
	}
	return m.count
}

func (m *earlyPassMonitor) at(row int) []uint8 {
	width := len(m.passages)
	return m.divisions[row*width : (row+1)*width]
}

// freedom: a call that begins, or excuses others, later hides nothing. A return from a barrier that
// several processes pass together hides nothing if it comes earlier: it leaves fewer divisions. But
// one by a node that is gone excuses others.
func (m *earlyPassMonitor) freedom(q *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.LockCall, history.UnlockCall, history.Lost:
		return later
	case history.LockReturn:
		return free(e.Err == "" && m.config.limits.Places > 1 &&
			(e.Path == "" || q.Live(e.Path) >= 0), sooner)
	}
	return fixed
}

func (m *earlyPassMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if m.config.limits.Places <= 1 {
		if shared, setter := m.single.observe(e); setter != 0 {
			return passedSet(e, i, setter)
		} else if shared {
			return nil
		}
	}
	if m.undecided {
		return nil
	}
	switch e.Kind {
	case history.SessionExpired, history.SessionClosed:
		m.endSession(e.Process)
		return nil
	case history.Crashed:
		m.crash(e.Process)
		return nil
	case history.LockCall:
		m.end(m.find(e.Process))
		m.begin(e)
		return nil
	}
	n := m.find(e.Process)
	if n < 0 {
		if e.Kind == history.LockReturn && e.Err == "" {
			return m.violation(log, i, reasonEarlyEnter, 0)
		}
		return nil
	}
	p := &m.passages[n]
	switch e.Kind {
	case history.LockReturn:
		if e.Err != "" {
			m.end(n)
			break
		}
		if !m.divide(n, true) {
			return m.violation(log, i, reasonEarlyEnter, 0)
		}
		p.inside = true
		p.absent = e.Path != "" && q.Live(e.Path) < 0
	case history.UnlockCall:
		p.leaving = true
	case history.Lost:
		p.absent = true
	case history.UnlockReturn:
		if e.Err != "" {
			m.remove(n)
		} else if other := m.leave(q, n); other != 0 {
			return m.violation(log, i, reasonEarlyLeave, other)
		}
	}
	return nil
}

func (m *earlyPassMonitor) violation(log []history.Event, i int, reason string, other int32,
) *history.Violation {
	e := &log[i]
	v := &history.Violation{
		Property: history.NoEarlyPass, Event: i, Reason: reason,
		Evidence: history.Evidence{
			Process: e.Process, Other: other, Count: m.config.limits.EffectivePlaces(),
		},
	}
	if reason == reasonEarlyEnter {
		v.Detail = fmt.Sprintf("c%d's Lock of attempt %d returned, but at no time of the call "+
			"were %d calls open that are in no other round", e.Process, e.Attempt,
			v.Evidence.Count)
	} else {
		v.Detail = fmt.Sprintf("c%d's Unlock of attempt %d returned before c%d had called Unlock",
			e.Process, e.Attempt, other)
	}
	return v
}

// find returns the index of a process's passage, or -1.
func (m *earlyPassMonitor) find(process int32) int {
	return slices.IndexFunc(m.passages, func(p passage) bool { return p.process == process })
}

// begin adds a passage, which is in no round yet.
func (m *earlyPassMonitor) begin(e *history.Event) {
	at := 0
	for at < len(m.passages) && m.passages[at].process < e.Process {
		at++
	}
	rows := m.rows()
	m.next = m.next[:0]
	for n := range rows {
		row := m.at(n)
		m.next = append(append(append(m.next, row[:at]...), 0), row[at:]...)
	}
	m.passages = slices.Insert(m.passages, at, passage{process: e.Process, attempt: e.Attempt})
	m.divisions, m.next, m.count = m.next, m.divisions, rows
}

// end removes a passage whose call may have been in a round until now.
func (m *earlyPassMonitor) end(n int) {
	if n < 0 {
		return
	}
	if !m.passages[n].inside {
		m.divide(n, false)
	}
	m.remove(n)
}

// remove removes a passage.
func (m *earlyPassMonitor) remove(n int) {
	m.next = m.next[:0]
	rows := m.rows()
	m.count = 0
	for r := range rows {
		m.row = append(append(m.row[:0], m.at(r)[:n]...), m.at(r)[n+1:]...)
		m.keep()
	}
	m.passages = slices.Delete(m.passages, n, n+1)
	m.divisions, m.next = m.next, m.divisions
}

// divide puts an open call into a round, in each way that is possible; unless it must be in one,
// also into none. It reports whether any division is left.
func (m *earlyPassMonitor) divide(n int, must bool) bool {
	rows := m.rows()
	m.next, m.count = m.next[:0], 0
	for r := range rows {
		row := m.at(r)
		if row[n] != 0 || !must {
			m.row = append(m.row[:0], row...)
			m.keep()
		}
		if row[n] == 0 {
			m.chosen = append(m.chosen[:0], n)
			m.choose(row, 0, m.config.limits.EffectivePlaces()-1)
		}
	}
	m.divisions, m.next = m.next, m.divisions
	return m.count > 0 || m.undecided
}

// choose adds to the chosen calls as many more as are missing, from the given one on, and keeps the
// division in which they are a round.
func (m *earlyPassMonitor) choose(row []uint8, from, missing int) {
	if m.undecided {
		return
	}
	if missing == 0 {
		m.row = append(m.row[:0], row...)
		for _, n := range m.chosen {
			m.row[n] = uint8(len(row) + 1)
		}
		m.keep()
		return
	}
	for n := from; n < len(row); n++ {
		if row[n] == 0 && n != m.chosen[0] {
			m.chosen = append(m.chosen, n)
			m.choose(row, n+1, missing-1)
			m.chosen = m.chosen[:len(m.chosen)-1]
		}
	}
}

// keep adds the row to the next divisions, unless it is among them. Rounds get the numbers in which
// they first occur.
func (m *earlyPassMonitor) keep() {
	width := len(m.row)
	if width > 200 || m.count >= divisionsMax {
		m.undecided = true
		return
	}
	var names [256]uint8
	last := uint8(0)
	for n, round := range m.row {
		if round == 0 {
			continue
		}
		if names[round] == 0 {
			last++
			names[round] = last
		}
		m.row[n] = names[round]
	}
	for r := range m.count {
		if slices.Equal(m.next[r*width:(r+1)*width], m.row) {
			return
		}
	}
	m.next = append(m.next, m.row...)
	m.count++
}

// leave removes a passage whose Unlock has returned, and the divisions in which another process of
// its round is still inside. If none would be left it returns such a process, and changes nothing.
func (m *earlyPassMonitor) leave(q *queue, n int) (other int32) {
	rows := m.rows()
	m.next, m.count = m.next[:0], 0
	for r := range rows {
		row := m.at(r)
		remains := int32(0)
		for o := range m.passages {
			p := &m.passages[o]
			if o != n && row[o] == row[n] && row[n] != 0 && p.remains(q) {
				remains = p.process
			}
		}
		if remains != 0 {
			other = remains
			continue
		}
		m.row = append(append(m.row[:0], row[:n]...), row[n+1:]...)
		m.keep()
	}
	if m.count == 0 {
		m.count = rows
		return other
	}
	m.passages = slices.Delete(m.passages, n, n+1)
	m.divisions, m.next = m.next, m.divisions
	return 0
}

// remains reports whether others must wait for the process.
func (p *passage) remains(q *queue) bool {
	if p.leaving || p.absent {
		return false
	}
	return p.inside || !orphaned(q, p.process)
}

// crash records that a process has crashed: its calls last until its session ends.
func (m *earlyPassMonitor) crash(process int32) {
	for n := range m.passages {
		if m.passages[n].process == process {
			m.passages[n].crashed = true
		}
	}
}

// endSession excuses a process of whose threads the session has ended.
func (m *earlyPassMonitor) endSession(process int32) {
	first, _ := history.ProcessOf(process)
	for n := len(m.passages) - 1; n >= 0; n-- {
		p := &m.passages[n]
		if one, _ := history.ProcessOf(p.process); one != first {
			continue
		}
		p.absent = true
		if p.crashed {
			m.end(n)
		}
	}
}

// passes counts the grants.
func passes(events []history.Event) (n int) {
	for i := range events {
		if events[i].Kind == history.LockReturn && events[i].Err == "" {
			n++
		}
	}
	return n
}
