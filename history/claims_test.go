package history_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

// TestClaimsGrow: each preset claims what the one before does and more, all of it properties that
// exist, none twice, and a change of what one call returns is not seen by the next.
func TestClaimsGrow(t *testing.T) {
	presets := []func() []history.Property{
		history.SpinLock, history.QueueLock, history.LeaseLock, history.FencedLock,
		check.Properties,
	}
	for i, preset := range presets {
		claims := preset()
		for _, p := range claims {
			if _, err := check.ParseProperty(string(p)); err != nil {
				t.Errorf("preset %d: %v", i, err)
			}
		}
		if sorted := slices.Sorted(slices.Values(claims)); len(slices.Compact(sorted)) != len(claims) {
			t.Errorf("preset %d claims a property twice: %v", i, claims)
		}
		if i > 0 {
			for _, p := range presets[i-1]() {
				if !slices.Contains(claims, p) {
					t.Errorf("preset %d does not claim %s, which the one before does", i, p)
				}
			}
			if len(claims) <= len(presets[i-1]()) {
				t.Errorf("preset %d claims no more than the one before", i)
			}
		}
		claims[0] = "changed"
		if preset()[0] == "changed" {
			t.Errorf("preset %d shares its memory between calls", i)
		}
	}
}
