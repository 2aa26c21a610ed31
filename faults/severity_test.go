package faults_test

import (
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
)

// Severities outside of their limits are invalid.
func TestSeverityValidate(t *testing.T) {
	for _, b := range []faults.Severity{
		{},
		{Pause: -1},
		{Pause: time.Hour},
		{Pause: time.Second, Drift: -1},
		{Pause: time.Second, Drift: 91},
	} {
		if b.Validate() == nil {
			t.Errorf("%v is valid", b)
		}
	}
	usual := faults.DefaultSeverity()
	if err := usual.Validate(); err != nil || !usual.Within(usual) ||
		(faults.Severity{Pause: time.Minute, Drift: 1}).Within(usual) {
		t.Errorf("the default severity: error %v, within itself: %v", err, usual.Within(usual))
	}
}
