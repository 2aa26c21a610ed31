package subjects_test

import (
	"os"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func TestQuick(t *testing.T) {
	r := scenarios.NewRunner(t)
	for _, s := range subjects.All() {
		sc := &scenarios.Scenario{Subject: s, Clients: 3, Cycles: 2, Faults: faults.Default()}
		counts := map[string]int{}
		var landed scenarios.Landed
		steps := 0
		for i := range 3000 {
			res := r.Run(sc, scenarios.NewRandom(1, i))
			steps += res.Steps
			landed.Add(&res.Landed)
			for _, v := range res.Violations {
				counts[v.Signature()]++
				if counts[v.Signature()] == 1 {
					t.Logf("%s schedule %d: %s %s", s.Name, i, v.Signature(), v.Detail)
					if s.Name == os.Getenv("SHOW") {
						tl := history.Timeline{Events: res.Events, Violations: res.Violations}
						tl.Write(os.Stdout)
					}
				}
			}
		}
		t.Log(s.Name, counts, landed, steps)
	}
}
