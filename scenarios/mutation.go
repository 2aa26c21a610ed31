package scenarios

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A mutation breaks the exhaustive search on purpose: it skips what it must not, or merges states
// that differ. Tests use it to show that such a defect would be noticed. Only tests of this package
// can set one.
type mutation uint8

const (
	unmutated        mutation = iota
	nothingVisible            // no step is visible
	entryBeforeToken          // an entry is put first where a resource checks tokens
	// a delivery is put first though a request of its process waits to be served
	overRequest
	// the faults that strike a process are left out where a delivery to it is put first
	withoutFaults
	afterDelivery       // others are left out after a delivery, as they are after a leaving
	ignoreTimeouts      // no server of several is taken to drop what is under way
	withoutMonitorState // what properties remember is in no key
	// a process is taken to react to the same in the same way whenever it comes
	untimedCache
	withoutLastStep // on which step what is tried in a state depends is in no key
	// local histories after which processes look the same are taken for one
	byAppearance
	// what properties remember of processes that do not hold the lock is in no key
	holdersOnly
	withoutContinuations // where ways on from a state have led is forgotten
	grantsInvisible      // no delivery that makes Lock return is visible
	releasesInvisible    // no delivery that makes the process call Unlock is visible
	withoutBudget        // which faults are left is in no key
	// others are left out after a leaving though one of them has the lock
	leavingAmongHolders
	mutations // number of mutations, unmutated included
)

// mutated is the mutation of all searches.
var mutated = unmutated

// hides reports whether a mutation treats the events of a step as invisible.
func (m mutation) hides(events []history.Event) bool {
	hidden := map[mutation]history.Kind{
		grantsInvisible:   history.LockReturn,
		releasesInvisible: history.UnlockCall,
	}
	kind, ok := hidden[m]
	return m == nothingVisible || ok &&
		slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == kind })
}
