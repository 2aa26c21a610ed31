package engine_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/refusal"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/dial"
)

// Code whose client does not ask package dial is refused, whether it waits for ever or goes on as
// if it had a lock, and also after faults. Code that dials a simulated server is judged.
func TestUnreachedIsRefused(t *testing.T) {
	dials := func(p *scenarios.Process) error {
		conn, err := dial.Dial(nil, "tcp", p.Servers()[0], 0)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	for name, tc := range map[string]struct {
		lock    func(*scenarios.Process) error
		refused bool
	}{
		"waits":   {func(*scenarios.Process) error { select {} }, true},
		"goes on": {func(*scenarios.Process) error { return nil }, true},
		"probes": {func(p *scenarios.Process) error {
			conn, err := dial.NetDial("tcp", p.Servers()[0])
			if err == nil {
				err = conn.Close()
			}
			return err
		}, true},
		"dials": {dials, false},
	} {
		scenario := scenarios.Contend(name, func(p *scenarios.Process) (*scenarios.Hold, error) {
			return scenarios.Held(func() {}, nil), tc.lock(p)
		})
		scenario.Subject.Claims = []history.Property{history.ClientMutualExclusion}
		runner := engine.NewRunner(t)
		for schedule := range 20 {
			result := runner.Run(&scenario, strategy.NewRandom(1, schedule))
			why := ""
			for _, v := range result.Violations {
				why += engine.Refusal(v)
			}
			if strings.HasPrefix(why, refusal.Mark) != tc.refused {
				t.Errorf("%s, schedule %d: refused with %q, want a refusal: %v", name, schedule,
					why, tc.refused)
			}
		}
	}
}
