package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/testkit/register"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// In the fair phase a process must get the lock within 60 s, which count from the end of a pause.
// When the phase began during the pause makes no difference: a search relies on a fair phase that
// allows no more time from any of its states on than a fair phase that begins in that state.
func TestFairPhaseCountsFromEndOfPause(t *testing.T) {
	const resumes = 30 * time.Second
	for _, begins := range []int{2, 10} { // seconds
		for locks, inTime := range map[time.Duration]bool{
			resumes + 58*time.Second: true, resumes + 62*time.Second: false,
		} {
			subject := register.Lock("late", true)
			open := subject.Open
			subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
				locker, err := open(p)
				if p.Number == 2 {
					return locker, err
				}
				register.PauseUntil(p, resumes)
				return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
					for began := time.Now(); time.Since(began) < locks && ctx.Err() == nil; {
						time.Sleep(time.Second) // Virtual time: the run is in a bubble of synctest.
					}
					return locker.Lock(ctx)
				}), err
			}
			s := scenarios.Scenario{Subject: subject, Clients: 2, Cycles: 1}
			r := engine.NewRunner(t).Run(&s, &engine.Replay{Deviations: []engine.Deviation{
				{Index: 6 + begins, Step: sim.Step{Kind: sim.Fair}}, // c2 has finished in 6 steps.
			}})
			fair := slices.IndexFunc(r.Events, func(e history.Event) bool {
				return e.Kind == history.FairPhase
			})
			if at := r.Events[fair].At; at != time.Duration(begins)*time.Second {
				t.Errorf("the fair phase begins at %v, want %d s", at, begins)
			}
			if (len(r.Violations) == 0) != inTime {
				t.Errorf("fair phase from %d s, lock at %v: %v", begins, locks, r.Violations)
			}
		}
	}
}
