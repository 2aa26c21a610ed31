package check

import (
	"time"

	"github.com/interlock-sim/interlock/history"
)

// A Margin says how close runs have come to breaking a property that depends on time: the
// robustness of the property, as far as times decide it (Donzé and Maler, "Robust Satisfaction of
// Temporal Logic over Real-Valued Signals", FORMATS 2010).
type Margin struct {
	Times    int           `json:"times"`       // how often it was measured
	Smallest time.Duration `json:"smallest_ns"` // 0 if it was never measured
	Schedule int           `json:"schedule"`    // the first with the smallest margin
}

// Margins are the margins of runs, by the index of a row of [MarginNames]. The zero value is that
// of no run.
type Margins [marginKinds]Margin

// The indexes of [Margins].
const (
	LossToEnd = iota
	ProofToEnd
	TokenToRefusal
	LossToGrant
	marginKinds
)

// MarginNames are the names of the margins, in the order of [Margins].
var MarginNames = [marginKinds]string{
	LossToEnd:      "loss-to-end",
	ProofToEnd:     "proof-to-end",
	TokenToRefusal: "token-to-refusal",
	LossToGrant:    "loss-to-grant",
}

// MarginStatements say what each margin is, in the order of [Margins].
var MarginStatements = [marginKinds]string{
	LossToEnd:      "from a holder's loss of the lock to its session's end",
	ProofToEnd:     "from a session's last proof of life to its end",
	TokenToRefusal: "from a newer holder's token to the refusal of an older one",
	LossToGrant:    "from a loss inside to the grant after the session's end",
}

// ByName returns the margins that were measured, by name.
func (m *Margins) ByName() map[string]Margin {
	named := make(map[string]Margin)
	for i := range m {
		if m[i].Times > 0 {
			named[MarginNames[i]] = m[i]
		}
	}
	return named
}

// note counts a measurement.
func (m *Margin) note(d time.Duration) {
	if m.Times == 0 || d < m.Smallest {
		m.Smallest = d
	}
	m.Times++
}

// Merge adds the margins of later runs.
func (m *Margins) Merge(later *Margins) {
	for i := range m {
		if l := &later[i]; l.Times > 0 {
			if m[i].Times == 0 || l.Smallest < m[i].Smallest {
				m[i].Smallest, m[i].Schedule = l.Smallest, l.Schedule
			}
			m[i].Times += l.Times
		}
	}
}

// sendsMax is how many requests of a process may be under way for a margin to be exact.
const sendsMax = 8

// A processMargin is what [MeasureMargins] knows of a process.
type processMargin struct {
	process int32

	session      int64                 // the last that it opened
	sessionEnded bool                  // that has expired
	sessionEnd   time.Duration         // when that was
	answered     answeredTimes         // of that session
	sent         [sendsMax]sentRequest // by number

	holds       bool          // it has the lock, as far as it knows
	since       time.Duration // when it was granted the lock last
	shares      bool          // in shared mode
	inside      bool          // its critical section
	lost        bool          // its hold was lost, and it was not granted the lock since
	lostAt      time.Duration // when that was
	lostInside  bool          // it was inside then
	holdSession int64         // by which it was granted the lock last
	ended       bool          // that has expired
	end         time.Duration // when that was
	granted     bool          // since then, to another process
	grant       time.Duration // when that was
}

// The answeredTimes are when requests of a session that have succeeded were sent; before the first
// one, noTime.
type answeredTimes struct {
	asked time.Duration // the last write or sync
	proof time.Duration // the first request of the last pair; see [MeasureMargins]
}

const noTime time.Duration = -1

// A sentRequest is when a request was sent, and what had been answered by then.
type sentRequest struct {
	at     time.Duration
	before answeredTimes
}

// MeasureMargins returns the margins of a history:
//
//   - loss-to-end: for each session that expires after or while its client holds the lock, the time
//     since the holder was told of its loss; negative if it was told later, or unlocked later
//     without being told. With it other processes can be granted the lock, so that it is what
//     [history.ClientMutualExclusion] has to spare. A holder that is told when it is granted the
//     lock has never relied on it, and does not count.
//   - loss-to-grant: for each loss in a critical section, the same up to the first grant to another
//     process after that end, unless both processes share the lock.
//   - proof-to-end: for each session that expires, the time since its client sent the first request
//     of the last pair, if there is one. A pair is a write or a sync, and a write that was sent
//     after its reply, and both have succeeded. A lease that counts from there must be shorter;
//     docs/internals/lease.md says why a single write proves less.
//   - token-to-refusal: for each write that the resource refuses, the time since another process
//     last used the resource. It is what [history.Fencing] has to spare.
//
// It takes time linear in the events, times the number of processes.
func MeasureMargins(events []history.Event) (margins Margins) {
	var space [4]processMargin
	m := marginMeter{margins: &margins, processes: space[:0]}
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.Lost, history.LockReturn, history.UnlockCall, history.Crashed,
			history.Enter, history.Leave:
			m.hold(e)
		case history.Send, history.Reply, history.SessionOpened, history.SessionExpired:
			m.session(e)
		case history.ResourceRead, history.ResourceWrite:
			m.resource(e)
		}
	}
	return margins
}

