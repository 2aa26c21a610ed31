package redislocks_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
)

// schedulesMax bounds the search for each finding.
const schedulesMax = 1500

// What each lock does not promise, and under which faults. A schedule with a finding gives the same
// history each time.
func TestFindings(t *testing.T) {
	for _, test := range long.Sample([]struct {
		lock scenarios.Subject
		plan string
		want history.Property
	}{
		{redislocks.SetNX(), "crash=1", history.Progress},
		{redislocks.SetNX(), "lose-reply=1", history.Progress},
		{redislocks.SetNX(), "stall-server=1", history.Progress},
		{redislocks.SetNX(), "fail-over=1", history.OwnRelease},
		{redislocks.SetNX(), "wipe-server=1", history.OwnRelease},
		{redislocks.SetNXExpire(), "none", history.ClientMutualExclusion},
		{redislocks.SetNXExpire(), "none", history.OwnRelease},
		{redislocks.SetNXExpire(), "crash=1", history.Progress},
		{redislocks.SetNXLease(), "pause@hold=2", history.ClientMutualExclusion},
		{redislocks.SetNXLease(), "jump-clock=1", history.ClientMutualExclusion},
		{redislocks.SetNXLease(), "wipe-server=1", history.ClientMutualExclusion},
		{redislocks.SetNXFenced(), "wipe-server=1", history.NoLostUpdate},
		{redislocks.SetNXFenced(), "fail-over=1", history.NoLostUpdate},
		{redislocks.SetNXLease(), "fail-over=1", history.ClientMutualExclusion},
		{redislocks.Redlock(), "jump-clock=2", history.ClientMutualExclusion},
		{redislocks.Redlock(), "wipe-server=2", history.ClientMutualExclusion},
		{redislocks.Redlock(), "pause@hold=2", history.ClientMutualExclusion},
		{redislocks.SetNXLease(), "fail-over=1", history.Validity},
		{redislocks.SetNXRenew(), "wipe-server=1", history.Validity},
		{redislocks.SetNXRenew(), "wipe-server=1", history.Extension},
		{redislocks.SetNXRenew(), "jump-clock=1", history.Extension},
		{redislocks.Redlock(), "wipe-server=2", history.Validity},
		{redislocks.RedlockExtend(), "wipe-server=2", history.Validity},
		{redislocks.RedlockSetOnExtend(), "jump-clock=2", history.Extension},
	}, 9) {
		t.Run(test.lock.Name+" "+test.plan+" "+string(test.want), func(t *testing.T) {
			s := scenario(t, test.lock, test.plan)
			runner := engine.NewRunner(t)
			for schedule := range schedulesMax {
				r := runner.Run(s, strategy.NewRandom(1, schedule))
				if violates(r, test.want) {
					repeats(t, runner, s, r)
					return
				}
			}
			t.Errorf("no schedule violates %s", test.want)
		})
	}
}

// A client that has lost its idle connection dials anew. The release of a holder whose server has
// lost the key arrives.
func TestReleaseAfterDisconnect(t *testing.T) {
	for _, plan := range []string{"wipe-server@hold=1", "fail-over@hold=1"} {
		s := scenario(t, redislocks.SetNX(), plan)
		runner, released := engine.NewRunner(t), 0
		for schedule := range 50 {
			struck, holder := int32(0), int32(0)
			for _, e := range runner.Run(s, strategy.NewRandom(1, schedule)).Events {
				switch {
				case e.Kind == history.LockReturn && e.Err == "":
					holder = e.Process
				case e.Kind == history.Fault:
					struck = holder
				case e.Kind == history.Executed && e.Process == struck && e.Op == "DEL lock":
					released++
					struck = 0
				case e.Kind == history.UnlockReturn && e.Process == struck:
					t.Fatalf("%s, schedule %d: no DEL of c%d arrives: %s", plan, schedule, struck,
						e.Err)
				}
			}
		}
		if released == 0 {
			t.Errorf("%s: no holder is struck", plan)
		}
	}
}

func violates(r *engine.Result, property history.Property) bool {
	for _, v := range r.Violations {
		if v.Property == property {
			return true
		}
	}
	return false
}

