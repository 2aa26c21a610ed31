package check

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/interlock-sim/interlock/history"
)

// A Checker checks any property and caches verdicts. The zero value is ready for use. A Checker is
// not safe for concurrent use: each worker has its own.
type Checker struct {
	// the limits of [history.NoStarvation], [history.NoLivelock], [history.NoHerd] and
	// [history.SessionLoss]; [history.DefaultLimits] if zero
	Limits history.Limits
	// the lock claims [history.ServerMutualExclusion], which [history.FIFO] depends on
	Exclusive bool
	// the lock claims [history.NoEarlyPass], which [history.Progress] depends on
	Barrier bool

	// the histories are prefixes of longer ones, so that a release in progress may complete later
	Cut bool

	linearizable LinearizableChecker
	monitors     map[history.Property]monitor
	config       monitorConfig
	queue        queue
	pass         []verdict
	cache        verdictCache
}

// Check returns how the events break the property, which may be [history.ZooKeeperConsistency], or
// nil if they do not. The answer depends on the events alone, not on earlier checks. Check panics
// if the property is unknown.
func (c *Checker) Check(name history.Property, events []history.Event) *history.Violation {
	if found := c.CheckAll([]history.Property{name}, events); len(found) > 0 {
		return found[0]
	}
	return nil
}

// CheckAll checks several properties as [Checker.Check] does, in one pass over the events. It
// returns the violations in the order of the properties.
func (c *Checker) CheckAll(names []history.Property, events []history.Event) []*history.Violation {
	c.config = monitorConfig{
		limits: c.limits(), exclusive: c.Exclusive,
		barrier: c.Barrier,
	}
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
	judge(&c.queue, c.pass, events)
	var found []*history.Violation
	for i := range c.pass {
		if v := c.pass[i].violation; v != nil {
			nameThreads(v)
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
			c.monitors = make(map[history.Property]monitor)
		}
		m = p.monitor(&c.config)
		c.monitors[p.name] = m
	}
	m.reset()
	return m
}

func (c *Checker) checkLinearizable(events []history.Event) *history.Violation {
	c.linearizable.Cut, c.linearizable.Places = c.Cut, c.limits().Places
	return c.linearizable.Check(events)
}

// Undecided reports whether the last check of [history.Linearizable] reached its limits without a
// verdict.
func (c *Checker) Undecided() bool { return c.linearizable.Undecided() }

func (c *Checker) limits() history.Limits {
	if c.Limits == (history.Limits{}) {
		return history.DefaultLimits
	}
	return c.Limits
}

// threadNumber matches the number of a thread after the letter c.
var threadNumber = regexp.MustCompile(`\bc([1-9]\d{5})\b`)

// nameThreads names the threads in the detail of a violation as in timelines.
func nameThreads(v *history.Violation) {
	v.Detail = threadNumber.ReplaceAllStringFunc(v.Detail, func(name string) string {
		number, err := strconv.Atoi(name[1:])
		if err != nil {
			return name
		}
		return history.ProcessName(int32(number))
	})
}
