package bundled_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A lock is known to be broken exactly if its summary or the museum says so, and the flags that show
// it are possible.
func TestKnownFlaw(t *testing.T) {
	for _, lock := range bundled.All() {
		flaw, broken := bundled.KnownFlaw(lock.Name)
		if want := strings.HasPrefix(lock.Summary, "broken: "); broken != want {
			t.Errorf("%s is broken: %v, and its summary %q", lock.Name, broken, lock.Summary)
		}
		if flaw.Faults == "" {
			continue
		}
		plan, err := faults.Parse(flaw.Faults)
		if err != nil {
			t.Errorf("%s: %v", lock.Name, err)
		}
		for kind := range faults.Kinds {
			if plan.Names(kind) && !lock.Service.Supports(kind) {
				t.Errorf("%s has no fault %v", lock.Name, kind)
			}
		}
	}
	for _, d := range subjects.Museum() {
		if flaw, broken := bundled.KnownFlaw(d.Name); !broken || flaw.Property != d.Property {
			t.Errorf("%s: broken %v, %s", d.Name, broken, flaw.Property)
		}
		if _, broken := bundled.KnownFlaw(d.Fixed.Name); broken {
			t.Errorf("%s is broken", d.Fixed.Name)
		}
	}
}
