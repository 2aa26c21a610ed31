package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
)

const reasonMargin = "a holder learned of its loss later before its session's end than promised"

// marginEvents holds the kinds of events that a margin depends on. Ticks keep the time.
const marginEvents = 1<<history.LockReturn | 1<<history.UnlockCall | 1<<history.Lost |
	1<<history.Crashed | 1<<history.SessionOpened | 1<<history.SessionExpired | 1<<history.Tick

// LossMargin decides [history.Margin] for a lock that promises the given margin: between the moment
// a holder is told of its loss and the end of the session by which it held the lock, that time
// passes.
//
// An event of the property is the second of both. A holder that is never told believes until it
// unlocks or crashes: a call of Unlock after the session's end has a negative margin. A holder that
// is told when it is granted the lock has never relied on it. The margin is the measurement
// loss-to-end of [MeasureMargins].
//
// Unlike [ClientMutualExclusion] the property does not depend on what other processes do: it shows
// how little time was left although nobody else was granted the lock.
//
// Source: A. Donzé and O. Maler, Robust Satisfaction of Temporal Logic over Real-Valued Signals,
// FORMATS 2010.
//
// The check takes time linear in the events, times the number of processes.
func LossMargin(events []history.Event, promised time.Duration) *history.Violation {
	limits := &history.Limits{Margin: promised}
	return decide(history.Margin, &marginMonitor{limits: limits}, events)
}

// A marginHold is the last hold of a process, as far as the process knows.
type marginHold struct {
	process int32
	current int64         // the session that it opened last
	over    bool          // that has ended
	end     time.Duration // when that was
	endedBy int           // the event of that, for the evidence alone
	session int64         // by which it holds the lock
	holds   bool          // it has not been told of a loss
	since   time.Duration // when it was granted the lock
	lost    bool          // it was told, and its session has not ended
	ended   bool          // its session has
	at      time.Duration // when it was told, or when its session ended
	event   int           // the event of that, for the evidence alone
}

type marginMonitor struct {
	limits *history.Limits
	now    time.Duration // of the last observed event
	holds  []marginHold
}

func (m *marginMonitor) reset() { m.now, m.holds = 0, m.holds[:0] }

func (m *marginMonitor) copy(from monitor) {
	other := from.(*marginMonitor)
	m.now, m.holds = other.now, append(m.holds[:0], other.holds...)
}

func (m *marginMonitor) finish([]history.Event) *history.Violation { return nil }

// state folds in how long ago each process was told, until that is long enough, or its session
// ended.
func (m *marginMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.holds {
		h := &m.holds[i]
		since := time.Duration(0)
		if h.lost || h.ended {
			since = m.now - h.at
		}
		if !h.holds && (!h.lost || since >= m.limits.Margin) && !h.over {
			continue
		}
		flags := bit(h.holds, 0) | bit(h.lost, 1) | bit(h.ended, 2) | bit(h.over, 3) |
			bit(h.since == m.now, 4)
		if h.over {
			flags |= uint64(m.now-h.end) << 5
		}
		sum += fold(fold(fold(uint64(h.process), uint64(h.session)), flags), uint64(since))
	}
	s.fold(sum, 0)
}

// freedom: each event begins or ends a margin.
func (m *marginMonitor) freedom(*queue, *history.Event) freedom { return fixed }

func (m *marginMonitor) of(e *history.Event) *marginHold {
	process, _ := history.ProcessOf(e.Process)
	i := slices.IndexFunc(m.holds, func(h marginHold) bool { return h.process == process })
	if i < 0 {
		i = len(m.holds)
		m.holds = append(m.holds, marginHold{process: process})
	}
	return &m.holds[i]
}

func (m *marginMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	m.now = e.At
	if e.Kind == history.Tick {
		return nil
	}
	h := m.of(e)
	switch e.Kind {
	case history.SessionOpened:
		h.current, h.over = e.Session, false
	case history.LockReturn:
		if e.Err == "" {
			h.session, h.holds, h.since, h.lost = h.current, true, e.At, false
			h.ended, h.at, h.event = h.over, h.end, h.endedBy
		}
	case history.SessionExpired:
		return m.expired(h, log, i)
	case history.Lost, history.UnlockCall:
		at := e.At - e.Ago
		if e.Kind == history.Lost && at <= h.since {
			h.holds = false
			return nil
		}
		if h.holds && h.ended {
			h.holds = false
			return m.judge(h, h.at-at, []int{h.event}, log, i)
		}
		if h.holds && e.Kind == history.Lost {
			h.lost, h.at, h.event = true, at, i
		}
		h.holds = false
	case history.Crashed:
		h.holds, h.lost = false, false
	}
	return nil
}

// expired notes the end of a session, which event i says.
func (m *marginMonitor) expired(h *marginHold, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if h.current == e.Session {
		h.over, h.end, h.endedBy = true, e.At, i
	}
	if h.session != e.Session {
		return nil
	}
	if h.lost {
		h.lost = false
		return m.judge(h, e.At-h.at, []int{h.event}, log, i)
	}
	if h.holds {
		h.ended, h.at, h.event = true, e.At, i
	}
	return nil
}

// lossesToEnd counts the margins of a history.
func lossesToEnd(events []history.Event) int {
	margins := MeasureMargins(events)
	return margins[LossToEnd].Times
}

// judge returns a violation if the margin, which event i completes, is smaller than promised.
func (m *marginMonitor) judge(h *marginHold, margin time.Duration, earlier []int,
	log []history.Event, i int,
) *history.Violation {
	if margin >= m.limits.Margin {
		return nil
	}
	detail := fmt.Sprintf("c%d was told of its loss %s before its session ended, promised is %s",
		h.process, history.FormatSpan(margin), history.FormatSpan(m.limits.Margin))
	switch {
	case log[i].Kind == history.UnlockCall:
		detail = fmt.Sprintf("c%d was told of no loss until it unlocked, %s after its session had "+
			"ended", h.process, history.FormatSpan(-margin))
	case margin < 0:
		detail = fmt.Sprintf("c%d was told of its loss %s after its session had ended", h.process,
			history.FormatSpan(-margin))
	}
	return &history.Violation{
		Property: history.Margin, Event: i, Reason: reasonMargin, Detail: detail,
		Evidence: history.Evidence{
			Process: h.process, Events: earlier, Limit: int64(m.limits.Margin),
		},
	}
}
