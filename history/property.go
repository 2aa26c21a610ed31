package history

// A Property names something that a lock can promise, and that a checker decides from a history.
type Property string

// The properties. The checker of each states precisely when it holds.
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
)

// A Violation is a proof that a history breaks a property.
type Violation struct {
	Property Property
	Event    int // the index of the event at which the property is seen to be broken
	// what went wrong, in the same words for every history that fails in the same way
	Reason string
	Detail string // what went wrong in this history: who, which node

	// of [NoLostWatch]: which of the named guarantees is broken, such as [ErrUnique]
	Guarantee error
}

// Signature returns what two histories have in common that fail in the same way. It serves to tell
// new failures from known ones.
func (v *Violation) Signature() string { return string(v.Property) + ": " + v.Reason }
