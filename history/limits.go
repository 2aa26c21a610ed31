package history

import "time"

// Limits are the bounds that a lock guarantees for [NoHerd], [NoStarvation], [NoLivelock],
// [Promptness] and [Margin].
type Limits struct {
	WakeUps           int // waiting processes that one release wakes
	Requests          int // of one acquire, without those that changes allow
	RequestsPerChange int // further requests of an acquire for each node deleted during it
	// grants to processes that have called later, before a queued process is granted the lock
	Overtakings int
	// of one process in a second of virtual time in which no process progresses
	RequestsPerSecond int

	// Margin is how long before the end of its session a holder is told that it has lost the lock,
	// at least, for [Margin]. With 0 it is told before the end.
	Margin time.Duration

	// Places is how many processes may hold the lock at once, as of a semaphore; 0 stands for 1.
	// Shared holds, as of readers, have no number: any number of them excludes exclusive ones.
	Places int

	// NameLength is the maximum length in bytes of the name of an ephemeral node, the last element
	// of its path, for [NoHerd]; 0 for a lock without that guarantee.
	NameLength int
	// NoExistWatches reports whether no process sets a watch on a node that does not exist, for
	// [NoHerd]. Such a watch stays for ever if no node of that name returns.
	NoExistWatches bool

	// Overrun is how long a try, or a call with a timeout, may go on after its time limit, for
	// [Promptness]. Time in which it waits for a reply does not count.
	Overrun time.Duration

	// Listens reports whether the lock reads the session states of its client library. If so,
	// [SessionLoss] counts from the state "expired", otherwise only from watch events.
	Listens bool

	// NoLateRetries reports whether no attempt that has ended repeats a create. [Promptness] covers
	// repeated creates only then, because some client libraries repeat them by themselves.
	NoLateRetries bool
}

// Admits reports whether a lock may be held in the given mode while other processes hold it:
// the given numbers of exclusive and of shared holders.
func (l *Limits) Admits(shared bool, exclusive, sharing int) bool {
	if shared {
		return exclusive == 0
	}
	return sharing == 0 && exclusive < l.EffectivePlaces()
}

// EffectivePlaces returns how many processes may hold the lock at once.
func (l *Limits) EffectivePlaces() int { return max(1, l.Places) }

// DefaultLimits are those of a queue in which each process watches the node before its own.
// Requests allows a second listing and a confirmation; RequestsPerSecond allows a retry every tenth
// of a second.
var DefaultLimits = Limits{
	WakeUps: 1, Requests: 8, RequestsPerChange: 4, Overtakings: 0,
	RequestsPerSecond: 30,
}

// Unbounded is the value of a field of [Limits] for a lock without that guarantee.
const Unbounded = 1 << 30

// PromptReturn is the time within which a cancelled Lock without a pending request returns,
// according to [Promptness].
const PromptReturn = 10 * time.Second

// LivelockWindow is the period over which [NoLivelock] counts requests.
const LivelockWindow = time.Second

// The limits of [Quiescence]: in the fair phase, a process that neither wants nor holds the lock
// sends requests for that time at most, and no more of them.
const (
	QuiescenceAfter    = time.Minute
	QuiescenceRequests = 100
)
