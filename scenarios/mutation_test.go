package scenarios_test

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/referee"
	"github.com/interlock-sim/interlock/scenarios"
)

var mutationLocks = flag.Int("mutation-locks", 0,
	"let the referee look for the first lock of so many that shows a mutation of the search; 0 to "+
		"judge the known ones")

// witnesses are the seeds of the first random locks by which the referee notices a mutation of the
// search. They change with what is drawn from a seed; make mutations finds them again.
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

// The referee notices when the search leaves out what it must not, or takes two states for one. So
// its agreement about random locks says something about the search.
func TestMutationsOfTheSearchAreNoticed(t *testing.T) {
	if len(witnesses) < 10 {
		t.Errorf("%d mutations have a witness, want 10", len(witnesses))
	}
	r := referee.New(t)
	for _, name := range slices.Sorted(maps.Keys(witnesses)) {
		l := r.Draw(witnesses[name])
		if verdict, _, _ := r.Judge(t, l); verdict == referee.Loss ||
			verdict == referee.FalseAlarm {
			t.Errorf("lock %d: %v without any mutation", witnesses[name], verdict)
		}
		if verdict := judgeMutated(t, r, l, name); verdict != referee.Loss &&
			verdict != referee.FalseAlarm {
			t.Errorf("%s: lock %d does not show it: %v", name, witnesses[name], verdict)
		}
	}
}

// TestFindWitnesses looks for the first lock that shows each mutation.
func TestFindWitnesses(t *testing.T) {
	unnoticed := maps.Clone(scenarios.Mutations)
	if len(unnoticed) != scenarios.MutationCount {
		t.Errorf("%d of %d mutations have a name", len(unnoticed), scenarios.MutationCount)
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
		if noticed := scenarios.MutationCount - len(unnoticed); noticed < 10 {
			t.Errorf("%d mutations were noticed, want 10", noticed)
		}
	}
}

func judgeMutated(t *testing.T, r *referee.Referee, l *referee.Lock,
	mutation string,
) referee.Verdict {
	defer scenarios.Mutate(scenarios.Mutations[mutation])()
	verdict, _, _ := r.Judge(t, l)
	return verdict
}
