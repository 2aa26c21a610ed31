package faults

// An Instant restricts a fault of a plan to certain moments, in whatever phase.
type Instant uint8

// The instants of a plan. The zero Instant is any moment.
const (
	AnyInstant Instant = iota
	// the process has received all replies, and its next request is on its way to the server
	AfterReply
	BeforePing   // the client is about to send a ping
	BeforeExpiry // the ensemble is about to end the sessions whose time is over

	instants // the number of instants
)

// instantKeys holds the name of each instant in plans.
var instantKeys = [instants]string{
	AfterReply: "after-reply", BeforePing: "before-ping", BeforeExpiry: "before-expiry",
}

// Key returns the name of the instant in plans, or "" for any moment.
func (i Instant) Key() string { return instantKeys[i] }

// Timed reports whether only the passing of time leads to the instant.
func (i Instant) Timed() bool { return i == BeforePing || i == BeforeExpiry }

func instantNamed(key string) (Instant, bool) {
	for i := AnyInstant + 1; i < instants; i++ {
		if instantKeys[i] == key {
			return i, true
		}
	}
	return 0, false
}

// InstantKeys returns the names of the instants in plans.
func InstantKeys() []string { return instantKeys[AnyInstant+1:] }

// An InstantSet is a set of instants.
type InstantSet uint8

// With returns the set with one more instant.
func (s InstantSet) With(i Instant) InstantSet { return s | 1<<i }

// has reports whether the set has the instant. Every set has [AnyInstant].
func (s InstantSet) has(i Instant) bool { return i == AnyInstant || s>>i&1 != 0 }

// impossible returns why a fault with the restrictions of the entry never strikes, or "" if it can.
func (a Entry) impossible() string {
	connected := a.Instant == AfterReply || a.Instant == BeforePing
	switch kind := &kindTable[a.Kind]; {
	case a.Phased && kind.ofCall && !kind.phases.has(a.Phase):
		return kind.reason + "; its phases are " + kind.phases.String()
	case connected && a.Kind == DelayRewatch:
		return kind.reason
	case a.Instant == AfterReply && a.Phased && (a.Phase == Idle || a.Phase == Waiting):
		return "a process in that phase has no request in flight"
	}
	return ""
}
