package check

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
)

// The queue says who holds and who waits, for nearly every monitor.
type queue = history.Queue

// A monitor decides one property event by event. Its fields are the property's state after the
// events observed so far, by which a search distinguishes states.
//
// Source: K. Havelund and G. Roşu, Synthesizing Monitors for Safety Properties, TACAS 2002.
type monitor interface {
	// reset makes the monitor that of an empty history.
	reset()
	// observe processes event i of the log and returns how it breaks the property, or nil. The
	// queue is that of the events before i, or nil if the row of the property does not ask for it.
	// Earlier events of the log may supply the text of a violation, but only the monitor's fields
	// and the queue decide whether there is one.
	observe(q *queue, log []history.Event, i int) *history.Violation
	// finish returns how the end of the history breaks the property, or nil.
	finish(log []history.Event) *history.Violation
	// freedom says where a partial-order reduction may move an event at a process. It is asked for
	// the kinds that the monitor observes or that change its queue. The queue is that of the events
	// before, and the monitor has not observed the event.
	freedom(q *queue, e *history.Event) freedom
	// state folds in the fields that decide, together with the queue, how later events can break
	// the property.
	state(q *queue, s *State)
	// copy makes the monitor a copy of another of the same type.
	copy(from monitor)
}

// stateless implements part of a monitor without state.
type stateless struct{}

func (stateless) reset()                                    {}
func (stateless) copy(monitor)                              {}
func (stateless) finish([]history.Event) *history.Violation { return nil }
func (stateless) state(*queue, *State)                      {}

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
	judge(new(queue), pass, log)
	return pass[0].violation
}

// judge completes the verdicts in one pass over the history. It resets the queue and uses its
// memory.
func judge(q *queue, pass []verdict, log []history.Event) {
	q.Reset()
	for i := range log {
		kind := uint64(1) << log[i].Kind
		for n := range pass {
			if v := &pass[n]; v.property.kinds&kind != 0 && !v.decided {
				v.violation = v.monitor.observe(v.property.reads(q), log, i)
				v.decided = v.violation != nil
			}
		}
		if history.QueueKinds&kind != 0 {
			q.Observe(&log[i], i)
		}
	}
	for n := range pass {
		if v := &pass[n]; !v.decided {
			v.violation = v.monitor.finish(log)
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
// no difference, where only the process itself could use it. What is no process, such as 0 in an
// event of a server, never ends.
func (s *State) ended(process int32) bool {
	if s.hasEnded == nil || process <= 0 {
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

// foldQueue folds in the queue. The order of the nodes is the order of their creation. Two facts
// make no difference and are left out: what ended processes waited for, and their grants by deleted
// nodes.
func (s *State) foldQueue(q *queue) {
	for n := range q.Nodes {
		m := &q.Nodes[n]
		if m.Deleted != 0 && s.ended(m.Process) {
			continue
		}
		flags := bit(m.Ephemeral, 0) | bit(m.Waiting, 1) | bit(m.Deleted != 0, 2) |
			bit(m.UnlockCalled, 3) | bit(m.Shared, 4) | bit(m.SharedHold, 5)
		s.fold(s.text(m.Path), uint64(uint32(m.Process))<<32|flags)
		if m.Holder == 0 {
			continue
		}
		attempt := m.Attempt
		if m.UnlockCalled {
			attempt = 0
		}
		s.fold(uint64(uint32(m.Holder)), uint64(uint32(attempt)))
	}
	open := uint64(0)
	for _, o := range q.Open {
		if !s.ended(o.Process) {
			open += scatter(uint64(o.Process) | bit(o.Shared, 32))
		}
	}
	s.fold(open, 0)
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
	dependents  [64][]int          // whose verdict depends on events of each kind at processes
	queues      []*queue           // of the monitors, or nil
	config      monitorConfig
	texts       textHashes
	hashed      State // of the last call of State
}

// A monitorState is the part of a [Monitor] that changes with the events.
type monitorState struct {
	observed   int // the number of events observed
	notSooner  int // the number of events up to the last one that must not come sooner
	notLater   int // the same of one that must not come later
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
		if (p.depends()&^ensembleKinds)>>kind&1 != 0 {
			m.dependents[kind] = append(m.dependents[kind], len(m.monitors))
		}
	}
	m.queues = append(m.queues, p.reads(&m.queue))
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
		m.place(&log[i], i)
		for _, n := range m.observers[log[i].Kind] {
			if m.violations[n] == nil {
				if v := m.monitors[n].observe(m.queues[n], log, i); v != nil {
					nameThreads(v)
					m.violations[n] = v
				}
			}
		}
		if kind&history.QueueKinds != 0 {
			m.queue.Observe(&log[i], i)
		}
		if m.unmonitored {
			m.past = fold(fold(m.past, hashWithoutTime(&log[i])), uint64(log[i].At))
		}
	}
	m.observed = len(log)
}

// place notes where the next event may move.
func (m *Monitor) place(e *history.Event, i int) {
	free := anywhere
	for _, n := range m.dependents[e.Kind] {
		free &= m.monitors[n].freedom(m.queues[n], e)
	}
	if free&sooner == 0 {
		m.notSooner = i + 1
	}
	if free&later == 0 {
		m.notLater = i + 1
	}
}

// SoonerHides reports whether an observed event at a process with at least the given index could
// hide a violation if it came before concurrent events of other processes and the ensemble.
func (m *Monitor) SoonerHides(event int) bool { return m.notSooner > event }

// LaterHides reports whether an observed event at a process with at least the given index could
// hide a violation if it came after concurrent events of the ensemble and of processes that do not
// hold the lock.
func (m *Monitor) LaterHides(event int) bool { return m.notLater > event }

// State returns a 64-bit hash of all that decides how later events can break the properties. After
// two histories with equal states the same continuation breaks the same properties, up to a hash
// collision. The function reports whether a process will never act again and never be notified; nil
// means that none has ended.
func (m *Monitor) State(gone func(process int32) bool) uint64 {
	s := &m.hashed
	*s = State{hasEnded: gone, key: m.past, texts: &m.texts}
	s.foldQueue(&m.queue)
	for n := range m.monitors {
		before := s.key
		m.monitors[n].state(m.queues[n], s)
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
			v = m.monitors[n].finish(log)
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
	m.observed, m.notSooner, m.notLater, m.past = 0, 0, 0, 0
	m.queue.Reset()
	for n := range m.monitors {
		m.monitors[n].reset()
	}
	clear(m.violations)
}

// Copy makes the monitor a copy of another, which must have the same claims and limits. It reuses
// the memory of the monitor.
func (m *Monitor) Copy(from *Monitor) {
	m.observed, m.past = from.observed, from.past
	m.notSooner, m.notLater = from.notSooner, from.notLater
	m.queue.Copy(&from.queue)
	for n := range m.monitors {
		m.monitors[n].copy(from.monitors[n])
	}
	copy(m.violations, from.violations)
}

func withoutProcess(processes []int32, process int32) []int32 {
	return slices.DeleteFunc(processes, func(p int32) bool { return p == process })
}
