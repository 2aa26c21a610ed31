package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonLockStuck    = "a process waits for the lock for ever"
	reasonUnlockStuck  = "a process waits for its unlock for ever"
	reasonUnlockFailed = "Unlock failed without a fault and without a loss"
	reasonNotFreed     = "Unlock succeeded, but did not free the lock"
)

// A pendingCall is a call that has not returned.
type pendingCall struct {
	kind    history.Kind // LockCall or UnlockCall
	shared  bool
	process int32
	attempt int32
	index   int
}

// Progress decides [history.Progress]: once no more faults strike and the schedule is fair, every
// call of Lock and Unlock returns, and Unlock without an error if nothing explains one.
//
// An event of the property is a LockCall or an UnlockCall of a process that does not crash. If the
// history has a FairPhase event, the call has returned by the end of the history. A violation names
// the oldest open call. If the lock claims [history.NoEarlyPass], a LockCall counts only if as many
// of them are open as the barrier needs, and a shared one only if no process has crashed: it may
// have left the barrier set. A LockCall of a process on a slow link does not count. An UnlockReturn
// with an error breaks the property, also without a FairPhase event, if nothing has happened that
// the process can take for a loss: see [undisturbed].
//
// An UnlockReturn without an error breaks the property if a key of the process expires later, and
// the unlock has left it: no command has written the key since the call of Unlock, and none of
// another process since it was set. If a fault strikes, or the process sends a command or calls
// Lock again, nothing is judged: see [unreleased]. The violation's event is the UnlockReturn. A
// lock that claims [history.NoEarlyPass] need not free keys.
//
// The property does not cover calls in a history without a FairPhase event, nor the result of Lock;
// see [NoSpuriousFailure]. The history must have been run until no event was possible: in a history
// that was cut short an open call is no violation of the lock.
//
// The check takes time linear in the events, times the number of calls that are open at once.
func Progress(events []history.Event) *history.Violation {
	return decide(history.Progress, &progressMonitor{config: new(monitorConfig)}, events)
}

type progressMonitor struct {
	config  *monitorConfig
	calls   []pendingCall // the oldest first
	fair    bool          // the FairPhase event has occurred
	crashed []int32
	slow    slowProcesses
	holds   undisturbed
}

func (m *progressMonitor) reset() {
	m.calls, m.fair, m.crashed, m.slow = m.calls[:0], false, m.crashed[:0], m.slow[:0]
	m.holds.reset()
}

func (m *progressMonitor) copy(from monitor) {
	other := from.(*progressMonitor)
	m.calls, m.fair, m.crashed = append(m.calls[:0], other.calls...), other.fair,
		append(m.crashed[:0], other.crashed...)
	m.slow = append(m.slow[:0], other.slow...)
	m.holds.copy(&other.holds)
}

// state does not fold in the order of the calls, which only decides which call a violation names.
func (m *progressMonitor) state(_ *queue, s *State) {
	open := uint64(0)
	for i := range m.calls {
		c := &m.calls[i]
		if !slices.Contains(m.crashed, c.process) {
			open += scatter(uint64(uint32(c.process))<<32 | uint64(uint32(c.attempt))<<8 |
				uint64(c.kind)) // which call is shared depends on these three
		}
	}
	s.fold(open+m.slow.key(), bit(m.fair, 0)|bit(m.config.barrier && len(m.crashed) > 0, 1))
	m.holds.state(s)
}

// freedom: the end decides, and the order in which calls return does not matter, unless Unlock
// fails: an earlier event of another process since the attempt opened may explain that. Keys tell
// when it matters what Unlock does.
func (m *progressMonitor) freedom(_ *queue, e *history.Event) freedom {
	failed := e.Kind == history.UnlockReturn && e.Err != ""
	return free(!failed && !m.holds.opens(e) && !m.holds.keys.matter(e), anywhere)
}

func (m *progressMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if e.Kind == history.UnlockReturn && e.Err != "" && m.holds.has(e.Process) {
		return &history.Violation{
			Property: history.Progress, Event: i, Reason: reasonUnlockFailed,
			Detail: fmt.Sprintf("Unlock returned %[2]q to c%[1]d in attempt %[3]d", e.Process,
				e.Err, e.Attempt),
			Evidence: history.Evidence{Process: e.Process},
		}
	}
	if k := m.holds.keys.expires(e); k != nil && !m.config.barrier {
		return &history.Violation{
			Property: history.Progress, Event: k.index, Reason: reasonNotFreed,
			Detail: fmt.Sprintf("c%d's Unlock returned without an error, and its key %q was free "+
				"only when it expired", k.process, k.path),
			Evidence: history.Evidence{Process: k.process, Path: k.path, Events: []int{i}},
		}
	}
	m.holds.observe(e, i)
	m.slow.observe(e)
	switch e.Kind {
	case history.LockCall, history.UnlockCall:
		m.calls = append(m.calls, pendingCall{e.Kind, e.Shared(), e.Process, e.Attempt, i})
	case history.LockReturn:
		m.calls = withoutCall(m.calls, history.LockCall, e)
	case history.UnlockReturn:
		m.calls = withoutCall(m.calls, history.UnlockCall, e)
	case history.FairPhase:
		m.fair = true
	case history.Crashed:
		m.crashed = append(m.crashed, e.Process)
	}
	return nil
}

func (m *progressMonitor) finish([]history.Event) *history.Violation {
	if !m.fair {
		return nil
	}
	alone := m.config.barrier && m.waiting() < m.config.limits.EffectivePlaces()
	for _, c := range m.calls {
		if slices.Contains(m.crashed, c.process) ||
			c.kind == history.LockCall && (alone || m.slow.has(c.process)) ||
			m.config.barrier && c.shared && len(m.crashed) > 0 {
			continue
		}
		reason, call := reasonLockStuck, "Lock"
		if c.kind == history.UnlockCall {
			reason, call = reasonUnlockStuck, "Unlock"
		}
		return &history.Violation{
			Property: history.Progress, Event: c.index, Reason: reason,
			Detail: fmt.Sprintf("c%d's %s of attempt %d never returned", c.process, call,
				c.attempt),
			Evidence: history.Evidence{Process: c.process},
		}
	}
	return nil
}

// waiting returns the number of open LockCalls of live processes that are not on a slow link.
func (m *progressMonitor) waiting() (n int) {
	for _, c := range m.calls {
		if c.kind == history.LockCall && !slices.Contains(m.crashed, c.process) &&
			!m.slow.has(c.process) {
			n++
		}
	}
	return n
}

// withoutCall removes the call that e answers, and keeps the order of the others.
func withoutCall(calls []pendingCall, kind history.Kind, e *history.Event) []pendingCall {
	for c := range calls {
		if calls[c].kind == kind && calls[c].process == e.Process && calls[c].attempt == e.Attempt {
			return append(calls[:c], calls[c+1:]...)
		}
	}
	return calls
}
