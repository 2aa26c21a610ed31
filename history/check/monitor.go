package check

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
)

// A monitor decides one property event by event. Its fields are the property's state after the
// events observed so far, by which a search distinguishes states.
//
// Source: K. Havelund and G. Roşu, Synthesizing Monitors for Safety Properties, TACAS 2002.
type monitor interface {
	// reset makes the monitor that of an empty history.
	reset()
	// observe processes event i of the log and returns how it breaks the property, or nil. The
	// queue is that of the events before i. Earlier events of the log may supply the text of a
	// violation, but only the monitor's fields decide whether there is one.
	observe(q *queue, log []history.Event, i int) *history.Violation
	// finish returns how the end of the history breaks the property, or nil.
	finish(q *queue, log []history.Event) *history.Violation
	// visible reports whether a partial-order reduction must keep an event of a process in its
	// place: moved before concurrent events of other processes and the ensemble, it could hide a
	// violation. An event is invisible if it commutes with those events, or if moving it keeps all
	// violations. The queue is that of the events before, and the monitor has not observed the
	// event.
	visible(q *queue, e *history.Event) bool
	// state folds in the fields that decide, together with the queue, how later events can break
	// the property.
	state(q *queue, s *State)
	// copy makes the monitor a copy of another of the same type.
	copy(from monitor)
}

// stateless implements part of a monitor without state.
type stateless struct{}

func (stateless) reset()                                            {}
func (stateless) copy(monitor)                                      {}
func (stateless) finish(*queue, []history.Event) *history.Violation { return nil }
func (stateless) state(*queue, *State)                              {}

// A monitorConfig holds the parameters of the lock on which some properties depend.
type monitorConfig struct {
	limits       history.Limits
	exclusive    bool // the lock claims [history.ServerMutualExclusion]
	linearizable bool // the lock claims [history.Linearizable]
	barrier      bool // the lock claims [history.NoEarlyPass]
}

// solitary reports whether the lock has one place.
func (c *monitorConfig) solitary() bool { return c.limits.Places <= 1 }

func newMonitorConfig(claims []history.Property, limits history.Limits) monitorConfig {
	return monitorConfig{
		limits, slices.Contains(claims, history.ServerMutualExclusion),
		slices.Contains(claims, history.Linearizable),
		slices.Contains(claims, history.NoEarlyPass),
	}
}

// A verdict is the result for one property in a pass over a history.
type verdict struct {
	property  *property
	monitor   monitor // of the property, in its initial state
	decided   bool    // violation is final
	violation *history.Violation
}

// decide returns how a history breaks a property, or nil. The monitor must be that of the property,
// in its initial state.
func decide(name history.Property, m monitor, log []history.Event) *history.Violation {
	pass := []verdict{{property: find(name), monitor: m}}
	new(queue).decide(pass, log)
	return pass[0].violation
}

// decide completes the verdicts in one pass over the history. It resets the queue and uses its
// memory.
func (q *queue) decide(pass []verdict, log []history.Event) {
	q.reset()
	for i := range log {
		kind := uint64(1) << log[i].Kind
		for n := range pass {
			if v := &pass[n]; v.property.kinds&kind != 0 && !v.decided {
				v.violation = v.monitor.observe(q, log, i)
				v.decided = v.violation != nil
			}
		}
		if queueKinds&kind != 0 {
			q.observe(&log[i], i)
		}
	}
	for n := range pass {
		if v := &pass[n]; !v.decided {
			v.violation = v.monitor.finish(q, log)
		}
	}
}

// A State accumulates a 64-bit hash of the states of monitors.
type State struct {
	key      uint64
	hasEnded func(process int32) bool
	// bit masks of the processes below 64 of which hasEnded was asked, and of those that have ended
	asked, over uint64
	texts       *textHashes
}

// ended reports whether a process will never act again. Its share of a monitor's state then makes
// no difference, where only the process itself could use it.
func (s *State) ended(process int32) bool {
	if s.hasEnded == nil {
		return false
	}
	if uint32(process) >= 64 {
		return s.hasEnded(process)
	}
	one := uint64(1) << process
	if s.asked&one == 0 {
		s.asked |= one
		s.over |= bit(s.hasEnded(process), int(process))
	}
	return s.over&one != 0
}

