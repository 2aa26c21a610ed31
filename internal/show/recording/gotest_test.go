package recording_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/show/recording"
)

// The command that searches again sets variables for go test, and the flags of interlock test where
// there are such. It quotes what a shell would change.
func TestSearchCommand(t *testing.T) {
	settings := []recording.Setting{
		{Variable: "INTERLOCK_SEED", Flag: "seed", Value: "7"},
		{Variable: "INTERLOCK_FAULTS", Flag: "faults", Value: "cut:1=1"},
		{Variable: "INTERLOCK_STALL", Value: "it's"},
	}
	for want, test := range map[string]*recording.GoTest{
		`INTERLOCK_SEED=7 INTERLOCK_FAULTS=cut:1=1 INTERLOCK_STALL='it'\''s' ` +
			`go test -count=1 -run '^TestLock$/^fair$' 'example.com/a~b'`: {Name: "TestLock/fair"},
		`INTERLOCK_STALL='it'\''s' interlock test . --run '^TestLock$' --seed=7 ` +
			`--faults=cut:1=1`: {Name: "TestLock", By: "interlock test ."},
	} {
		if got := test.SearchCommand(settings, "example.com/a~b"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
