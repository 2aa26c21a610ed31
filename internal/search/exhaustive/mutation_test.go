package exhaustive_test

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/internal/testkit/referee"
)

var mutationLocks = flag.Int("mutation-locks", 0,
	"search this many random `locks` for the first witness of each mutation; 0 checks the known "+
		"witnesses")

// witnesses maps mutations of the search to the seed of the first random lock by which the referee
// notices them. The seeds depend on what is drawn from a seed; make mutations finds them again.
var witnesses = map[string]uint64{
	"others left out after a delivery":             2,
	"grants that are invisible":                    39,
	"no step is visible":                           39,
	"an entry before tokens are checked":           99,
	"a delivery without the faults of its process": 149,
	"reactions cached without the time":            159,
	"keys without what properties remember":        298,
	"local histories that only look the same":      396,
	"ways on that are forgotten":                   396,
	"keys with the memory of holders only":         1174,
}

// The referee notices unsound reductions and missing parts of the state key. Hence its agreement on
// random locks is evidence for the search.
func TestMutationsOfTheSearchAreNoticed(t *testing.T) {
	if len(witnesses) < 10 {
		t.Errorf("%d mutations have a witness, want at least 10", len(witnesses))
	}
	r := referee.New(t)
	for _, name := range long.Sample(slices.Sorted(maps.Keys(witnesses)), 5) {
		l := r.Draw(witnesses[name])
		if verdict, _, _ := r.Judge(t, l); verdict == referee.Loss ||
			verdict == referee.FalseAlarm {
			t.Errorf("lock %d: %v without a mutation", witnesses[name], verdict)
		}
		if verdict := judgeMutated(t, r, l, name); verdict != referee.Loss &&
			verdict != referee.FalseAlarm {
			t.Errorf("%s: not noticed with lock %d: %v", name, witnesses[name], verdict)
		}
	}
}

// TestFindWitnesses searches for the first witness of each mutation.
func TestFindWitnesses(t *testing.T) {
	unnoticed := maps.Clone(exhaustive.Mutations)
	if len(unnoticed) != exhaustive.MutationCount {
		t.Errorf("%d of %d mutations have names", len(unnoticed), exhaustive.MutationCount)
	}
	r := referee.New(t)
	for seed := range uint64(*mutationLocks) {
		l := r.Draw(seed)
		for _, name := range slices.Sorted(maps.Keys(unnoticed)) {
			if verdict := judgeMutated(t, r, l, name); verdict == referee.Loss ||
				verdict == referee.FalseAlarm {
				t.Logf("%q: %d, // %v", name, seed, verdict)
				delete(unnoticed, name)
			}
		}
	}
	if *mutationLocks > 0 {
		t.Logf("not noticed: %q", slices.Sorted(maps.Keys(unnoticed)))
		if noticed := exhaustive.MutationCount - len(unnoticed); noticed < 10 {
			t.Errorf("%d mutations were noticed, want at least 10", noticed)
		}
	}
}

func judgeMutated(t *testing.T, r *referee.Referee, l *referee.Lock,
	mutation string,
) referee.Verdict {
	defer exhaustive.Mutate(exhaustive.Mutations[mutation])()
	verdict, _, _ := r.Judge(t, l)
	return verdict
}
