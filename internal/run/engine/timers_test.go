package engine_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/sim"
)

// timerTests are schedules, with the first event of a kind in each. The client is connected to a
// follower. Its session timeout is 4 s and the tick 2 s, so that it pings every 1.33 s, and the
// follower reports it every second.
var timerTests = []struct {
	name  string
	steps []string
	kind  history.Kind // the event whose first occurrence gives the time
	want  time.Duration
}{
	{
		"a session ends at a multiple of the tick",
		[]string{"expire c1"},
		history.SessionExpired, 6 * time.Second,
	},
	{
		"the multiples are shifted",
		[]string{"shift expiry 16", "expire c1"},
		history.SessionExpired, 4500 * time.Millisecond,
	},
	{
		"a later report delays the end",
		[]string{"shift expiry 16", "shift relay 40", "expire c1"},
		history.SessionExpired, 6500 * time.Millisecond,
	},
	{
		"after a ping",
		[]string{"shift c1 32", "after"},
		history.Tick, 4*time.Second/6 + time.Millisecond,
	},
	{
		"before a ping",
		[]string{"shift c1 32", "before"},
		history.Tick, 4*time.Second/6 - time.Millisecond,
	},
	{
		"before a report",
		[]string{"shift relay 16", "before"},
		history.Tick, 249 * time.Millisecond,
	},
	{
		"after an instant at which sessions end",
		[]string{"shift expiry 8", "after"},
		history.Tick, 251 * time.Millisecond,
	},
	{"a timer of no process", []string{"shift c9 8", "tick"}, history.Tick, time.Second},
}

// Shifts move the phases of timers, and time passes to just before or after a timer fires.
func TestTimers(t *testing.T) {
	for _, test := range timerTests {
		t.Run(test.name, func(t *testing.T) {
			scenario := locktest.Scenario(locktest.Named(t, "mutex"), 1, 1, 0)
			scenario.Servers, scenario.Faults = 3, faults.Of(faults.Expire, 1)
			var schedule []engine.Deviation
			for i, name := range test.steps {
				step, err := sim.ParseStep(name)
				if err != nil {
					t.Fatal(err)
				}
				schedule = append(schedule, engine.Deviation{Index: i, Step: step})
			}
			replay := &engine.Replay{Deviations: schedule}
			result := engine.NewRunner(t).Run(scenario, replay)
			if len(replay.Skipped) > 0 {
				t.Fatalf("not possible: %v", replay.Skipped)
			}
			for i := range result.Events {
				if e := &result.Events[i]; e.Kind == test.kind {
					if e.At.Round(time.Microsecond) != test.want.Round(time.Microsecond) {
						t.Errorf("%v at %v, want %v", e.Kind, e.At, test.want)
					}
					return
				}
			}
			t.Errorf("no %v", test.kind)
		})
	}
}
