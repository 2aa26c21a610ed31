package report

import (
	"fmt"
	"time"
)

// MarginSeconds returns a margin in seconds, to the millisecond. A negative margin is at least
// -0.001: its sign says that the time was over, so rounding must not take it away.
func MarginSeconds(margin time.Duration) string {
	if margin < 0 {
		margin = min(margin, -time.Millisecond)
	}
	return fmt.Sprintf("%.3f", margin.Seconds())
}
