package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
)

const (
	reasonLateReturn = "a cancelled call of Lock did not return in time"
	reasonOverrun    = "a call went on after its time limit"
	reasonLateCreate = "a process asked for a node after its attempt had ended"
)

// createOp is the operation of a Send that creates a node.
const createOp = "create"

// Promptness decides [history.Promptness]: an attempt that is cancelled or fails ends soon, and
// creates no further node; a call with a time limit ends when that is over.
//
// An attempt ends when a Fault named "cancel" strikes its process, or when Lock returns an error.
// An event of the property is one of these:
//   - a Send of a create by a process whose attempt has ended, before its next LockCall. This
//     attempt, or one before, must have sent a create of a path below it before it ended, or of the
//     path itself unless Limits.NoLateRetries is set: what an earlier attempt leaves to do may
//     overlap with the next one;
//   - an event more than [history.PromptReturn] after the cancel of an attempt, and after the last
//     Reply to its process, if no request is unanswered and no other fault has struck before. The
//     LockReturn of the attempt must have come;
//   - an event after the time limit of a TimedCall, if no fault other than a cancel has struck
//     before. The TimedReturn must have come, unless the process has spent at most the Overrun of
//     [history.Limits] since the limit without an unanswered request.
//
// The property does not cover the creates of an attempt that ends while its client has no session:
// the client may send later what the attempt had asked for before. Neither does it cover an attempt
// whose goroutine creates nodes only during the process's next attempt.
//
// The check takes time linear in the events, times the number of processes and of the paths that an
// attempt creates.
func Promptness(events []history.Event, limits history.Limits) *history.Violation {
	return decide(history.Promptness, &promptnessMonitor{limits: &limits}, events)
}

// An asker is a process with an attempt that has not been granted the lock.
type asker struct {
	process int32
	attempt int32
	away    bool // its client has reported that it has no session
	open    bool // Lock has been called, and has not returned
	// of a cancelled attempt: the time of the cancel, or of a later reply
	since      time.Duration
	unanswered int32    // the requests of the process without a reply
	ended      int      // the index of the event that ended the attempt, or 0
	judged     bool     // the client had a session then
	asked      []string // the paths of the creates of this attempt and of those before
	timed      timedCall
}

// A timedCall is the call with a time limit that a process is making.
type timedCall struct {
	open  bool
	until time.Duration // when its time limit is over
	from  int           // the index of the TimedCall
	// since then, without an unanswered request, until the last time that there was one
	overrun time.Duration
}

type promptnessMonitor struct {
	limits    *history.Limits
	askers    []asker // at most one for each process
	disturbed bool    // a fault other than a cancel has struck
	now       time.Duration
}

func (m *promptnessMonitor) reset() { m.askers, m.disturbed, m.now = m.askers[:0], false, 0 }

func (m *promptnessMonitor) copy(from monitor) {
	other := from.(*promptnessMonitor)
	m.reset()
	m.disturbed, m.now = other.disturbed, other.now
	for i := range other.askers {
		a := m.of(other.askers[i].process)
		asked := append(a.asked, other.askers[i].asked...)
		*a = other.askers[i]
		a.asked = asked
	}
}

// of returns the asker of a process, and reuses the memory of a removed one.
func (m *promptnessMonitor) of(process int32) *asker {
	for i := range m.askers {
		if m.askers[i].process == process {
			return &m.askers[i]
		}
	}
	n := len(m.askers)
	m.askers = slices.Grow(m.askers, 1)[:n+1]
	a := &m.askers[n]
	*a = asker{process: process, asked: a.asked[:0]}
	return a
}

func (m *promptnessMonitor) finish([]history.Event) *history.Violation { return nil }

// state folds in no index, which only decides what a violation names, and times since and until
// now: when a run came to a state makes no difference.
func (m *promptnessMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.askers {
		a := &m.askers[i]
		if s.ended(a.process) && !a.waits() && !a.timed.open {
			continue
		}
		one := fold(uint64(uint32(a.process))<<32|uint64(uint32(a.unanswered)),
			bit(a.away, 0)|bit(a.open, 1)|bit(a.ended > 0, 2)|bit(a.judged, 3)|
				bit(a.timed.open, 4))
		if a.waits() {
			one = fold(one, uint64(m.now-a.since))
		}
		if a.timed.open {
			one = fold(fold(one, uint64(m.now-max(a.since, a.timed.until))),
				uint64(a.timed.overrun))
		}
		for _, path := range a.asked {
			one = fold(one, s.text(path))
		}
		sum += one
	}
	s.fold(sum, bit(m.disturbed, 0))
}

// waits reports whether a cancelled Lock has not returned.
func (a *asker) waits() bool { return a.open && a.ended > 0 }

// freedom: a return moved before the time passes would hide that it was late. Everything else
// depends on events of the process itself, and a fault excuses only what comes after it.
func (m *promptnessMonitor) freedom(_ *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.LockReturn:
		return free(!m.of(e.Process).waits(), anywhere)
	case history.LockCall, history.TimedCall, history.Send, history.Reply, history.SessionState,
		history.Fault, history.Crashed:
		return anywhere
	}
	return fixed
}

