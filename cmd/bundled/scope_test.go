package bundled_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
)

// The sentence names every dimension of a search.
func TestScope(t *testing.T) {
	for _, tc := range []struct {
		name, lock, faults string
		change             func(*report.Scope)
		want               string
	}{
		{
			"the least", "mutex", "none", func(*report.Scope) {},
			"all schedules of 2 clients × 1 cycle on 1 server without faults; time passes only to " +
				"the next instant at which something happens, where nothing else can happen",
		},
		{
			"faults without a severity", "mutex", "crash=1", func(*report.Scope) {},
			"all schedules of 2 clients × 1 cycle on 1 server with at most these faults: crash=1; " +
				"time passes only to the next instant at which something happens, where nothing " +
				"else can happen and, while an effect of a fault waits for time, where no message " +
				"is in flight and no process is about to enter",
		},
		{
			"all numbers and the severity", "mutex", "any=1", func(s *report.Scope) {
				s.Scenario.Clients, s.Scenario.Threads, s.Scenario.Cycles = 3, 2, 2
				s.Scenario.Servers = 3
				s.Scenario.Severity = faults.Severity{Pause: time.Second, Drift: 7}
				s.MaxDeviations, s.Symmetry = 2, true
			},
			"all schedules of 3 clients × 2 threads × 2 cycles on 3 servers with at most these " +
				"faults: any=1 (pauses up to 1s, clocks within 7 %) that deviate from the default " +
				"policy at most 2 times; time passes at any moment, to the next instant at which " +
				"something happens, by at most 1 s where something else can happen; processes that " +
				"have sent only syncs are interchangeable",
		},
		{
			"data that expire", "setnx-lease", "none", func(s *report.Scope) {
				s.IdleTicks, s.FairSuffixes = 1, true
			},
			"all schedules of 2 clients × 1 cycle on 1 server without faults; time passes only to " +
				"the next instant at which something happens, where nothing else can happen and, " +
				"while stored data wait for their expiry, where no message is in flight and no " +
				"process is about to enter, and at 1 other moment of a schedule; the fair phase " +
				"begins in every state",
		},
		{
			"data that expire, and faults", "setnx-lease", "crash=1", func(s *report.Scope) {
				s.IdleTicks = 2
			},
			"all schedules of 2 clients × 1 cycle on 1 server with at most these faults: crash=1; " +
				"time passes only to the next instant at which something happens, where nothing " +
				"else can happen and, while stored data wait for their expiry or an effect of a " +
				"fault waits for time, where no message is in flight and no process is about to " +
				"enter, and at 2 other moments of a schedule",
		},
	} {
		subject, err := bundled.Named(tc.lock)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := faults.Parse(tc.faults)
		if err != nil {
			t.Fatal(err)
		}
		scope := &report.Scope{Scenario: &scenarios.Scenario{
			Subject: subject, Clients: 2, Cycles: 1, Faults: plan,
		}}
		if tc.change(scope); scope.String() != tc.want {
			t.Errorf("%s:\n%v\nwant\n%s", tc.name, scope, tc.want)
		}
	}
	real := &report.Scope{Scenario: &scenarios.Scenario{Clients: 1, Cycles: 3, Client: scenarios.Real}}
	const want = "50 schedules of 1 client × 3 cycles on 1 server with the real client without faults"
	if got := real.Sampled("50 schedules"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