// textHashes are hashes of strings. A state has the same few paths as the one before.
type textHashes [64]struct {
	text string
	hash uint64
}

// text returns a 64-bit hash of a string.
func (s *State) text(text string) uint64 {
	if text == "" {
		return emptyText
	}
	known := &s.texts[(uint(text[len(text)-1])+uint(len(text))*7)%uint(len(s.texts))]
	if known.text != text {
		known.text, known.hash = text, xxhash.Sum64String(text)
	}
	return known.hash
}

// emptyText is the hash of the empty string.
var emptyText = xxhash.Sum64String("")

// fold folds two numbers into the hash. Their order matters, and so does that of the calls.
func (s *State) fold(a, b uint64) { s.key = fold(fold(s.key, a), b) }

// foldProcesses folds in a set of processes without those that have ended.
func (s *State) foldProcesses(processes []int32) {
	sum := uint64(0)
	for _, p := range processes {
		if !s.ended(p) {
			sum += scatter(uint64(p))
		}
	}
	s.fold(sum, 0)
}

// scatter hashes a number, so that a sum of such hashes represents a set.
func scatter(n uint64) uint64 { return fold(n, 0x632be59bd9b4e019) }

// bit returns 1<<place if the condition holds, and 0 otherwise.
func bit(condition bool, place int) uint64 {
	if condition {
		return 1 << place
	}
	return 0
}

// A Monitor decides several properties at once, event by event, of a history that grows and can be
// truncated to an earlier length. Use [NewMonitor]; the zero value is not usable. A Monitor is not
// safe for concurrent use.
type Monitor struct {
	monitorState
	unmonitored bool               // a claim has no monitor
	properties  []history.Property // of the monitors, in canonical order
	observers   [64][]int          // the monitors that observe events of each kind
	config      monitorConfig
	texts       textHashes
	hashed      State // of the last call of State
}

// A monitorState is the part of a [Monitor] that changes with the events.
type monitorState struct {
	observed   int // the number of events observed
	visible    int // the number of events up to the last visible one
	queue      queue
	monitors   []monitor
	violations []*history.Violation // the first of each monitor, or nil
	past       uint64               // hash of all events observed, if a claim has no monitor
}

// NewMonitor returns a monitor for the claims that can be decided event by event. Each property
// reads those of the limits that its statement names.
func NewMonitor(claims []history.Property, limits history.Limits) *Monitor {
	m := &Monitor{
		config: newMonitorConfig(claims, limits), unmonitored: len(Unmonitored(claims)) > 0,
	}
	for i := range propertyTable {
		m.add(&propertyTable[i], claims)
	}
	m.add(&consistencyProperty, claims)
	m.violations = make([]*history.Violation, len(m.monitors))
	return m
}

// add adds the monitor of a property if there is one and the property is claimed.
func (m *Monitor) add(p *property, claims []history.Property) {
	if p.monitor == nil || !slices.Contains(claims, p.name) {
		return
	}
	m.properties = append(m.properties, p.name)
	for kind := range m.observers {
		if p.kinds>>kind&1 != 0 {
			m.observers[kind] = append(m.observers[kind], len(m.monitors))
		}
	}
	m.monitors = append(m.monitors, p.monitor(&m.config))
}

// Unmonitored returns the claims that have no monitor, because only whole histories decide them. A
// search must not merge states if there is one.
func Unmonitored(claims []history.Property) (unknown []history.Property) {
	for _, claim := range claims {
		if p := find(claim); p == nil || p.monitor == nil {
			unknown = append(unknown, claim)
		}
	}
	return unknown
}

