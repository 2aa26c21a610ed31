package history

import (
	"fmt"
	"slices"
)

// A property is a row of [propertyTable]: how a [Property] is decided. To add a property, add a
// file with its name and its check, and a row.
type property struct {
	name Property

	// monitor returns a monitor that decides the property event by event, or is nil if only whole
	// histories can be checked.
	monitor func(*monitorConfig) monitor
	kinds   uint64 // the kinds of events that the monitor observes

	// check decides the property of a whole history. If it is nil, the monitor decides.
	check func(c *Checker, events []Event) *Violation

	// exercised returns how often a history exercises the property. If it is nil, [Vacuity.Add]
	// counts in one pass for all such properties.
	exercised func(events []Event) int

	atEnd     bool // see [JudgedAtEnd]
	fair      bool // see [JudgedInFairPhase]
	cacheable bool // see [CacheableVerdict]
}

const allKinds = 1<<kinds - 1

// Kinds of events that several properties observe.
const (
	callKinds     = 1<<LockCall | 1<<LockReturn | 1<<UnlockCall | 1<<UnlockReturn
	resourceKinds = 1<<ResourceRead | 1<<ResourceWrite
)

// propertyTable holds the properties in canonical order.
var propertyTable = [...]property{
	{
		name:    ServerMutualExclusion,
		monitor: func(*monitorConfig) monitor { return serverExclusionMonitor{} },
		kinds:   1 << LockReturn, cacheable: true,
	},
	{
		name:    ClientMutualExclusion,
		monitor: func(*monitorConfig) monitor { return new(clientExclusionMonitor) },
		kinds:   1<<Enter | 1<<Leave | 1<<Lost | 1<<Crashed, cacheable: true,
	},
	{
		name: Fencing, monitor: func(*monitorConfig) monitor { return new(fencingMonitor) },
		kinds: 1<<LockReturn | resourceKinds | 1<<NodeCreated | 1<<NodeChanged, cacheable: true,
	},
	{
		name: NoLostUpdate, monitor: func(*monitorConfig) monitor { return new(updateMonitor) },
		kinds: resourceKinds | 1<<NodeCreated | 1<<NodeChanged, cacheable: true,
	},
	{
		name: FIFO, monitor: func(r *monitorConfig) monitor { return fifoMonitor{config: r} },
		kinds: 1 << LockReturn, cacheable: true,
	},
	{
		name: NoLostWatch, monitor: func(*monitorConfig) monitor { return new(watchMonitor) },
		kinds: allKinds, atEnd: true, fair: true,
	},
	{
		name: Progress, monitor: func(*monitorConfig) monitor { return new(progressMonitor) },
		kinds: callKinds | 1<<FairPhase | 1<<Crashed,
		atEnd: true, fair: true, cacheable: true,
	},
	{
		name:    NoStarvation,
		monitor: func(r *monitorConfig) monitor { return &starvationMonitor{limits: &r.limits} },
		kinds: 1<<FairPhase | 1<<LockCall | 1<<NodeCreated | 1<<NodeDeleted | 1<<SessionState |
			1<<SessionExpired | 1<<SessionClosed | 1<<Fault | 1<<Crashed | 1<<LockReturn,
		fair: true, cacheable: true,
	},
	{
		name:    NoLivelock,
		monitor: func(r *monitorConfig) monitor { return &livelockMonitor{limits: &r.limits} },
		kinds: 1<<FairPhase | 1<<LockReturn | 1<<UnlockReturn | 1<<Enter | 1<<Leave | 1<<Finished |
			1<<Send,
		fair: true,
	},
	{
		name:    NoSpuriousFailure,
		monitor: func(*monitorConfig) monitor { return new(failureMonitor) },
		kinds:   1<<LockCall | 1<<Fault | 1<<LockReturn, cacheable: true,
	},
	{
		name:    NoLeakedNodes,
		monitor: func(*monitorConfig) monitor { return new(leakedNodeMonitor) },
		kinds: callKinds | 1<<NodeCreated | 1<<NodeDeleted | 1<<Crashed | 1<<SessionExpired |
			1<<SessionClosed,
		atEnd: true, fair: true, cacheable: true,
	},
	{
		name: LossNotification, monitor: func(*monitorConfig) monitor { return new(lossMonitor) },
		cacheable: true,
		kinds:     holdKinds | queueKinds | 1<<ReenterReturn | 1<<Enter,
	},
	{
		name:    SessionLoss,
		monitor: func(r *monitorConfig) monitor { return &sessionMonitor{limits: &r.limits} },
		kinds:   allKinds,
	},
	{
		name: Reentrancy, monitor: func(*monitorConfig) monitor { return new(reentrancyMonitor) },
		kinds: allKinds, cacheable: true,
	},
	{
		name:    NoHerd,
		monitor: func(r *monitorConfig) monitor { return &herdMonitor{limits: &r.limits} },
		kinds: queueKinds | 1<<Tick | 1<<Send | 1<<Reply | 1<<WatchEvent | 1<<SessionState |
			1<<Fault | 1<<Crashed | 1<<WatchFired | 1<<WatchArmed | 1<<WatchGone | 1<<Applied,
	},
	{
		name:    MonotonicToken,
		monitor: func(r *monitorConfig) monitor { return &tokenMonitor{config: r} },
		kinds:   1 << LockReturn, cacheable: true,
	},
	{
		name:      Linearizable,
		monitor:   func(*monitorConfig) monitor { return new(linearizableMonitor) },
		kinds:     1<<LockReturn | 1<<UnlockCall | 1<<NodeDeleted,
		check:     func(c *Checker, e []Event) *Violation { return c.checkLinearizable(e) },
		cacheable: true,
	},
}

