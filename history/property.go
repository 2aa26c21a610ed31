package history

// A Property names a guarantee of a lock that a checker decides from a history.
type Property string

// The properties. Function Statement of package check says when each holds, and the file of its
// name there, or in package guarantee, exactly.
const (
	ServerMutualExclusion Property = "server-mutual-exclusion"
	ClientMutualExclusion Property = "client-mutual-exclusion"
	Fencing               Property = "fencing"
	NoLostUpdate          Property = "no-lost-update"
	FIFO                  Property = "fifo"
	NoLostWatch           Property = "no-lost-watch"
	Progress              Property = "progress"
	NoStarvation          Property = "no-starvation"
	NoLivelock            Property = "no-livelock"
	NoSpuriousFailure     Property = "no-spurious-failure"
	NoLeakedNodes         Property = "no-leaked-nodes"
	LossNotification      Property = "loss-notification"
	SessionLoss           Property = "session-loss"
	Reentrancy            Property = "reentrancy"
	NoHerd                Property = "no-herd"
	MonotonicToken        Property = "monotonic-token"
	Linearizable          Property = "linearizable"
	OwnRelease            Property = "own-release"
	Validity              Property = "validity"
	Extension             Property = "extension"
	Promptness            Property = "promptness"
	NoEarlyPass           Property = "no-early-pass"
	OneLeaderPerTerm      Property = "one-leader-per-term"
	TermsInOrder          Property = "terms-in-order"
	Quiescence            Property = "quiescence"
	Margin                Property = "margin"
)

// ZooKeeperConsistency is the property that the ensemble of a history keeps ZooKeeper's guarantees.
// If a history breaks it, the lock is not at fault for a failure. It also validates a simulator.
const ZooKeeperConsistency Property = "zookeeper-consistency"

// The properties that every run checks, whatever the lock claims.
const (
	// NoPanic holds when no process panics.
	NoPanic Property = "no-panic"
	// NoGoroutineLeak holds when every goroutine of a process ends after the process's calls have
	// returned and its context is done.
	NoGoroutineLeak Property = "no-goroutine-leak"
)

// A Violation shows that a history breaks a property.
type Violation struct {
	Property Property
	Event    int    // the index of the event at which the property is broken
	Reason   string // the kind of failure, the same for every history that fails in this way
	Detail   string // what went wrong in this history: the processes, the nodes

	// of a violation of [NoLostWatch], the guarantee that is broken, such as [guarantee.ErrUnique]
	Guarantee error

	Evidence Evidence
}

// Evidence is what a checker knows of a violation beyond its event, for programs. A field is zero
// if the property does not use it.
type Evidence struct {
	Process int32  `json:"process,omitempty"` // breaks the property, or waits
	Other   int32  `json:"other,omitempty"`   // the process with which it conflicts
	Path    string `json:"path,omitempty"`    // the znode, or the contender of the other process
	Watch   int32  `json:"watch,omitempty"`
	// the indexes of other events by which the property is broken, in order; see each property
	Events []int `json:"events,omitempty"`
	// how often: the times that a process was overtaken, the requests that one sent, the processes
	// that one release woke
	Count int `json:"count,omitempty"`
	// what the lock allows, and what is exceeded: overtakings, requests in a second; of a margin
	// the nanoseconds that it promises
	Limit int64 `json:"limit,omitempty"`
	// of an expensive acquire: the nodes that were deleted during it
	Changes int `json:"changes,omitempty"`
	// the transaction that is wrong, and the one that should have come first or last
	Zxid  int64 `json:"zxid,omitempty"`
	After int64 `json:"after,omitempty"`
	// what the program under test reports: of a panic its message and the calls that led to it, of
	// a leak the goroutines that stay blocked
	Message string   `json:"message,omitempty"`
	Calls   []string `json:"calls,omitempty"` // innermost first
}

// Signature returns the property and the reason, which identify a kind of failure.
func (v *Violation) Signature() string { return string(v.Property) + ": " + v.Reason }
