package interlock

import (
	"context"
	"fmt"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/strategy"
)

// unclaimedSchedules is the number of schedules in which Check tries what a lock does not claim.
const unclaimedSchedules = 200

// unclaimed tells a reader of go test -v what the lock could claim.
func unclaimed(ctx context.Context, t *testing.T, c *campaign.Campaign) string {
	if !testing.Verbose() || c.Strategy == strategy.ExhaustiveName {
		return ""
	}
	schedules := min(unclaimedSchedules, c.Schedules)
	held := c.Unclaimed(ctx, t, schedules)
	if len(held) == 0 {
		return ""
	}
	text := fmt.Sprintf("\nnot claimed, but held in %d schedules; claim what the lock promises: ",
		schedules)
	for i, p := range held {
		if i > 0 {
			text += ", "
		}
		text += string(p)
	}
	return text
}
