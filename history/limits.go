package history

import "time"

// Limits are what a lock promises to stay within. Each number is the highest that is allowed.
type Limits struct {
	WakeUps           int // waiting processes that one release wakes
	Requests          int // that one acquire costs, apart from what changes cost
	RequestsPerChange int // that one acquire costs for each node that goes meanwhile
	// grants to those who asked after a process had queued, before that process has the lock
	Overtakings       int
	RequestsPerSecond int // that a process sends in a second of virtual time while nobody gets on

	// Listens is no number: the lock reads the states that its client library tells, so that
	// [SessionLoss] counts from the state "expired". Any other lock is told by its watches alone.
	Listens bool
}

// DefaultBounds are those of a queue in which each contender watches the one before it. The
// requests leave room for a second listing and for a confirmation; those per second for a retry
// every tenth of a second.
var DefaultLimits = Limits{
	WakeUps: 1, Requests: 8, RequestsPerChange: 4, Overtakings: 0,
	RequestsPerSecond: 30,
}

// Unbounded, as one of the Bounds, is what a lock gives that promises nothing of the sort.
const Unbounded = 1 << 30

// livelockWindow is the time in which requests are counted for [NoLivelock].
const livelockWindow = time.Second
