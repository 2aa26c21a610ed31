package scenarios_test

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/referee"
	"github.com/interlock-sim/interlock/scenarios"
)

var mutationLocks = flag.Int("mutation-locks", 2000, "how many random locks a mutation of the search may pass at most")

// The referee notices when the search leaves out what it must not, or takes states for one that are not. So random locks about which it
// agrees with the search say something about the search.
func TestMutationsAreNoticed(t *testing.T) {
	unnoticed := maps.Clone(scenarios.Mutations)
	if len(unnoticed) != scenarios.MutationCount {
		t.Errorf("%d of %d mutations are tried", len(unnoticed), scenarios.MutationCount)
	}
	r := referee.New(t)
	for seed := 0; seed < *mutationLocks && len(unnoticed) > 0; seed++ {
		l := r.Draw(uint64(seed))
		for _, name := range slices.Sorted(maps.Keys(unnoticed)) {
			restore := scenarios.Mutate(unnoticed[name])
			verdict, _, _ := r.Judge(t, l)
			restore()
			if verdict == referee.Loss || verdict == referee.FalseAlarm {
				t.Logf("%s: lock %d, %v", name, seed, verdict)
				delete(unnoticed, name)
			}
		}
	}
	for name := range unnoticed {
		t.Errorf("%s: nobody noticed", name)
	}
}
