package certify

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
)

// Progress of replays is a line for each interval.
func TestReplayProgress(t *testing.T) {
	var stderr strings.Builder
	p := judge.NewProgress(&stderr)
	for i := range 6 {
		sayReplayed(p, time.Duration(i)*time.Second, i, 6, "fail.json")
	}
	want := "replayed 2 of 6 recordings, next fail.json\n" +
		"replayed 4 of 6 recordings, next fail.json\n"
	if stderr.String() != want {
		t.Errorf("%q", stderr.String())
	}
}
