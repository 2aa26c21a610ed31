package shrink_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
)

// The recording of a failure that does not occur in every run of its schedule says how often it
// does.
func TestShortenUnstable(t *testing.T) {
	c := &campaign.Campaign{
		Scenario: *locktest.Scenario(locktest.SometimesNoLock(), 2, 1, 0), Seed: 1, Schedules: 100,
	}
	r := c.Run(context.Background(), t)
	if r.Failure == nil || !r.Failure.Unstable {
		t.Fatalf("failure %+v", r.Failure)
	}
	n := shorten(t, c, r).Recording.Reproduces
	if n.Runs != recording.ReproductionRuns || n.Failures < 6 || n.Failures > 7 {
		t.Errorf("a failure of every third run %v", n)
	}
}
