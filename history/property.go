package history

// A Property names a guarantee of a lock that a checker decides from a history.
type Property string

// The properties. The function of the same name in package check defines when each holds.
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
)

// ZooKeeperConsistency is the property that the ensemble of a history keeps ZooKeeper's guarantees.
// If a history breaks it, the lock is not at fault for a failure. It also validates a simulator.
const ZooKeeperConsistency Property = "zookeeper-consistency"

// A Violation shows that a history breaks a property.
type Violation struct {
	Property Property
	Event    int    // the index of the event at which the property is broken
	Reason   string // the kind of failure, the same for every history that fails in this way
	Detail   string // what went wrong in this history: the processes, the nodes

	// of a violation of [NoLostWatch], the guarantee that is broken, such as [check.ErrUnique]
	Guarantee error
}

// Signature returns the property and the reason, which identify a kind of failure.
func (v *Violation) Signature() string { return string(v.Property) + ": " + v.Reason }