// consistencyProperty is not in the table because no lock claims it.
var consistencyProperty = property{
	name:    ZooKeeperConsistency,
	monitor: func(*monitorConfig) monitor { return &consistencyMonitor{strict: true} },
	kinds:   allKinds,
}

// find returns the row of a property, or nil if the property is unknown.
func find(p Property) *property {
	for i := range propertyTable {
		if propertyTable[i].name == p {
			return &propertyTable[i]
		}
	}
	if p == ZooKeeperConsistency {
		return &consistencyProperty
	}
	return nil
}

// Properties returns all properties in canonical order. The caller owns the slice.
func Properties() []Property {
	names := make([]Property, len(propertyTable))
	for i := range propertyTable {
		names[i] = propertyTable[i].name
	}
	return names
}

// ParseProperty returns the property with the name, or an error that lists the valid names.
func ParseProperty(name string) (Property, error) {
	if p := Property(name); slices.Contains(Properties(), p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown property %q, want one of %v", name, Properties())
}

// JudgedAtEnd reports whether the end of a history decides the property, at least in part.
func JudgedAtEnd(p Property) bool {
	known := find(p)
	return known != nil && known.atEnd
}

// JudgedInFairPhase reports whether the events after [FairPhase] decide the property, at least in
// part. Such a property states what eventually happens.
func JudgedInFairPhase(p Property) bool {
	known := find(p)
	return known != nil && known.fair
}

// A Checker checks any property and caches verdicts. The zero value is ready for use. A Checker is
// not safe for concurrent use: each worker has its own.
type Checker struct {
	// the limits of [NoStarvation], [NoLivelock], [NoHerd] and [SessionLoss]; [DefaultLimits] if
	// zero
	Limits    Limits
	Exclusive bool // the lock claims [ServerMutualExclusion], which [FIFO] depends on

	// the histories are prefixes of longer ones, so that a release in progress may complete later
	Cut bool

	linearizable LinearizableChecker
	monitors     map[Property]monitor
	config       monitorConfig
	queue        queue
	pass         []verdict
	cache        verdictCache
}

// Check returns how the events break the property, which may be [ZooKeeperConsistency], or nil if
// they do not. The answer depends on the events alone, not on earlier checks. Check panics if the
// property is unknown.
func (c *Checker) Check(name Property, events []Event) *Violation {
	if found := c.CheckAll([]Property{name}, events); len(found) > 0 {
		return found[0]
	}
	return nil
}

// CheckAll checks several properties as [Checker.Check] does, in one pass over the events. It
// returns the violations in the order of the properties.
func (c *Checker) CheckAll(names []Property, events []Event) []*Violation {
	c.config = monitorConfig{limits: c.limits(), exclusive: c.Exclusive}
	c.pass = c.pass[:0]
	for _, name := range names {
		p := find(name)
		if p == nil {
			panic(fmt.Sprintf("history: no checker for property %q", name))
		}
		one := verdict{property: p}
		if p.check != nil {
			one.violation, one.decided = p.check(c, events), true
		} else {
			one.monitor = c.monitorOf(p)
		}
		c.pass = append(c.pass, one)
	}
	c.queue.decide(c.pass, events)
	var found []*Violation
	for i := range c.pass {
		if v := c.pass[i].violation; v != nil {
			found = append(found, v)
		}
	}
	return found
}

// monitorOf returns the checker's monitor of the property, reset to an empty history.
func (c *Checker) monitorOf(p *property) monitor {
	m, ok := c.monitors[p.name]
	if !ok {
		if c.monitors == nil {
			c.monitors = make(map[Property]monitor)
		}
		m = p.monitor(&c.config)
		c.monitors[p.name] = m
	}
	m.reset()
	return m
}

func (c *Checker) checkLinearizable(events []Event) *Violation {
	c.linearizable.Cut = c.Cut
	return c.linearizable.Check(events)
}

// Undecided reports whether the last check of [Linearizable] reached its limits without a verdict.
func (c *Checker) Undecided() bool { return c.linearizable.Undecided() }

func (c *Checker) limits() Limits {
	if c.Limits == (Limits{}) {
		return DefaultLimits
	}
	return c.Limits
}
