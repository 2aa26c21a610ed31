package referee_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/searchmutation"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/internal/testkit/referee"
)

var mutationLocks = flag.Int("mutation-locks", 0,
	"search this many random `locks` for the first witness of each mutation; 0 searches none")

// witnesses maps mutations of the search to a random lock by which the referee notices them. The
// command make mutations finds further ones.
func witnesses(t *testing.T) map[string]*referee.Lock {
	text, err := os.ReadFile("testdata/mutation_witnesses.json")
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]*referee.Lock
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	return known
}

// The referee notices unsound reductions and missing parts of the state key. Hence its agreement on
// random locks is evidence for the search.
func TestMutationsOfTheSearchAreNoticed(t *testing.T) {
	known := witnesses(t)
	if len(known) < 10 {
		t.Errorf("%d mutations have a witness, want at least 10", len(known))
	}
	r := referee.New(t)
	for _, name := range long.Sample(slices.Sorted(maps.Keys(known)), 5) {
		l := known[name]
		if verdict := r.Judge(l).Verdict; verdict.Errs() {
			t.Errorf("%s: %v without a mutation: %v", name, verdict, l)
		}
		if verdict := judgeMutated(r, l, name); !verdict.Errs() {
			t.Errorf("%s: not noticed: %v with %v", name, verdict, l)
		}
	}
}

// TestFindWitnesses searches for the first witness of each mutation.
func TestFindWitnesses(t *testing.T) {
	unnoticed := maps.Clone(mutations)
	const count = int(searchmutation.Count) - 1
	if len(unnoticed) != count {
		t.Errorf("%d of %d mutations have names", len(unnoticed), count)
	}
	r := referee.New(t)
	for seed := range uint64(*mutationLocks) {
		l := r.Draw(drawn(seed))
		if r.Judge(l).Verdict.Errs() {
			continue // TestSearchAgreesWithPlainRuns reports it.
		}
		for _, name := range slices.Sorted(maps.Keys(unnoticed)) {
			if verdict := judgeMutated(r, l, name); verdict.Errs() {
				t.Logf("%v by seed %d: %q: %v", verdict, seed, name, l)
				delete(unnoticed, name)
			}
		}
	}
	if *mutationLocks > 0 {
		t.Logf("not noticed: %q", slices.Sorted(maps.Keys(unnoticed)))
		if noticed := count - len(unnoticed); noticed < 10 {
			t.Errorf("%d mutations were noticed, want at least 10", noticed)
		}
	}
}

// drawn returns the dimension and the seed of a random lock. Half of the locks are on one server,
// and the others of each of the next dimensions in turn.
func drawn(number uint64) (d *referee.Dimension, seed uint64) {
	all := referee.Dimensions()
	if number%2 == 0 {
		return all[0], number / 2
	}
	others := uint64(len(all) - 1)
	return all[1+number/2%others], number / 2 / others
}

func judgeMutated(r *referee.Referee, l *referee.Lock, mutation string) referee.Verdict {
	searchmutation.Active = mutations[mutation]
	defer func() { searchmutation.Active = searchmutation.None }()
	return r.Judge(l).Verdict
}

// mutations are the mutations of the search by their names.
var mutations = map[string]searchmutation.Mutation{
	"no step is visible":                           searchmutation.NothingVisible,
	"an entry before tokens are checked":           searchmutation.EntryBeforeToken,
	"a delivery before the process's own request":  searchmutation.OverRequest,
	"a delivery without the faults of its process": searchmutation.WithoutFaults,
	"others left out after a delivery":             searchmutation.AfterDelivery,
	"deliveries from servers that may drop them":   searchmutation.IgnoreTimeouts,
	"keys without what properties remember":        searchmutation.WithoutMonitorState,
	"reactions cached without the time":            searchmutation.UntimedCache,
	"keys without the step before":                 searchmutation.WithoutLastStep,
	"local histories that only look the same":      searchmutation.ByAppearance,
	"keys with the memory of holders only":         searchmutation.HoldersOnly,
	"ways on that are forgotten":                   searchmutation.WithoutContinuations,
	"grants that are invisible":                    searchmutation.GrantsInvisible,
	"releases that are invisible":                  searchmutation.ReleasesInvisible,
	"keys without the faults that are left":        searchmutation.WithoutBudget,
	"a leaving while another holds the lock":       searchmutation.LeavingAmongHolders,
}
