package workqueue

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// A record is small once the first ranges have filled the sets. docs/cluster.md has the figures
// that this test logs under `make long`.
func TestSizes(t *testing.T) {
	schedules := long.Count(100, 2000)
	subject, err := bundled.Named("mutex")
	if err != nil {
		t.Fatal(err)
	}
	c := &campaign.Campaign{
		Seed: 1, Schedules: 10 * schedules, Strategy: "round-robin", Workers: 1,
		Configurations: campaign.DefaultConfigurations(),
		Range:          report.Range{From: schedules, To: 2 * schedules},
	}
	for i := range c.Configurations {
		c.Configurations[i].Subject = subject
	}
	c.Scenario = c.Configurations[0].Scenario
	for _, seen := range []report.SeenRecord{
		{}, {StatesCapped: true}, {StatesCapped: true, HistoriesFull: true},
	} {
		c.Seen = &seen
		record := encode(shard.New(build, c, c.Run(t.Context(), t)))
		began := time.Now()
		if _, err := shard.Decode("record", record); err != nil {
			t.Fatal(err)
		}
		t.Logf("record of %d schedules, full states %v, full histories %v: %d bytes, decoded in %v",
			schedules, seen.StatesCapped, seen.HistoriesFull, len(record), time.Since(began))
		if seen.HistoriesFull && len(record) > recordMax {
			t.Errorf("a record without keys has %d bytes", len(record))
		}
	}
	p := Plan{Build: build, Campaign: shard.Describe(c), RangeSchedules: schedules}
	t.Logf("state %d bytes, result %d bytes, heartbeat %d bytes",
		len(encode(&state{Plan: p})), len(encode(&result{"a record of 22 letters", "worker-1234"})),
		len(encode(&heartbeat{"worker-1234", 1234, 1234, 1234.5678901234567})))
}

// recordMax bounds the size of a record without keys, in bytes.
const recordMax = 64 << 10