// Observe processes the events of the log that it has not observed yet. It takes time linear in
// their number, times the number of live nodes and processes.
func (m *Monitor) Observe(log []history.Event) {
	for i := m.observed; i < len(log); i++ {
		kind := uint64(1) << log[i].Kind
		if kind&lockKinds != 0 && m.isVisible(&log[i]) {
			m.visible = i + 1
		}
		for _, n := range m.observers[log[i].Kind] {
			if m.violations[n] == nil {
				if v := m.monitors[n].observe(&m.queue, log, i); v != nil {
					nameThreads(v)
					m.violations[n] = v
				}
			}
		}
		if kind&queueKinds != 0 {
			m.queue.observe(&log[i], i)
		}
		if m.unmonitored {
			m.past = fold(fold(m.past, hashWithoutTime(&log[i])), uint64(log[i].At))
		}
	}
	m.observed = len(log)
}

// lockKinds holds the kinds of events between a process and its lock.
const lockKinds = 1<<history.LockCall | 1<<history.LockReturn | 1<<history.Enter |
	1<<history.Leave | 1<<history.Lost | 1<<history.UnlockCall |
	1<<history.UnlockReturn | 1<<history.Finished | 1<<history.ReenterCall |
	1<<history.ReenterReturn | 1<<history.Exited | 1<<history.Extended |
	1<<history.Observed | 1<<history.TimedCall | 1<<history.TimedReturn | resourceKinds

// OfLock reports whether events of the kind pass between a process and its lock.
func OfLock(k history.Kind) bool { return lockKinds>>k&1 != 0 }

// isVisible reports whether the next event is visible to one of the monitors.
func (m *Monitor) isVisible(e *history.Event) bool {
	return slices.ContainsFunc(m.monitors,
		func(one monitor) bool { return one.visible(&m.queue, e) })
}

// VisibleSince reports whether an observed event with at least the given index is visible: if it
// came before concurrent events of other processes and the ensemble, a violation could be lost. A
// partial-order reduction must not move such an event forward.
func (m *Monitor) VisibleSince(event int) bool { return m.visible > event }

// State returns a 64-bit hash of all that decides how later events can break the properties. After
// two histories with equal states the same continuation breaks the same properties, up to a hash
// collision. The function reports whether a process will never act again and never be notified; nil
// means that none has ended.
func (m *Monitor) State(gone func(process int32) bool) uint64 {
	s := &m.hashed
	*s = State{hasEnded: gone, key: m.past, texts: &m.texts}
	m.queue.state(s)
	for n := range m.monitors {
		before := s.key
		m.monitors[n].state(&m.queue, s)
		if s.key != before { // Many monitors have no state.
			s.fold(uint64(n), 0)
		}
	}
	return s.key
}

// Violations returns how the events so far break the properties, at most one violation for each, in
// canonical order. Some properties are decided only by [Monitor.Finish].
func (m *Monitor) Violations() []*history.Violation {
	return slices.DeleteFunc(slices.Clone(m.violations),
		func(v *history.Violation) bool { return v == nil })
}

// Violated reports whether [Monitor.Violations] returns any.
func (m *Monitor) Violated() bool {
	return slices.ContainsFunc(m.violations,
		func(v *history.Violation) bool { return v != nil })
}

// Finish returns how the whole log, which ends with the last observed event, breaks the properties,
// as [Monitor.Violations] does. It does not change the monitor.
func (m *Monitor) Finish(log []history.Event) (found []*history.Violation) {
	for n, v := range m.violations {
		if v == nil {
			v = m.monitors[n].finish(&m.queue, log)
		}
		if v != nil {
			nameThreads(v)
			found = append(found, v)
		}
	}
	return found
}

// Reset makes the monitor that of an empty history.
func (m *Monitor) Reset() {
	m.observed, m.visible, m.past = 0, 0, 0
	m.queue.reset()
	for n := range m.monitors {
		m.monitors[n].reset()
	}
	clear(m.violations)
}

// Copy makes the monitor a copy of another, which must have the same claims and limits. It reuses
// the memory of the monitor.
func (m *Monitor) Copy(from *Monitor) {
	m.observed, m.visible, m.past = from.observed, from.visible, from.past
	m.queue.copy(&from.queue)
	for n := range m.monitors {
		m.monitors[n].copy(from.monitors[n])
	}
	copy(m.violations, from.violations)
}

func withoutProcess(processes []int32, process int32) []int32 {
	return slices.DeleteFunc(processes, func(p int32) bool { return p == process })
}
