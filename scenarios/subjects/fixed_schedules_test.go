package subjects_test

import (
	"path/filepath"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Schedules that once broke what the production lock promises, recorded with the lock as it was,
// break nothing any more, though they still put it to the test.
func TestMendedSchedules(t *testing.T) {
	for _, name := range []string{
		// a lease asked before it believed what its client knew: that its session was over
		"closed-session",
		"closed-session-three-servers", // the same, where the client comes back without a pause
	} {
		t.Run(name, func(t *testing.T) {
			recording, err := scenarios.ReadRecording(filepath.Join("testdata", "mended",
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
				result := scenarios.NewRunner(t).Run(scenario,
					&scenarios.Replay{Deviations: recording.Deviations})
				if len(result.Violations) > 0 {
					t.Errorf("%v:\n%s", scenario, result.Describe(scenario))
				}
				var x history.Vacuity
				x.Add(result.Events)
				if result.Coverage.Total(faults.CloseSession) != 1 ||
					x.Of(history.SessionLoss) == 0 {
					t.Errorf("%v: the schedule does not put the lock to the test any more",
						scenario)
				}
			}
		})
	}
}
