package history

import (
	"fmt"
	"strings"
	"time"
)

// FormatSpan renders a length of time for people, such as "666 ms", "3.15 s" or "11 minutes".
func FormatSpan(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d >= 10*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	case d >= time.Second || d == 0:
		seconds := fmt.Sprintf("%d.%03d", d/time.Second, d%time.Second/time.Millisecond)
		return strings.TrimRight(strings.TrimRight(seconds, "0"), ".") + " s"
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
