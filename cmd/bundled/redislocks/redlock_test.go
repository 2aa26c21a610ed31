package redislocks_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A wipe is a strategy by which all servers lose their data while c1 is in its critical section,
// and c2 enters before c1 leaves.
type wipe struct{ entered bool }

func (w *wipe) Choose(_ int, enabled []sim.EnabledStep, usual int) int {
	find := func(kind sim.StepKind, process int32) int {
		return slices.IndexFunc(enabled, func(s sim.EnabledStep) bool {
			return s.Step.Kind == kind && s.Step.Process == process
		})
	}
	if enter := find(sim.Enter, 1); enter >= 0 {
		return enter
	}
	leave := find(sim.Leave, 1)
	strike := slices.IndexFunc(enabled, func(s sim.EnabledStep) bool {
		return s.Step.Kind == sim.Fault
	})
	if leave >= 0 && strike >= 0 {
		return strike
	}
	if enter := find(sim.Enter, 2); enter >= 0 {
		w.entered = true
		return enter
	}
	if usual == leave && !w.entered {
		return find(sim.Tick, 0)
	}
	return usual
}

// A token of RedLock repairs a majority that forgets its keys as long as one server of each
// majority still knows the counter. It does not repair the loss of all counters: two holders get
// the same token.
func TestRedlockToken(t *testing.T) {
	for plan, want := range map[string]bool{"wipe-server=2": false, "wipe-server=3": true} {
		s := scenario(t, redislocks.RedlockFenced(), plan)
		s.Clients, s.Cycles = 2, 1
		runner := engine.NewRunner(t)
		r := runner.Run(s, new(wipe))
		inside := slices.IndexFunc(r.Events, func(e history.Event) bool {
			return e.Kind == history.Enter && e.Process == 2
		})
		leaves := slices.IndexFunc(r.Events, func(e history.Event) bool {
			return e.Kind == history.Leave && e.Process == 1
		})
		if inside < 0 || inside > leaves {
			t.Errorf("%s: c2 entered at event %d, and c1 left at %d", plan, inside, leaves)
		}
		if got := violates(r, history.NoLostUpdate); got != want {
			t.Errorf("%s: an update is lost: %v", plan, got)
		}
		if want {
			repeats(t, runner, s, r)
		}
	}
}
