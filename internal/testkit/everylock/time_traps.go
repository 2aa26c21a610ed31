package everylock

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A TimeTrap is a small lock that panics if a schedule passes a window between two instants, over
// which the search once let time jump. Without the defect, it takes the same steps and does not
// panic.
type TimeTrap struct {
	Name    string
	Service sim.Service // ZooKeeper if nil
	Clients int
	Plan    string
	Claim   history.Property // mutual exclusion of clients if ""
	Lock    func(_ context.Context, _ *scenarios.Process, rare func(bool)) (*scenarios.Hold, error)
}

func (tr *TimeTrap) subject(defective bool) scenarios.Subject {
	claim := history.ClientMutualExclusion
	if tr.Claim != "" {
		claim = tr.Claim
	}
	rare := func(is bool) {
		if is && defective {
			panic("the rare schedule")
		}
	}
	return scenarios.Subject{
		Name: tr.Name, Service: tr.Service, Claims: []history.Property{claim},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				return tr.Lock(ctx, p, rare)
			}), nil
		},
	}
}

// TimeTraps tests that time stops wherever a timer of a process fires or data expire, in searches
// with cached reactions and with live processes.
func TimeTraps(t *testing.T, traps []TimeTrap) {
	t.Helper()
	for i := range traps {
		tr := &traps[i]
		t.Run(tr.Name, func(t *testing.T) {
			plan := tr.Plan
			if plan == "" {
				plan = "none"
			}
			search := func(defective, live bool) *exhaustive.Search {
				s := locktest.Planned(t, tr.subject(defective), tr.Clients, 1, plan)
				e := ByDefault(s)
				e.NoReplayCache = live
				return e
			}
			for _, live := range []bool{false, true} {
				r := search(true, live).Run(t.Context(), t)
				if r.Failure == nil || r.Failure.Violations[0].Property != history.NoPanic {
					t.Errorf("live %v: no panic in %d schedules, complete %v", live, r.Schedules,
						r.Complete)
				}
			}
			r := search(false, false).Run(t.Context(), t)
			if !r.Complete || r.Failure != nil || r.Nondeterministic != nil {
				t.Errorf("without the defect: complete %v, failure %v, %v", r.Complete, r.Failure,
					r.Nondeterministic)
			}
		})
	}
}

// ByDefault returns the search of a user who gives no number of idle ticks.
func ByDefault(s scenarios.Scenario) *exhaustive.Search {
	return &exhaustive.Search{Scenario: s, IdleTicks: exhaustive.DefaultIdleTicks(&s)}
}
