package subjects_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Correct locks keep all that they claim when threads share what their Open returns.
func TestThreadsOfCorrectLocks(t *testing.T) {
	runner := engine.NewRunner(t)
	for _, subject := range subjects.Correct() {
		if subject.OneThread {
			continue
		}
		scenario := &scenarios.Scenario{
			Subject: subject, Clients: 2, Cycles: 2, Threads: 2,
		}
		for i := range long.Count(12, 40) {
			result := runner.Run(scenario, strategy.NewRandom(1, i))
			if len(result.Violations) > 0 {
				t.Errorf("%v, schedule %d: %v", scenario, i, result.Violations[0].Detail)
				break
			}
		}
	}
}
