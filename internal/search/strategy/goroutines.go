package strategy

import (
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// goroutineRates are the shares of choices, in eighths, in which a schedule deviates from the
// default order of goroutines. Each schedule draws one.
var goroutineRates = [...]uint64{0, 1, 4, 8}

// A randomOrder draws the order of goroutines.
type randomOrder struct {
	random *Random
	rate   uint64
}

// Goroutines returns the strategy that orders the goroutines of a schedule of a campaign.
func Goroutines(seed uint64, schedule int) engine.GoroutineStrategy {
	r := NewRandom(seed^0x676f726f7574696e, schedule)
	return &randomOrder{r, goroutineRates[r.Below(uint64(len(goroutineRates)))]}
}

// ChooseGoroutine draws a choice.
func (o *randomOrder) ChooseGoroutine(_ int, choices []sim.EnabledStep) int {
	if o.random.Below(8) >= o.rate {
		return 0
	}
	return int(o.random.Below(uint64(len(choices))))
}
