package interlock

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// noteUnclaimed notes what the lock could claim, for a reader of go test -v or of interlock test.
func (v *verdict) noteUnclaimed(ctx context.Context, t *testing.T, c *campaign.Campaign) {
	if c.Strategy == strategy.ExhaustiveName || !testing.Verbose() && v.path == "" {
		return
	}
	schedules := min(recording.UnclaimedSchedules, c.Schedules)
	v.HeldUnclaimed = c.Unclaimed(ctx, t, schedules)
}