func (m *promptnessMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	m.now = e.At
	if v := m.late(e, i); v != nil {
		return v
	}
	switch e.Kind {
	case history.Tick:
	case history.SessionState:
		m.of(e.Process).away = e.Name != "has-session"
	case history.LockCall:
		a := m.of(e.Process)
		a.attempt, a.open, a.ended = e.Attempt, true, 0
	case history.LockReturn:
		m.of(e.Process).returned(e, i)
	case history.TimedCall:
		a := m.of(e.Process)
		a.timed = timedCall{open: true, until: e.At + e.Validity, from: i}
	case history.TimedReturn:
		m.of(e.Process).timed.open = false
	case history.Crashed:
		a := m.of(e.Process)
		a.open, a.timed.open = false, false
	case history.Fault:
		if e.Name != cancelName {
			m.disturbed = true
		} else if a := m.of(e.Process); a.open && a.ended == 0 {
			a.end(i)
			a.since = e.At
		}
	case history.Reply:
		a := m.of(e.Process)
		a.unanswered--
		a.since = e.At
	case history.Send:
		a := m.of(e.Process)
		a.timed.overrun = a.overrun(e.At)
		a.unanswered++
		if e.Op == createOp {
			return a.create(e, i, !m.limits.NoLateRetries)
		}
	}
	return nil
}

// overrun returns how long the process has spent, after the time limit of its call and until the
// given time, without an unanswered request.
func (a *asker) overrun(now time.Duration) time.Duration {
	if !a.timed.open || a.unanswered > 0 {
		return a.timed.overrun
	}
	return a.timed.overrun + max(0, now-max(a.since, a.timed.until))
}

// late returns a violation if a cancelled Lock, or a call with a time limit, should have returned
// before an event.
func (m *promptnessMonitor) late(e *history.Event, i int) *history.Violation {
	if m.disturbed {
		return nil
	}
	for n := range m.askers {
		a := &m.askers[n]
		if overrun := a.overrun(e.At); a.timed.open && overrun > m.limits.Overrun {
			return &history.Violation{
				Property: history.Promptness, Event: i, Reason: reasonOverrun,
				Detail: fmt.Sprintf("c%d's call of attempt %d had waited for something other than "+
					"a reply for %s since its time limit", a.process, a.attempt,
					history.FormatSpan(overrun)),
				Evidence: history.Evidence{Process: a.process, Events: []int{a.timed.from}},
			}
		}
		if a.waits() && a.unanswered <= 0 &&
			e.At-a.since > history.PromptReturn {
			return &history.Violation{
				Property: history.Promptness, Event: i, Reason: reasonLateReturn,
				Detail: fmt.Sprintf("c%d's Lock of attempt %d had no request to wait for since "+
					"%.3fs", a.process, a.attempt, a.since.Seconds()),
				Evidence: history.Evidence{Process: a.process, Events: []int{a.ended}},
			}
		}
	}
	return nil
}

func (a *asker) end(i int) { a.ended, a.judged = i, !a.away }

func (a *asker) returned(e *history.Event, i int) {
	switch {
	case e.Err == "":
		a.ended = 0
	case a.ended == 0:
		a.end(i)
	}
	a.open = false
}

// create records the create of an attempt, or returns a violation if the attempt has ended. Whether
// it may then repeat its creates depends on the lock.
func (a *asker) create(e *history.Event, i int, repeats bool) *history.Violation {
	switch {
	case a.ended == 0 && a.open:
		if !slices.Contains(a.asked, e.Path) {
			a.asked = append(a.asked, e.Path)
		}
		return nil
	case a.ended == 0, !a.judged, slices.ContainsFunc(a.asked, func(path string) bool {
		return repeats && path == e.Path || strings.HasPrefix(path, e.Path+"/")
	}):
		return nil
	}
	return &history.Violation{
		Property: history.Promptness, Event: i, Reason: reasonLateCreate,
		Detail: fmt.Sprintf("c%d sent a create of %s after attempt %d had ended", a.process,
			e.Path, a.attempt),
		Evidence: history.Evidence{Process: a.process, Path: e.Path, Events: []int{a.ended}},
	}
}

// attemptsEnded counts the attempts that are cancelled or fail while Lock is called, and the calls
// that fail once their time limit is over.
func attemptsEnded(events []history.Event) (n int) {
	m := promptnessMonitor{limits: &unboundedOverrun}
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == history.LockReturn && e.Err != "":
			n++
		case e.Kind == history.TimedReturn && e.Err != "" && e.At >= m.of(e.Process).timed.until:
			n++
		case e.Kind == history.LockReturn && m.of(e.Process).waits():
			n++
		}
		if promptnessKinds>>e.Kind&1 != 0 {
			m.observe(nil, events, i)
		}
	}
	return n
}

// unboundedOverrun are limits for a monitor that only counts.
var unboundedOverrun = history.Limits{Overrun: math.MaxInt64}

const promptnessKinds = 1<<history.LockCall | 1<<history.LockReturn | 1<<history.Fault |
	1<<history.Send | 1<<history.Reply | 1<<history.SessionState | 1<<history.Crashed |
	1<<history.Tick | 1<<history.TimedCall | 1<<history.TimedReturn
