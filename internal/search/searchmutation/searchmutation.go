// Package searchmutation has deliberate defects of the exhaustive search. A test switches one on
// and verifies that random locks reveal it.
package searchmutation

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A Mutation breaks the exhaustive search on purpose: the search skips what it must not, or merges
// states that differ. Only tests set one.
type Mutation uint8

// The mutations.
const (
	None Mutation = iota
	// NothingVisible takes every step for invisible.
	NothingVisible
	// EntryBeforeToken puts an entry first where a resource checks tokens.
	EntryBeforeToken
	// OverRequest puts a delivery first though a request of its process waits to be served.
	OverRequest
	// WithoutFaults leaves out the faults that strike a process where a delivery to it comes first.
	WithoutFaults
	// AfterDelivery leaves out the steps of others after a delivery, as after a leaving.
	AfterDelivery
	// IgnoreTimeouts takes it that no server of several drops what is in flight.
	IgnoreTimeouts
	// WithoutMonitorState leaves the state of monitors out of keys.
	WithoutMonitorState
	// UntimedCache takes it that a process reacts in the same way at any time.
	UntimedCache
	// WithoutLastStep leaves the last step out of keys, on which the steps to try depend.
	WithoutLastStep
	// ByAppearance merges local histories after which processes look the same.
	ByAppearance
	// HoldersOnly leaves monitors' memory of processes that do not hold the lock out of keys.
	HoldersOnly
	// WithoutContinuations forgets where continuations of a state have led.
	WithoutContinuations
	// GrantsInvisible takes every delivery that makes Lock return for invisible.
	GrantsInvisible
	// ReleasesInvisible takes every delivery that makes the process call Unlock for invisible.
	ReleasesInvisible
	// WithoutBudget leaves the remaining faults out of keys.
	WithoutBudget
	// LeavingAmongHolders leaves out the steps of others after a leaving though one of them has the
	// lock.
	LeavingAmongHolders
	// Count is the number of mutations, None included.
	Count
)

// Active is the mutation of all searches.
var Active = None

// Hides reports whether a mutation treats the events of a step as invisible.
func (m Mutation) Hides(events []history.Event) bool {
	hidden := map[Mutation]history.Kind{
		GrantsInvisible:   history.LockReturn,
		ReleasesInvisible: history.UnlockCall,
	}
	kind, ok := hidden[m]
	return m == NothingVisible || ok &&
		slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == kind })
}
