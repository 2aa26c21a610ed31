package redislocks_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// A pause outlasts the keys that a Redis server stores, within the lock's contract, unless the
// scenario says how long pauses last.
func TestPauseOutlastsData(t *testing.T) {
	const ordinary = 200 * time.Millisecond
	for _, tc := range []struct {
		name     string
		contract time.Duration
		severity faults.Severity
		most     time.Duration // of all pauses; keys live for 500 ms
	}{
		{"contract of a minute", time.Minute, faults.Severity{}, 1500 * time.Millisecond},
		{"contract of 0.7 s", 700 * time.Millisecond, faults.Severity{}, 700 * time.Millisecond},
		{"contract below the default", 100 * time.Millisecond, faults.Severity{}, ordinary},
		{"given", time.Minute, faults.Severity{Pause: 300 * time.Millisecond}, 300 * time.Millisecond},
	} {
		lock := redislocks.SetNXLease()
		lock.Severity.Pause = tc.contract
		s := locktest.Planned(t, lock, 2, 2, "pause@hold=1")
		s.Severity = tc.severity
		runner, longest := engine.NewRunner(t), time.Duration(0)
		for schedule := range long.Count(60, 200) {
			paused := time.Duration(-1)
			for _, e := range runner.Run(&s, strategy.NewRandom(1, schedule)).Events {
				switch {
				case e.Kind == history.Fault && e.Name == faults.Pause.String():
					paused = e.At
				case e.Kind == history.Resumed && paused >= 0:
					longest = max(longest, e.At-paused)
				}
			}
		}
		if longest > tc.most || longest < tc.most-ordinary {
			t.Errorf("%s: the longest pause is %v, want %v", tc.name, longest, tc.most)
		}
	}
}
