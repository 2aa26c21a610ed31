package history

// A Property names something that a lock can promise, and that a checker decides from a history.
type Property string

// The properties. The checker of each states precisely when it holds.
const (
	ServedExclusion Property = "served-exclusion"
	BeliefExclusion Property = "belief-exclusion"
	FencedExclusion Property = "fenced-exclusion"
	NoLostUpdate    Property = "no-lost-update"
	FIFO            Property = "fifo"
	Watch           Property = "watch"
	Progress        Property = "progress"
	NoStarvation    Property = "no-starvation"
	NoLivelock      Property = "no-livelock"
	NoRefusal       Property = "no-refusal"
	NoOrphan        Property = "no-orphan"
	HonestLoss      Property = "honest-loss"
	SessionLoss     Property = "session-loss"
	Reentrancy      Property = "reentrancy"
	Herd            Property = "herd"
	Token           Property = "token"
	Linearizable    Property = "linearizable"
)

// A Violation is a proof that a history breaks a property.
type Violation struct {
	Property Property
	Event    int    // the index of the event at which the property is seen to be broken
	Reason   string // what went wrong, in the same words for every history that fails in the same way
	Detail   string // what went wrong in this history: who, which node

	Guarantee error // of [Watch]: which of the named guarantees is broken, such as [ErrUnique]
}

// Signature returns what two histories have in common that fail in the same way. It serves to tell new failures from
// known ones.
func (v *Violation) Signature() string { return string(v.Property) + ": " + v.Reason }
