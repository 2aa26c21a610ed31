package check

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/unknown"
)

// A property is a row of [propertyTable]: how a [history.Property] is decided. To add a property,
// add a file with its name and its check, and a row.
type property struct {
	name      history.Property
	statement string // in short; the comment of the check is exact

	// monitor returns a monitor that decides the property event by event, or is nil if only whole
	// histories can be checked.
	monitor func(*monitorConfig) monitor
	kinds   uint64 // the kinds of events that the monitor observes
	queue   bool   // it reads the queue, too

	// check decides the property of a whole history. If it is nil, the monitor decides.
	check func(c *Checker, events []history.Event) *history.Violation

	// exercised returns how often a history exercises the property. If it is nil, tests does, of
	// what [Vacuity.Add] counts in one pass for all such properties.
	exercised func(events []history.Event) int
	tests     func(uses) int

	atEnd     bool // see [JudgedAtEnd]
	fair      bool // see [JudgedInFairPhase]
	cacheable bool // see [CacheableVerdict]
}

// reads returns the queue if the monitor reads it, and else nil.
func (p *property) reads(q *queue) *queue {
	if p.queue {
		return q
	}
	return nil
}

// depends returns the kinds of events on which the verdict of the monitor depends. It is all that
// the monitor gets to see.
func (p *property) depends() uint64 {
	if p.queue {
		return p.kinds | history.QueueKinds
	}
	return p.kinds
}

const allKinds = 1<<history.Kinds - 1

// Kinds of events that several properties observe.
const (
	callKinds = 1<<history.LockCall | 1<<history.LockReturn | 1<<history.UnlockCall |
		1<<history.UnlockReturn
	resourceKinds = 1<<history.ResourceRead | 1<<history.ResourceWrite
)

