package subjects_test

import (
	"path/filepath"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Schedules in which an earlier version of the production lock violated a property violate none
// now, and still exercise that property.
func TestFixedSchedules(t *testing.T) {
	for _, name := range []string{
		// A lease queried the server although its client already knew that the session was over.
		"closed-session",
		"closed-session-three-servers", // The same; the client reconnects at once.
	} {
		t.Run(name, func(t *testing.T) {
			recording, err := recording.Read(filepath.Join("testdata", "fixed",
				name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := subjects.Named(recording.Lock)
			if err != nil {
				t.Fatal(err)
			}
			scenario, err := recording.Scenario(subject)
			if err != nil {
				t.Fatal(err)
			}
			for _, client := range []scenarios.ClientKind{scenarios.Model, scenarios.Real} {
				scenario.Client = client
				result := engine.NewRunner(t).Run(scenario,
					&engine.Replay{Deviations: recording.Deviations})
				if len(result.Violations) > 0 {
					t.Errorf("%v:\n%s", scenario, result.Describe(scenario))
				}
				var x check.Vacuity
				x.Add(result.Events, scenario.Subject.EffectiveLimits())
				if result.Coverage.Total(faults.CloseSession) != 1 ||
					x.Of(history.SessionLoss) == 0 {
					t.Errorf("%v: the schedule no longer exercises session-loss", scenario)
				}
			}
		})
	}
}