// repeats replays a schedule.
func repeats(t *testing.T, runner *engine.Runner, s *scenarios.Scenario, r *engine.Result) {
	t.Helper()
	hash := r.TraceHash
	replay := &engine.Replay{Deviations: append([]engine.Deviation(nil), r.Deviations...)}
	for n := range long.Count(5, 20) {
		if again := runner.Run(s, replay); again.TraceHash != hash {
			t.Fatalf("replay %d has trace hash %#x, want %#x", n, again.TraceHash, hash)
		}
	}
}

// A fencing token that the resource checks repairs what pauses and clocks break, the comparison of
// values the foreign release, and an extension by comparison the extension of a lost lock, as long
// as the servers keep their data.
func TestRemedies(t *testing.T) {
	const plan = "cut=1,lose-reply=1,crash=1,pause=2,jump-clock=1,fast-clock=1,stall-server=1"
	for _, test := range long.Sample([]struct {
		lock      scenarios.Subject
		plan      string
		holds     []history.Property
		violated  bool // another property
		schedules int
	}{
		{redislocks.SetNXFenced(), plan, redislocks.SetNXFenced().Claims, false, 300},
		{redislocks.RedlockFenced(), plan, redislocks.RedlockFenced().Claims, false, 30},
		{
			redislocks.SetNXLease(), plan,
			[]history.Property{history.OwnRelease, history.Progress},
			true, 200,
		},
		{redislocks.SetNXLease(), "pause@hold=2", []history.Property{history.Validity}, true, 200},
		{redislocks.SetNXRenew(), "none", redislocks.SetNXRenew().Claims, false, 200},
		{
			redislocks.RedlockExtend(), "pause=2",
			[]history.Property{history.Validity, history.Extension},
			false, 30,
		},
	}, 3) {
		s := scenario(t, test.lock, test.plan)
		runner, violated := engine.NewRunner(t), false
		for schedule := range long.Count(test.schedules/6, test.schedules) {
			r := runner.Run(s, strategy.NewRandom(2, schedule))
			violated = violated || len(r.Violations) > 0
			for _, property := range test.holds {
				if violates(r, property) {
					t.Errorf("%s: schedule %d violates %s: %s", test.lock.Name, schedule, property,
						r.Violations[0].Detail)
				}
			}
		}
		if violated != test.violated {
			t.Errorf("%s, %s: a property is violated: %v", test.lock.Name, test.plan, violated)
		}
	}
}

// redsync allows for clocks that run 1 % fast. Within that bound a validity time is honoured;
// beyond it a violation is out of contract. SETNX states no bound, so that a violation fails.
func TestValidityWithinClockBounds(t *testing.T) {
	for _, test := range []struct {
		lock             scenarios.Subject
		drift, schedules int
		violated, fails  bool
	}{
		{redislocks.Redlock(), 1, long.Count(10, 100), false, false},
		{redislocks.Redlock(), 50, 300, true, false},
		{redislocks.SetNXLease(), 50, 300, true, true},
	} {
		test.lock.Claims = []history.Property{history.Validity}
		s := scenario(t, test.lock, "fast-clock=3")
		s.Severity.Drift = test.drift
		runner, violated := engine.NewRunner(t), false
		for schedule := range test.schedules {
			r := runner.Run(s, strategy.NewRandom(1, schedule))
			if !violates(r, history.Validity) {
				continue
			}
			violated = true
			if got := r.Fails(s); got != test.fails {
				t.Errorf("%s, drift %d: the violation fails the lock: %v", test.lock.Name,
					test.drift, got)
			}
			break
		}
		if violated != test.violated {
			t.Errorf("%s, drift %d: violated: %v", test.lock.Name, test.drift, violated)
		}
	}
}

// scenario returns a scenario of three processes.
func scenario(t *testing.T, lock scenarios.Subject, plan string) *scenarios.Scenario {
	t.Helper()
	parsed, err := faults.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	s := scenarios.Scenario{
		Subject: lock, Clients: 3, Cycles: 2, Faults: parsed,
		Severity: faults.Severity{Pause: time.Second, Drift: 5},
	}.Resolved()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return &s
}
