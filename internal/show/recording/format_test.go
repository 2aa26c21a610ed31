package recording_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A recording leaves out what has its default. Its checksum depends on every byte, so stored
// recordings are readable only if the names and their order stand.
func TestRecordingFormat(t *testing.T) {
	least := *locktest.Scenario(subjects.Mutex(), 2, 1, 0)
	least.Threads = 1
	most := least
	most.Threads, most.Servers = 2, 3
	most.Faults = faults.MustParse("cut@hold=1,any=2")
	most.Severity = faults.Severity{Pause: time.Second, Drift: 9}
	const head, tail = `{"format":"interlock-schedule","version":3,"lock":"mutex",`,
		`"seed":0,"schedule":0,"deviations":[],"trace_hash":"0000000000000000","property":"",` +
			`"signature":"","checksum":""}`
	for _, tc := range []struct {
		scenario scenarios.Scenario
		client   scenarios.ClientKind
		want     string
	}{
		{least, scenarios.Model, `"clients":2,"cycles":1,"faults":"none",`},
		{most, scenarios.Real, `"clients":2,"cycles":1,"threads":2,"faults":"cut@hold=1,any=2",` +
			`"severity":{"pause_ns":1000000000,"drift_percent":9},"client":"real","servers":3,`},
	} {
		s := tc.scenario.Resolved()
		c, err := recording.NewPassing(engine.NewRunner(t), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		// The real client itself does not run under the race detector.
		s.Client, c.Recording.Client, c.Recording.TraceHash = tc.client, tc.client, 0
		text, err := json.Marshal(c.Recording)
		if want := head + tc.want + tail; err != nil || string(text) != want {
			t.Errorf("%s, error %v, want\n%s", text, err, want)
		}
		again, err := c.Recording.Scenario(s.Subject)
		if err != nil || again.String() != s.String() {
			t.Errorf("%v, error %v, was %v", again, err, &s)
		}
	}
}
