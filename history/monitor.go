package history

import "slices"

// A monitor decides one property event by event. Its fields are all that the property remembers of
// the events so far, so that they are also what a search has to tell states apart by.
//
// Source: K. Havelund and G. Roşu, Synthesizing Monitors for Safety Properties, TACAS 2002.
type monitor interface {
	// reset makes the monitor that of an empty history.
	reset()
	// observe takes event number i of the log in and returns how it breaks the property, or nil.
	// The queue is that of the events before. Events further back than the monitor's own fields
	// tell may word a violation, but must not decide whether there is one.
	observe(q *queue, log []Event, i int) *Violation
	// finish returns how the end of the history breaks the property, or nil.
	finish(q *queue, log []Event) *Violation
	// visible reports whether an event of a process must not be taken to come sooner than it does,
	// before what other processes and the ensemble do in between: a violation may be lost by that.
	// An event that commutes with these is not visible, nor is one that breaks, if it comes sooner,
	// all that it breaks now. The queue is that of the events before, and the monitor has not
	// observed the event.
	visible(q *queue, e *Event) bool
	// state folds in what decides, together with the queue, how events to come can break the
	// property.
	state(q *queue, s *State)
	// copy makes the monitor a copy of another of the same type.
	copy(from monitor)
}

// stateless is the part of a monitor that remembers nothing.
type stateless struct{}

func (stateless) reset()                            {}
func (stateless) copy(monitor)                      {}
func (stateless) finish(*queue, []Event) *Violation { return nil }
func (stateless) state(*queue, *State)              {}

// A monitorConfig says how a property is judged, as far as that depends on the lock.
type monitorConfig struct {
	limits       Limits
	exclusive    bool // [ServerMutualExclusion] is claimed too
	linearizable bool // [Linearizable] is claimed too
}

func newMonitorConfig(claims []Property, limits Limits) monitorConfig {
	return monitorConfig{
		limits, slices.Contains(claims, ServerMutualExclusion),
		slices.Contains(claims, Linearizable),
	}
}

// A verdict is what becomes of one property in a pass over a history.
type verdict struct {
	property  *property
	monitor   monitor // of the property, without any memory
	decided   bool    // the violation is known, or that there is none
	violation *Violation
}

// decide returns how a history breaks a property, or nil. The monitor must be that of the property.
func decide(name Property, m monitor, log []Event) *Violation {
	pass := []verdict{{property: find(name), monitor: m}}
	new(queue).decide(pass, log)
	return pass[0].violation
}

