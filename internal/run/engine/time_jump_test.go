package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/testkit/register"
	"github.com/interlock-sim/interlock/scenarios"
)

// A lock that acts within 10 minutes does not wait for ever. The run does not wait longer for
// one that looks every few milliseconds whether something has changed, which takes real time.
func TestTimeJumps(t *testing.T) {
	const stuckAfter = 12 * time.Minute // A run ends before.
	for name, tc := range map[string]struct {
		pause time.Duration // after which a process acts
		look  time.Duration // how often it looks before
		stuck bool
	}{
		"a second":              {time.Second, time.Second, false},
		"10 minutes":            {10 * time.Minute, 10 * time.Minute, false},
		"10 minutes of looking": {10 * time.Minute, 50 * time.Millisecond, false},
		"12 minutes":            {stuckAfter, stuckAfter, true},
		"looking for ever":      {1 << 62, 50 * time.Millisecond, true},
	} {
		looks := 0
		subject := register.Lock("sleeper", true)
		open := subject.Open
		subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
			locker, err := open(p)
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				for began := time.Now(); time.Since(began) < tc.pause && ctx.Err() == nil; looks++ {
					time.Sleep(tc.look) // Virtual time: the run is in a bubble of synctest.
				}
				return locker.Lock(ctx)
			}), err
		}
		s := scenarios.Scenario{Subject: subject, Clients: 1, Cycles: 1}
		r := engine.NewRunner(t).Run(&s, &engine.Replay{})
		stuck := false
		for _, v := range r.Violations {
			stuck = stuck || v.Property == history.Progress
		}
		if stuck != tc.stuck {
			t.Errorf("%s: waits for ever is %v, want %v: %v", name, stuck, tc.stuck, r.Violations)
		}
		end := r.Events[len(r.Events)-1].At
		if end > stuckAfter || looks > int(stuckAfter/tc.look)+1 {
			t.Errorf("%s: the run ends at %v, after %d looks", name, end, looks)
		}
	}
}
