package mutation

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A Mutation breaks the exhaustive search on purpose: it skips what it must not, or merges states
// that differ. Tests use it to show that such a defect would be noticed. Only tests of this package
// can set one.
type Mutation uint8

const (
	None             Mutation = iota
	NothingVisible            // no step is visible
	EntryBeforeToken          // an entry is put first where a resource checks tokens
	// a delivery is put first though a request of its process waits to be served
	OverRequest
	// the faults that strike a process are left out where a delivery to it is put first
	WithoutFaults
	AfterDelivery       // others are left out after a delivery, as they are after a leaving
	IgnoreTimeouts      // no server of several is taken to drop what is under way
	WithoutMonitorState // what properties remember is in no key
	// a process is taken to react to the same in the same way whenever it comes
	UntimedCache
	WithoutLastStep // on which step what is tried in a state depends is in no key
	// local histories after which processes look the same are taken for one
	ByAppearance
	// what properties remember of processes that do not hold the lock is in no key
	HoldersOnly
	WithoutContinuations // where ways on from a state have led is forgotten
	GrantsInvisible      // no delivery that makes Lock return is visible
	ReleasesInvisible    // no delivery that makes the process call Unlock is visible
	WithoutBudget        // which faults are left is in no key
	// others are left out after a leaving though one of them has the lock
	LeavingAmongHolders
	Count // number of mutations, unmutated included
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
