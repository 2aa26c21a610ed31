package history

import (
	"fmt"
	"slices"
)

// A property is all that the package knows of one [Property].
type property struct {
	name Property

	// monitor makes what decides the property event by event, and knows what it remembers. It is
	// nil where only a checker of whole histories is known.
	monitor func(*monitorConfig) monitor
	kinds   uint64 // the kinds of events that the monitor observes

	// check decides the property of a whole history, where that is not the monitor's matter.
	check func(c *Checker, events []Event) *Violation

	atEnd bool // it is decided, at least in part, by how a history ends
	// it is decided, at least in part, by what happens in the fair phase; see [FairPhase]
	fair      bool
	cacheable bool // see [CacheableVerdict]
}

const allKinds = 1<<kinds - 1

// What several properties observe.
const (
	callKinds     = 1<<LockCall | 1<<LockReturn | 1<<UnlockCall | 1<<UnlockReturn
	resourceKinds = 1<<ResourceRead | 1<<ResourceWrite
)

// propertyTable holds the properties in their canonical order.
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
		kinds: allKinds,
		atEnd: true, fair: true,
	},
	{
		name: Progress, monitor: func(*monitorConfig) monitor { return new(progressMonitor) },
		kinds: callKinds | 1<<FairPhase | 1<<Crashed,
		atEnd: true, fair: true, cacheable: true,
	},
	{
		name: NoStarvation, monitor: func(r *monitorConfig) monitor { return &starvationMonitor{limits: &r.limits} },
		kinds: 1<<FairPhase | 1<<LockCall | 1<<NodeCreated | 1<<NodeDeleted | 1<<SessionState | 1<<SessionExpired | 1<<SessionClosed |
			1<<Fault | 1<<Crashed | 1<<LockReturn, fair: true, cacheable: true,
	},
	{
		name: NoLivelock, monitor: func(r *monitorConfig) monitor { return &livelockMonitor{limits: &r.limits} },
		kinds: 1<<FairPhase | 1<<LockReturn | 1<<UnlockReturn | 1<<Enter | 1<<Leave | 1<<Finished | 1<<Send, fair: true,
	},
	{
		name:    NoSpuriousFailure,
		monitor: func(*monitorConfig) monitor { return new(failureMonitor) },
		kinds:   1<<LockCall | 1<<Fault | 1<<LockReturn, cacheable: true,
	},
	{
		name:    NoLeakedNodes,
		monitor: func(*monitorConfig) monitor { return new(leakedNodeMonitor) },
		atEnd:   true,
		fair:    true, cacheable: true,
		kinds: callKinds | 1<<NodeCreated | 1<<NodeDeleted | 1<<Crashed | 1<<SessionExpired | 1<<SessionClosed,
	},
	{
		name: LossNotification, monitor: func(*monitorConfig) monitor { return new(lossMonitor) },
		cacheable: true,
		kinds:     holdKinds | queueKinds | 1<<ReenterReturn | 1<<Enter,
	},
	{
		name: SessionLoss, monitor: func(r *monitorConfig) monitor { return &sessionMonitor{limits: &r.limits} },
		kinds: allKinds,
	},
	{
		name: Reentrancy, monitor: func(*monitorConfig) monitor { return new(reentrancyMonitor) },
		kinds: allKinds, cacheable: true,
	},
	{
		name: NoHerd, monitor: func(r *monitorConfig) monitor { return &herdMonitor{limits: &r.limits} },
		kinds: queueKinds | 1<<Tick | 1<<Send | 1<<Reply | 1<<WatchEvent | 1<<SessionState | 1<<Fault | 1<<Crashed | 1<<WatchFired |
			1<<WatchArmed | 1<<WatchGone | 1<<Applied,
	},
	{
		name:    MonotonicToken,
		monitor: func(r *monitorConfig) monitor { return &tokenMonitor{config: r} },
		kinds:   1 << LockReturn, cacheable: true,
	},
	{
		name: Linearizable, monitor: func(*monitorConfig) monitor { return new(linearizableMonitor) },
		kinds: 1<<LockReturn | 1<<UnlockCall | 1<<NodeDeleted,
		check: func(c *Checker,
			events []Event,
		) *Violation {
			return c.checkLinearizable(events)
		},
		cacheable: true,
	},
}

// ensembleProperty is apart from the table, because no lock claims it.
var consistencyProperty = property{
	name:    ZooKeeperConsistency,
	monitor: func(*monitorConfig) monitor { return &consistencyMonitor{strict: true} },
	kinds:   allKinds,
}

// find returns what the package knows of a property, nil if nothing.
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

// Properties returns all properties in their canonical order. The slice is the caller's.
func Properties() []Property {
	names := make([]Property, len(propertyTable))
	for i := range propertyTable {
		names[i] = propertyTable[i].name
	}
	return names
}

// ParseProperty returns the property of that name, or an error that lists the names that there are.
func ParseProperty(name string) (Property, error) {
	if p := Property(name); slices.Contains(Properties(), p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown property %q, want one of %v", name, Properties())
}

// JudgedAtEnd reports whether a property is decided, at least in part, by how a history ends.
func JudgedAtEnd(p Property) bool {
	known := find(p)
	return known != nil && known.atEnd
}

// JudgedInFairPhase reports whether a property is decided, at least in part, by what happens once
// no fault strikes and the order is fair: it says what must happen in the end.
func JudgedInFairPhase(p Property) bool {
	known := find(p)
	return known != nil && known.fair
}

// A Checker checks any property, and remembers what is expensive to compute twice. The zero value
// is ready for use. It is not safe for concurrent use: each worker has its own.
type Checker struct {
	// that [NoStarvation], [NoLivelock] and [NoHerd] are judged by; [DefaultSeverity] unless set
	Limits    Limits
	Exclusive bool // the lock claims [ServerMutualExclusion], which [FIFO] depends on

	// the histories are beginnings of longer ones, so that a release that is under way may still
	// come
	Cut bool

	linearizable LinearizableChecker
	monitors     map[Property]monitor
	config       monitorConfig
	queue        queue
	pass         []verdict
	cache        verdictCache
}

// Check returns how the events break the property, which may be [ZooKeeperConsistency] too, or nil
// if they do not. The answer depends on the events alone, not on what was checked before. It panics
// if there is no such property.
func (c *Checker) Check(name Property, events []Event) *Violation {
	if found := c.CheckAll([]Property{name}, events); len(found) > 0 {
		return found[0]
	}
	return nil
}

// CheckAll does so for several properties in one pass over the events, and returns the violations
// in the order of the properties.
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

// monitorOf returns the checker's own monitor of a property, which has seen nothing.
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

// Undecided reports whether the last check of [Linearizable] has reached its limits before it came
// to a verdict.
func (c *Checker) Undecided() bool { return c.linearizable.Undecided() }

func (c *Checker) limits() Limits {
	if c.Limits == (Limits{}) {
		return DefaultLimits
	}
	return c.Limits
}