// propertyTable holds the properties in canonical order.
var propertyTable = [...]property{
	{
		name:      history.ServerMutualExclusion,
		statement: "no process is granted the lock while another holds it at the servers",
		tests:     func(u uses) int { return u.contendedGrants },
		monitor:   func(r *monitorConfig) monitor { return serverExclusionMonitor{config: r} },
		queue:     true,
		kinds:     1 << history.LockReturn, cacheable: true,
	},
	{
		name:      history.ClientMutualExclusion,
		statement: "no two processes that know of no loss are inside at the same time",
		tests:     func(u uses) int { return u.contendedEnters },
		monitor:   func(r *monitorConfig) monitor { return &clientExclusionMonitor{config: r} },
		kinds:     1<<history.Enter | 1<<history.Leave | 1<<history.Lost | 1<<history.Crashed,
		cacheable: true,
	},
	{
		name:      history.Fencing,
		statement: "the resource accepts no write of an older holder after a newer one's",
		tests:     func(u uses) int { return u.foreignWrites },
		monitor:   func(*monitorConfig) monitor { return new(fencingMonitor) },
		queue:     true,
		kinds: 1<<history.LockReturn | resourceKinds | 1<<history.NodeCreated |
			1<<history.NodeChanged,
		cacheable: true,
	},
	{
		name:      history.NoLostUpdate,
		statement: "an accepted write comes from a process that knows the latest version",
		tests:     func(u uses) int { return u.acceptedWrites },
		monitor: func(*monitorConfig) monitor {
			return new(updateMonitor)
		},
		kinds: resourceKinds | 1<<history.NodeCreated | 1<<history.NodeChanged, cacheable: true,
	},
	{
		name:      history.FIFO,
		statement: "no contender is granted the lock while one with an earlier node waits",
		tests:     func(u uses) int { return u.contendedGrants },
		monitor: func(r *monitorConfig) monitor {
			return fifoMonitor{config: r}
		},
		queue: true,
		kinds: 1 << history.LockReturn, cacheable: true,
	},
	{
		name:      history.NoLostWatch,
		statement: "each watch reports the change that it is set for, once and in order",
		tests:     func(u uses) int { return u.watches },
		monitor: func(*monitorConfig) monitor {
			return new(watchMonitor)
		},
		kinds: allKinds, atEnd: true, fair: true,
	},
	{
		name:      history.Progress,
		statement: "each call of Lock or Unlock by a live process returns",
		tests:     func(u uses) int { return u.fairCalls },
		monitor:   func(r *monitorConfig) monitor { return &progressMonitor{config: r} },
		kinds:     callKinds | 1<<history.FairPhase | undisturbedKinds | unreleasedKinds,
		atEnd:     true, fair: true, cacheable: true,
	},
	{
		name:      history.NoStarvation,
		statement: "a queued contender is not overtaken more often than the limit",
		tests:     func(u uses) int { return u.fairContendedGrants },
		monitor:   func(r *monitorConfig) monitor { return &starvationMonitor{limits: &r.limits} },
		queue:     true,
		kinds: 1<<history.FairPhase | 1<<history.LockCall | 1<<history.NodeCreated |
			1<<history.NodeDeleted | 1<<history.SessionState |
			1<<history.SessionExpired | 1<<history.SessionClosed | 1<<history.Fault |
			1<<history.Crashed | 1<<history.LockReturn | 1<<history.Forfeited,
		fair:      true,
		cacheable: true,
	},
	{
		name:      history.NoLivelock,
		statement: "no process sends requests without end while no process progresses",
		tests:     func(u uses) int { return u.fairRequests },
		monitor:   func(r *monitorConfig) monitor { return &livelockMonitor{limits: &r.limits} },
		kinds: 1<<history.FairPhase | 1<<history.LockReturn | 1<<history.UnlockReturn |
			1<<history.Enter | 1<<history.Leave | 1<<history.Finished |
			1<<history.Send,
		fair: true,
	},
	{
		name:      history.NoSpuriousFailure,
		statement: "Lock fails only for a process that has given up",
		tests:     func(u uses) int { return u.struckAttempts },
		monitor:   func(*monitorConfig) monitor { return new(failureMonitor) },
		kinds:     1<<history.LockCall | 1<<history.Fault | 1<<history.LockReturn, cacheable: true,
	},
	{
		name:      history.NoLeakedNodes,
		statement: "no node is left whose creator is alive and no longer wants the lock",
		tests:     func(u uses) int { return u.attempts },
		monitor:   func(*monitorConfig) monitor { return new(leakedNodeMonitor) },
		kinds: callKinds | 1<<history.NodeCreated | 1<<history.NodeDeleted | 1<<history.Crashed |
			1<<history.SessionExpired |
			1<<history.SessionClosed,
		atEnd:     true,
		fair:      true,
		cacheable: true,
	},
	{
		name:      history.LossNotification,
		statement: "who loses its node is told; no call returns as if it held the lock",
		tests:     func(u uses) int { return u.losses },
		monitor: func(*monitorConfig) monitor {
			return new(lossMonitor)
		},
		cacheable: true,
		queue:     true,
		kinds:     holdKinds | history.QueueKinds | 1<<history.ReenterReturn | 1<<history.Enter,
	},
	{
		name:      history.SessionLoss,
		statement: "no lease is valid once the client has reported the session's end",
		tests:     func(u uses) int { return u.expiries },
		monitor:   func(r *monitorConfig) monitor { return &sessionMonitor{limits: &r.limits} },
		queue:     true,
		kinds:     allKinds,
	},
	{
		name:      history.Reentrancy,
		statement: "as many unlocks as locks release the lock, no sooner and no later",
		tests:     func(u uses) int { return u.reentries },
		monitor: func(*monitorConfig) monitor {
			return new(reentrancyMonitor)
		},
		queue: true,
		kinds: allKinds, cacheable: true,
	},
	{
		name:      history.NoHerd,
		statement: "a release wakes one waiter; requests, watches and names are limited",
		tests:     func(u uses) int { return u.awaitedReleases },
		monitor:   func(r *monitorConfig) monitor { return &herdMonitor{limits: &r.limits} },
		queue:     true,
		kinds: history.QueueKinds | 1<<history.Tick | 1<<history.Send | 1<<history.Reply |
			1<<history.WatchEvent | 1<<history.SessionState |
			1<<history.Fault | 1<<history.Crashed | 1<<history.WatchFired | 1<<history.WatchArmed |
			1<<history.WatchGone | 1<<history.Applied,
	},
	{
		name:      history.MonotonicToken,
		statement: "the fencing token of each grant is higher than all before",
		tests:     func(u uses) int { return u.tokens },
		monitor:   func(r *monitorConfig) monitor { return &tokenMonitor{config: r} },
		queue:     true,
		kinds:     1<<history.LockCall | 1<<history.LockReturn, cacheable: true,
	},
	{
		name:      history.Linearizable,
		statement: "acquires and releases are those of a lock with one owner",
		tests:     func(u uses) int { return u.grants },
		monitor:   func(r *monitorConfig) monitor { return &linearizableMonitor{config: r} },
		queue:     true,
		kinds:     1<<history.LockReturn | 1<<history.UnlockCall | 1<<history.NodeDeleted,
		check: func(c *Checker,
			e []history.Event,
		) *history.Violation {
			return c.checkLinearizable(e)
		},
		cacheable: true,
	},
	{
		name:      history.OwnRelease,
		statement: "no process deletes a key that another process has set",
		monitor:   func(*monitorConfig) monitor { return new(ownReleaseMonitor) },
		kinds: 1<<history.KeySet | 1<<history.KeyDeleted | 1<<history.KeyExpired |
			1<<history.KeyLost,
		exercised: keysDeleted, cacheable: true,
	},
	{
		name:      history.Validity,
		statement: "no process is granted the lock within another's validity time",
		monitor:   func(*monitorConfig) monitor { return new(validityMonitor) },
		kinds:     validityKinds,
		exercised: grantsAfterValidity,
	},
	{
		name:      history.Extension,
		statement: "no holder extends a lock that it has lost to another",
		monitor:   func(*monitorConfig) monitor { return new(extensionMonitor) },
		kinds: 1<<history.LockReturn | 1<<history.UnlockCall | 1<<history.Lost |
			1<<history.Crashed | 1<<history.Extended,
		exercised: extensions, cacheable: true,
	},
	{
		name:      history.Promptness,
		statement: "an attempt that is over returns soon and creates no further node",
		monitor:   func(r *monitorConfig) monitor { return &promptnessMonitor{limits: &r.limits} },
		kinds:     promptnessKinds,
		exercised: attemptsEnded,
	},
	{
		name:      history.NoEarlyPass,
		statement: "nobody passes a closed barrier, or leaves one that others are in",
		monitor:   func(r *monitorConfig) monitor { return &earlyPassMonitor{config: r} },
		queue:     true,
		kinds:     earlyPassKinds,
		exercised: passes, cacheable: true,
	},
	{
		name:      history.OneLeaderPerTerm,
		statement: "a term has one leader, which was elected and which all observers see",
		monitor:   func(*monitorConfig) monitor { return new(leaderMonitor) },
		queue:     true,
		kinds:     leaderKinds,
		exercised: observations,
	},
	{
		name:      history.TermsInOrder,
		statement: "nobody sees the leader of an older term after that of a newer one",
		monitor:   func(*monitorConfig) monitor { return new(termMonitor) },
		kinds:     termKinds,
		exercised: laterObservations,
	},
	{
		name:      history.Quiescence,
		statement: "requests of a process cease after its last unlock",
		monitor:   func(*monitorConfig) monitor { return new(quiescenceMonitor) },
		kinds:     quiescenceKinds,
		exercised: idleThreads, fair: true,
	},
	{
		name:      history.Margin,
		statement: "a holder is told of its loss long enough before its session ends",
		monitor:   func(r *monitorConfig) monitor { return &marginMonitor{limits: &r.limits} },
		kinds:     marginEvents,
		exercised: lossesToEnd,
	},
}

