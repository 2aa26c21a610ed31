package referee_test

import (
	"flag"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/referee"
)

var (
	locks = flag.Int("locks", 25, "number of random locks")
	from  = flag.Uint64("from", 0, "seed of the first lock")
)

// The exhaustive search and plain runs agree on random locks.
func TestSearchAgreesWithPlainRuns(t *testing.T) {
	r := referee.New(t)
	counts := make(map[referee.Verdict]int)
	claims := make(map[history.Property]int)
	for seed := *from; seed < *from+uint64(*locks); seed++ {
		if judged := seed - *from; judged > 0 && judged%500 == 0 {
			t.Logf("%d locks: %v", judged, counts)
		}
		l := r.Draw(seed)
		verdict, schedule, report := r.Judge(t, l)
		counts[verdict]++
		if verdict == referee.Found {
			claims[l.Claim]++
		}
		if verdict == referee.Loss || verdict == referee.FalseAlarm {
			t.Errorf("seed %d: %s", seed, referee.Describe(l, verdict, schedule, report))
			small := r.Shrink(t, l, verdict)
			verdict, schedule, report = r.Judge(t, small)
			t.Logf("seed %d, shrunk: %s", seed, referee.Describe(small, verdict, schedule, report))
		}
	}
	t.Logf("%v, found by claim %v", counts, claims)
}
