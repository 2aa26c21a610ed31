// Package everylock has tests of what holds for every lock. Tests of a package call them with the
// bundled locks on ZooKeeper, and those of package bundled with the others.
package everylock

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// SameSeedSameBytes tests that equal decisions yield equal histories, byte for byte, in every
// runner and after any other runs.
func SameSeedSameBytes(t *testing.T, locks []scenarios.Subject) {
	t.Helper()
	schedules := long.Count(6, 40)
	if real.RaceDetector {
		// With the race detector, each schedule takes ten times as long and covers the same code.
		schedules = 10
	}
	for _, subject := range locks {
		t.Run(subject.Name, func(t *testing.T) {
			s := locktest.Scenario(subject, 3, 2, 3)
			first, second := engine.NewRunner(t), engine.NewRunner(t)
			for i := range schedules {
				a := first.Run(s, strategy.NewRandom(9, i))
				aHash, aKeys, aSteps := a.TraceHash, slices.Clone(a.Keys), a.Steps
				b := second.Run(s, strategy.NewRandom(9, i))
				if aHash != b.TraceHash || aSteps != b.Steps || !slices.Equal(aKeys, b.Keys) {
					t.Fatalf("schedule %d differs", i)
				}
				c := second.Run(s, &engine.Replay{Deviations: slices.Clone(b.Deviations)})
				if aHash != c.TraceHash {
					t.Fatalf("the replay of schedule %d differs", i)
				}
			}
		})
	}
}