// decide completes the verdicts in one pass over the history, in the memory of the queue.
func (q *queue) decide(pass []verdict, log []Event) {
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

// A State gathers 64 bits over what monitors remember.
type State struct {
	key      uint64
	hasEnded func(process int32) bool
}

// ended reports whether a process will never do anything again: its own part in what happened, as
// far as only it could have made use of that, makes no difference any more.
func (s *State) ended(process int32) bool { return s.hasEnded != nil && s.hasEnded(process) }

// fold folds two numbers in. Their order, and that of the calls, counts.
func (s *State) fold(a, b uint64) { s.key = fold(fold(s.key, a), b) }

// foldProcesses folds a set of processes in, apart from those that have ended.
func (s *State) foldProcesses(processes []int32) {
	sum := uint64(0)
	for _, p := range processes {
		if !s.ended(p) {
			sum += scatter(uint64(p))
		}
	}
	s.fold(sum, 0)
}

// scatter returns 64 bits for a number, so that sums of them stand for sets.
func scatter(n uint64) uint64 { return fold(n, 0x632be59bd9b4e019) }

// bit returns a number with one bit if the condition holds, and 0 otherwise.
func bit(condition bool, place int) uint64 {
	if condition {
		return 1 << place
	}
	return 0
}

// A Monitor decides several properties at once, event by event, of a history that grows and can be
// taken back to an earlier length. The zero value is not usable; see [NewMonitor]. It is not safe
// for concurrent use.
type Monitor struct {
	monitorState
	properties []Property // as the monitors are, in canonical order
	masks      []uint64   // which kinds of events each monitor observes
	config     monitorConfig
}

// A monitorState is what changes as a [Monitor] observes events.
type monitorState struct {
	observed   int // how many events
	visible    int // how many events up to the last one that is visible
	queue      queue
	monitors   []monitor
	violations []*Violation // the first of each monitor, nil while there is none
}

// NewMonitor returns a monitor for those of the claims that are decided event by event. The limits
// are those of [NoStarvation], [NoLivelock] and [NoHerd].
func NewMonitor(claims []Property, limits Limits) *Monitor {
	m := &Monitor{config: newMonitorConfig(claims, limits)}
	for i := range propertyTable {
		p := &propertyTable[i]
		if p.monitor == nil || !slices.Contains(claims, p.name) {
			continue
		}
		m.properties = append(m.properties, p.name)
		m.masks = append(m.masks, p.kinds)
		m.monitors = append(m.monitors, p.monitor(&m.config))
	}
	m.violations = make([]*Violation, len(m.monitors))
	return m
}

// Unmonitored returns those of the claims whose memory is not known, because they are decided from
// whole histories alone. A search must not merge states where there is one.
func Unmonitored(claims []Property) (unknown []Property) {
	for _, claim := range claims {
		if p := find(claim); p == nil || p.monitor == nil {
			unknown = append(unknown, claim)
		}
	}
	return unknown
}

// Observe takes in the events of the log that it has not seen yet. It takes time linear in their
// number, times the number of nodes and processes alive.
func (m *Monitor) Observe(log []Event) {
	for i := m.observed; i < len(log); i++ {
		kind := uint64(1) << log[i].Kind
		if kind&lockKinds != 0 && m.isVisible(&log[i]) {
			m.visible = i + 1
		}
		for n, mask := range m.masks {
			if mask&kind != 0 && m.violations[n] == nil {
				m.violations[n] = m.monitors[n].observe(&m.queue, log, i)
			}
		}
		if kind&queueKinds != 0 {
			m.queue.observe(&log[i], i)
		}
	}
	m.observed = len(log)
}

// acting holds the kinds of what processes do with their locks and are told of them.
const lockKinds = 1<<LockCall | 1<<LockReturn | 1<<Enter | 1<<Leave | 1<<Lost | 1<<UnlockCall | 1<<UnlockReturn | 1<<Finished |
	1<<ReenterCall | 1<<ReenterReturn | 1<<Exited | resourceKinds

// OfLock reports whether events of the kind tell what a process does with its lock, or is told of
// it.
func OfLock(k Kind) bool { return lockKinds>>k&1 != 0 }

// isVisible reports whether the next event is visible to one of the monitors.
func (m *Monitor) isVisible(e *Event) bool {
	return slices.ContainsFunc(m.monitors,
		func(one monitor) bool { return one.visible(&m.queue, e) })
}

// VisibleSince reports whether one of the observed events, from that number on, is visible: one of
// the properties may be kept if the event comes sooner, before what other processes and the
// ensemble do in between, and broken as it is. A partial-order reduction must not put such an event
// first.
func (m *Monitor) VisibleSince(event int) bool { return m.visible > event }

// State returns 64 bits over all that decides how events to come can break the properties. Two
// histories with equal states and the same continuation break the same properties by it, up to a
// collision of hashes. Gone reports whether a process will never do anything again, nor be told
// anything; nil stands for no such process.
func (m *Monitor) State(gone func(process int32) bool) uint64 {
	s := State{hasEnded: gone}
	m.queue.state(&s)
	for n := range m.monitors {
		s.fold(uint64(n), 0)
		m.monitors[n].state(&m.queue, &s)
	}
	return s.key
}

// Violations returns how the events so far break the properties, at most one violation for each, in
// canonical order. Some properties are judged only by [Monitor.Finish].
func (m *Monitor) Violations() []*Violation {
	return slices.DeleteFunc(slices.Clone(m.violations),
		func(v *Violation) bool { return v == nil })
}

// Finish returns how the whole log, which ends with the last event that was observed, breaks the
// properties, as [Monitor.Violations] does. The monitor stays as it is.
func (m *Monitor) Finish(log []Event) (found []*Violation) {
	for n, v := range m.violations {
		if v == nil {
			v = m.monitors[n].finish(&m.queue, log)
		}
		if v != nil {
			found = append(found, v)
		}
	}
	return found
}

// Reset makes the monitor that of an empty history.
func (m *Monitor) Reset() {
	m.observed, m.visible = 0, 0
	m.queue.reset()
	for n := range m.monitors {
		m.monitors[n].reset()
	}
	clear(m.violations)
}

// Copy makes the monitor a copy of another, which must have been made for the same claims and
// limits. It uses the memory that it has.
func (m *Monitor) Copy(from *Monitor) {
	m.observed, m.visible = from.observed, from.visible
	m.queue.copy(&from.queue)
	for n := range m.monitors {
		m.monitors[n].copy(from.monitors[n])
	}
	copy(m.violations, from.violations)
}

func withoutProcess(processes []int32, process int32) []int32 {
	return slices.DeleteFunc(processes, func(p int32) bool { return p == process })
}
