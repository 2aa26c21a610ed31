package history_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/history"
)

func TestFormatSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 666666666: "666 ms", time.Second: "1 s", 3150 * time.Millisecond: "3.15 s",
		100 * time.Second: "100 s", 11*time.Minute + time.Second: "11 minutes", 3 * time.Hour: "3 hours",
	} {
		if got := history.FormatSpan(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