// consistencyProperty is not in the table because no lock claims it.
var consistencyProperty = property{
	name:      history.ZooKeeperConsistency,
	statement: "the servers keep ZooKeeper's guarantees, such as one system image",
	monitor:   func(*monitorConfig) monitor { return new(consistencyMonitor) },
	kinds:     allKinds,
}

// find returns the row of a property, or nil if the property is unknown.
func find(p history.Property) *property {
	for i := range propertyTable {
		if propertyTable[i].name == p {
			return &propertyTable[i]
		}
	}
	if p == history.ZooKeeperConsistency {
		return &consistencyProperty
	}
	return nil
}

// Properties returns all properties in canonical order. The caller owns the slice.
func Properties() []history.Property {
	names := make([]history.Property, len(propertyTable))
	for i := range propertyTable {
		names[i] = propertyTable[i].name
	}
	return names
}

// Claimable returns the properties that a lock may claim: those of the table, and those that every
// run checks.
func Claimable() []history.Property {
	return append(Properties(), history.ZooKeeperConsistency, history.NoPanic,
		history.NoGoroutineLeak)
}

// ParseProperty returns the property with the name, or an error that lists the valid names.
func ParseProperty(name string) (history.Property, error) {
	if p := history.Property(name); slices.Contains(Properties(), p) {
		return p, nil
	}
	return "", unknown.Name("property", name, Properties())
}

// ParseProperties returns the properties with the names, which commas separate.
func ParseProperties(names string) ([]history.Property, error) {
	var properties []history.Property
	for name := range strings.SplitSeq(names, ",") {
		p, err := ParseProperty(name)
		if err != nil {
			return nil, err
		}
		properties = append(properties, p)
	}
	return properties, nil
}

// Statement returns in short what a property demands, or "" if the property is unknown.
func Statement(p history.Property) string {
	if known := find(p); known != nil {
		return known.statement
	}
	return ""
}

// JudgedAtEnd reports whether the end of a history decides the property, at least in part.
func JudgedAtEnd(p history.Property) bool {
	known := find(p)
	return known != nil && known.atEnd
}

// JudgedInFairPhase reports whether the events after [history.FairPhase] decide the property, at
// least in part. Such a property states what eventually happens.
func JudgedInFairPhase(p history.Property) bool {
	known := find(p)
	return known != nil && known.fair
}
