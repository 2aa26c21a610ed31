package faults_test

import (
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/faults"
)

// Every kind has a unique name, which a plan can hold, and a meaning.
func TestKinds(t *testing.T) {
	var seen []string
	for k := range faults.Kinds {
		name := k.String()
		if name == "" || k.Meaning() == "" || slices.Contains(seen, name) {
			t.Errorf("kind %d is called %q and means %q", k, name, k.Meaning())
		}
		seen = append(seen, name)
		if plan, err := faults.Parse(name + "=1"); err != nil || !plan.Allows(k) {
			t.Errorf("%s=1 is parsed as %v, error %v", name, plan, err)
		}
	}
}
