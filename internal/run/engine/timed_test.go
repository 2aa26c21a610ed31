package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/register"
	"github.com/interlock-sim/interlock/scenarios"
)

// timedLock is a lock that makes a call with a time limit before it acquires.
func timedLock(limit time.Duration, call func() error) scenarios.Subject {
	s := register.Lock("timed", true)
	s.Claims = append(s.Claims, history.Promptness)
	open := s.Open
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		locker, err := open(p)
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			if err := scenarios.Timed(ctx, limit, call); err != nil {
				return nil, err
			}
			return locker.Lock(ctx)
		}), err
	}
	return s
}

// A call that panics has ended: the panic is all that is wrong. A negative limit counts as 0.
func TestTimed(t *testing.T) {
	for name, tc := range map[string]struct {
		call   func() error
		panics bool
	}{
		"returns": {func() error { return nil }, false},
		"panics":  {func() error { panic("on purpose") }, true},
	} {
		s := scenarios.Scenario{Subject: timedLock(-time.Hour, tc.call), Clients: 2, Cycles: 1}
		r := engine.NewRunner(t).Run(&s, strategy.NewRandom(1, 0))
		calls := 0
		for i := range r.Events {
			switch e := &r.Events[i]; e.Kind {
			case history.TimedCall:
				calls++
				if e.Validity != 0 {
					t.Errorf("%s: the limit is %v", name, e.Validity)
				}
			case history.TimedReturn:
				calls--
				if (e.Err != "") != tc.panics {
					t.Errorf("%s: the call returns the error %q", name, e.Err)
				}
			}
		}
		if calls != 0 {
			t.Errorf("%s: %d calls are open", name, calls)
		}
		for _, v := range r.Violations {
			if !tc.panics || v.Property != history.NoPanic {
				t.Errorf("%s: %v", name, v)
			}
		}
		if tc.panics && len(r.Violations) == 0 {
			t.Errorf("%s: no violation", name)
		}
	}
}
