package scenarios

import "errors"

// A Guard says how the resource that a lock protects checks its users. Each process that holds the
// lock reads the resource when it enters its critical section, and writes a value based on that
// before it leaves.
type Guard uint8

// The ways to guard a resource.
const (
	NoResource Guard = iota // there is no resource
	// Unguarded lets everybody read and write: only the lock prevents lost updates.
	Unguarded
	// TokenChecked requires a fencing token for each read and write, and refuses one that is lower
	// than the highest it has seen.
	TokenChecked
)

// ErrStaleToken is the error of a resource that is [TokenChecked] and refuses a stale token.
var ErrStaleToken = errors.New("the token is lower than one seen before")