// A marginMeter is the state of [MeasureMargins].
type marginMeter struct {
	margins   *Margins
	processes []processMargin
	user      int32 // that used the resource last, accepted
	used      time.Duration
}

// of returns what is known of a process, or of the process of a thread. It is valid until the next
// call.
func (m *marginMeter) of(e *history.Event) *processMargin {
	process, _ := history.ProcessOf(e.Process)
	for i := range m.processes {
		if m.processes[i].process == process {
			return &m.processes[i]
		}
	}
	m.processes = append(m.processes, processMargin{process: process})
	return &m.processes[len(m.processes)-1]
}

func (m *marginMeter) hold(e *history.Event) {
	p := m.of(e)
	switch e.Kind {
	case history.Enter, history.Leave:
		p.inside = e.Kind == history.Enter
		return
	case history.LockReturn:
		if e.Err == "" {
			p.holds, p.lost, p.shares, p.lostInside = true, false, e.Shared(), false
			p.holdSession, p.since, p.granted = p.session, e.At, false
			p.ended, p.end = p.sessionEnded, p.sessionEnd
			m.grant(p, e.At)
		}
		return
	case history.UnlockCall: // A holder that is never told believes until it unlocks.
		if p.holds && p.ended {
			m.margins[LossToEnd].note(p.end - e.At)
		}
	case history.Lost:
		if e.At-e.Ago <= p.since {
			break
		}
		p.lost, p.lostAt, p.lostInside = true, e.At-e.Ago, p.inside
		if p.holds && p.ended {
			m.margins[LossToEnd].note(p.end - p.lostAt)
			if p.granted && p.inside {
				m.margins[LossToGrant].note(p.grant - p.lostAt)
			}
		}
	}
	p.holds = false
}

// grant notes that a process was granted the lock, for those whose sessions have ended.
func (m *marginMeter) grant(to *processMargin, at time.Duration) {
	for i := range m.processes {
		p := &m.processes[i]
		held := p.holds || p.lost
		if p == to || !held || !p.ended || p.granted || p.shares && to.shares {
			continue
		}
		p.granted, p.grant = true, at
		if p.lostInside {
			m.margins[LossToGrant].note(at - p.lostAt)
		}
	}
}

func (m *marginMeter) session(e *history.Event) {
	p := m.of(e)
	switch e.Kind {
	case history.SessionOpened:
		p.session, p.sessionEnded = e.Session, false
		p.answered = answeredTimes{noTime, noTime}
		for i := range p.sent {
			p.sent[i].before = p.answered
		}
	case history.SessionExpired:
		if p.session == e.Session {
			if p.sessionEnded, p.sessionEnd = true, e.At; p.answered.proof != noTime {
				m.margins[ProofToEnd].note(e.At - p.answered.proof)
			}
		}
		if p.holdSession == e.Session {
			if p.ended, p.end = true, e.At; p.lost {
				m.margins[LossToEnd].note(e.At - p.lostAt)
			}
		}
	case history.Send:
		p.sent[e.Request%sendsMax] = sentRequest{e.At, p.answered}
	case history.Reply:
		if e.Err == "" {
			p.answered.note(e.Op, &p.sent[e.Request%sendsMax])
		}
	}
}

// note notes that a request of this kind has succeeded.
func (a *answeredTimes) note(op string, r *sentRequest) {
	switch {
	case writes(op):
		a.asked, a.proof = max(a.asked, r.at), max(a.proof, r.before.asked)
	case op == "sync":
		a.asked = max(a.asked, r.at)
	}
}

// writes reports whether the leader logs a request.
func writes(op string) bool {
	return op == "create" || op == "delete" || op == "set" || op == "multi"
}

func (m *marginMeter) resource(e *history.Event) {
	switch {
	case e.Err == "":
		m.user, m.used = e.Process, e.At
	case e.Kind == history.ResourceWrite && m.user != 0 && m.user != e.Process:
		m.margins[TokenToRefusal].note(e.At - m.used)
	}
}
