package explain_test

import (
	"fmt"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Failures of random schedules, which are longer than counterexamples, are explained too: the
// texts are about events of the history, and the timeline shows those of the first.
func TestRandomFailures(t *testing.T) {
	for i, defect := range subjects.Defects() {
		for _, servers := range []int{1, 3} {
			if !long.Enabled() && (servers == 1) == (i%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", defect.Name, servers), func(t *testing.T) {
				scenario := &scenarios.Scenario{
					Subject: defect.Broken, Clients: 3, Cycles: 2,
					Servers: servers,
					Faults:  faults.Default(),
				}
				runner := engine.NewRunner(t)
				runner.GatherFacts(true)
				for schedule := range long.Count(15, 30) {
					result := runner.Run(scenario, strategy.NewRandom(1, schedule))
					if len(result.Violations) == 0 {
						continue
					}
					everylock.CheckExplained(t,
						explain.NewReport("", timeline.Lock, result.Events, result.Violations))
				}
			})
		}
	}
}
