package hunt

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// After a turn of each, half of the work goes to all locks alike, and half by new behaviours.
func TestShares(t *testing.T) {
	h := newHunt(t, t.TempDir(), "textbook", "mutex", "herd", "semaphore")
	turns := func(work ...float64) (turns [4]int) {
		for range 80 {
			index := h.next()
			turns[index]++
			h.findings[index].Turns++
			h.spend(index, work[index])
		}
		return turns
	}
	for want := range h.findings {
		if got := h.next(); got != want {
			t.Errorf("turn %d is of lock %d", want, got)
		}
		h.findings[want].Turns++
	}
	h.findings[2].Fresh, h.findings[2].FreshSteps = 10, 100
	if got := turns(1, 1, 1, 1); got != [4]int{10, 10, 50, 10} {
		t.Errorf("turns %v", got)
	}
	// A lock whose turns take more work has fewer, one of more weight more.
	h.findings[2].Fresh = 0
	h.Targets[3].Weight = 2
	if got := turns(1, 2, 1, 1); got != [4]int{18, 9, 18, 35} {
		t.Errorf("turns by work and weight %v", got)
	}
	// A lock with a failure has less, unless it shows new behaviour.
	h.Targets[3].Weight = 1
	for _, i := range []int{0, 1} {
		h.findings[i].Failures = []Failure{{}}
	}
	if got := h.shares(); !slices.Equal(got, []float64{.1, .1, .4, .4}) {
		t.Errorf("shares %v", got)
	}
	h.findings[0].Fresh, h.findings[0].FreshSteps = 1, 100
	if got := h.shares(); !slices.Equal(got, []float64{.55, .05, .2, .2}) {
		t.Errorf("shares by new behaviour %v", got)
	}
}

// Turns grow from a short first one, and are shorter where steps take longer.
func TestLengths(t *testing.T) {
	for _, tc := range []struct {
		lock   string
		client scenarios.ClientKind
		rows   int // configurations
		want   []int
	}{
		{"textbook", scenarios.Model, 8, []int{128, 256, 512, 1024, 2048, 4096, 4096}},
		{"textbook", scenarios.Real, 1, []int{64, 64, 64, 64, 102, 204, 204}},
		{"redlock", scenarios.Model, 17, []int{136, 136, 136, 136, 170, 341, 341}},
	} {
		scenario := locktest.Planned(t, locktest.Find(t, tc.lock, bundled.All()), 2, 1, "none")
		scenario.Client = tc.client
		target := Target{Configurations: slices.Repeat([]campaign.Configuration{{
			Scenario: scenario, Weight: 1,
		}}, tc.rows)}
		for turns, want := range tc.want {
			if got := target.schedules(turns); got != want {
				t.Errorf("%s: turn %d has %d schedules, not %d", tc.lock, turns, got, want)
			}
		}
	}
}
