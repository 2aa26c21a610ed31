package subjects_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Histories of correct locks satisfy every model that applies to the lock, on one server and on
// three, with any faults.
func TestRecordedHistoriesFitModels(t *testing.T) {
	tokens := []string{"mutex", "owner", "fenced", "reentrant", "queue", "register", "tree"}
	others := []string{"mutex", "owner", "reentrant", "queue", "tree"}
	for name, want := range map[string][]string{
		"mutex": tokens, "reentrant": tokens,
		"session": tokens, "careful": tokens, "textbook": others,
	} {
		for _, servers := range []int{0, 3} {
			operations := checkModels(t, name, servers, want)
			for model, count := range operations {
				if count < long.Count(60, 200) {
					t.Errorf("%s, %d servers: the model %s checked only %d operations", name,
						servers, model, count)
				}
			}
		}
	}
}

// checkModels checks schedules against models and returns the number of checked operations per
// model.
func checkModels(t *testing.T, lock string, servers int, names []string) map[string]int {
	subject, err := subjects.Named(lock)
	if err != nil {
		t.Fatal(err)
	}
	scenario := &scenarios.Scenario{
		Subject: subject, Clients: 3, Cycles: 2, Servers: servers,
		Faults: faults.Of(faults.Any, 2),
	}
	runner, judged := engine.NewRunner(t), make(map[string]int)
	for i := range long.Count(20, 60) {
		events := runner.Run(scenario, strategy.NewRandom(3, i)).Events
		for _, m := range check.Models() {
			if !slices.Contains(names, m.Name) {
				continue
			}
			operations := m.Operations(events)
			judged[m.Name] += len(operations)
			if verdict := models.Check(m.Model, operations,
				models.Limits{}); verdict != models.Holds {
				t.Errorf("%s, %d servers, schedule %d: model %s: %v", lock, servers, i, m.Name,
					verdict)
			}
			if m.Besides == nil {
				continue
			}
			if v := m.Besides(events); v != nil {
				t.Errorf("%s, %d servers, schedule %d: model %s: %v", lock, servers, i, m.Name,
					v.Detail)
			}
		}
	}
	return judged
}

// Every model that a lock can violate is violated by some history of a broken lock.
func TestRecordedHistoriesViolateModels(t *testing.T) {
	for model, lock := range map[string]string{
		"mutex": "no-recheck", "owner": "no-recheck", "queue": "name-order",
		"fenced":    "session-token",
		"reentrant": "no-recheck", "register": "unguarded",
	} {
		subject, err := subjects.Named(lock)
		if err != nil {
			t.Fatal(err)
		}
		scenario := &scenarios.Scenario{
			Subject: subject, Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		}
		runner, all := engine.NewRunner(t), check.Models()
		m := &all[slices.IndexFunc(all,
			func(m check.ModelOperations) bool { return m.Name == model })]
		broken := false
		for i := 0; i < 2000 && !broken; i++ {
			events := runner.Run(scenario, strategy.NewRandom(1, i)).Events
			broken = models.Check(m.Model, m.Operations(events), models.Limits{}) == models.Violated
		}
		if !broken {
			t.Errorf("%s: the model %s holds", lock, model)
		}
	}
}
