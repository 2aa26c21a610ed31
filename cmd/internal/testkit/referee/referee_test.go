package referee_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/internal/testkit/referee"
)

var (
	locks = flag.Int("locks", long.Count(3, 6), "number of random locks on one server")
	each  = flag.Int("each", 1, "number of random locks of each other dimension")
	only  = flag.String("dimension", "", "the only dimension")
	from  = flag.Uint64("from", 0, "seed of the first lock")
	first = flag.Bool("first", false, "stop after the first lock on which a search errs")
)

// The exhaustive search and plain runs agree on random locks.
func TestSearchAgreesWithPlainRuns(t *testing.T) {
	tally := referee.NewTally()
	t.Run("dimension", func(t *testing.T) {
		for i, d := range referee.Dimensions() {
			number := *each
			if i == 0 {
				number = *locks
			}
			if *only != "" && d.Name != *only {
				continue
			}
			t.Run(d.Name, func(t *testing.T) {
				t.Parallel()
				judge(t, d, number, tally)
			})
		}
	})
	t.Logf("violations found by both, by the search alone, or lost\n%v", tally)
}

// judge judges the given number of locks of a dimension.
func judge(t *testing.T, d *referee.Dimension, number int, tally *referee.Tally) {
	r := referee.New(t)
	for seed := *from; seed < *from+uint64(number) && !(*first && tally.Errs()); seed++ {
		if judged := seed - *from; judged > 0 && judged%100 == 0 {
			t.Logf("%d locks\n%v", judged, tally)
		}
		l := r.Draw(d, seed)
		j := r.Judge(l)
		tally.Add(l, j.Verdict)
		if l.Trivial() {
			t.Errorf("seed %d: no walk tests the claim of %v", seed, l)
		}
		if j.Verdict.Errs() {
			t.Errorf("seed %d: %s", seed, j.Describe(l))
			small := r.Shrink(l, j.Verdict)
			again := r.Judge(small)
			t.Logf("seed %d, shrunk: %s", seed, again.Describe(small))
		}
	}
}

// Locks claim every property of the table.
func TestEveryPropertyIsDrawn(t *testing.T) {
	drawn := referee.Drawn()
	for _, p := range check.Properties() {
		if !slices.Contains(drawn, p) {
			t.Errorf("no random lock claims %s", p)
		}
	}
}
