package exhaustive_test

import (
	"context"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
)

// TestSearchPlacesAndModes searches all schedules of semaphores and of read-write locks: each
// defect is found, and the lock without it is correct in all schedules.
func TestSearchPlacesAndModes(t *testing.T) {
	for _, tc := range []struct {
		name    string
		places  int
		defect  locktest.QueueDefect
		clients int
		want    history.Property // "" if the search is complete
	}{
		{"three places", 3, locktest.NoDefect, 3, ""},
		{"two places", 2, locktest.NoDefect, 3, ""},
		{"readers and writers", 0, locktest.NoDefect, 3, ""},
		{"two readers and two writers", 0, locktest.NoDefect, 4, ""},
		{
			"one grant too many of two", 2, locktest.OneGrantTooMany, 3,
			history.ServerMutualExclusion,
		},
		{
			"one grant too many of three", 3, locktest.OneGrantTooMany, 4,
			history.ServerMutualExclusion,
		},
		{
			"a writer beside a reader", 0, locktest.WriterSeesWriters, 2,
			history.ServerMutualExclusion,
		},
		{"a reader overtakes a writer", 0, locktest.ReaderOvertakes, 4, history.FIFO},
		{"the second reader is not woken", 0, locktest.SecondReaderWaits, 4, history.Progress},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if (tc.clients > 3 || tc.places == 3) && tc.want == "" {
				long.Only(t)
			}
			t.Parallel()
			search := &exhaustive.Search{
				Scenario: scenarios.Scenario{
					Subject: locktest.Queue(tc.places, tc.defect),
					Clients: tc.clients, Cycles: 1,
				},
				MemoryLimit: exhaustive.DefaultMemoryLimit(),
			}
			r := search.Run(context.Background(), t)
			switch {
			case tc.want == "" && (!r.Complete || r.Failure != nil):
				t.Errorf("complete: %v, failure: %+v", r.Complete, r.Failure)
			case tc.want == "":
				t.Logf("complete after %d schedules", r.Schedules)
			case r.Failure == nil:
				t.Errorf("nothing found in %d schedules", r.Schedules)
			case !slices.ContainsFunc(r.Failure.Violations,
				func(v *history.Violation) bool { return v.Property == tc.want }):
				t.Errorf("found %+v, want %s", r.Failure.Violations[0], tc.want)
			}
		})
	}
}
