package faults_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
)

// Every kind has a unique name, which a plan can hold, a meaning, and an effect on its victim.
func TestKinds(t *testing.T) {
	var seen []string
	for k := range faults.Kinds {
		name := k.String()
		if name == "" || k.Meaning() == "" || slices.Contains(seen, name) {
			t.Errorf("kind %d is called %q and means %q", k, name, k.Meaning())
		}
		seen = append(seen, name)
		if strings.Count(k.Effect("c1"), "c1") != 1 {
			t.Errorf("%v has the effect %q", k, k.Effect("c1"))
		}
		if plan, err := faults.Parse(name + "=1"); err != nil || !plan.Allows(k) {
			t.Errorf("%s=1 is parsed as %v, error %v", name, plan, err)
		}
	}
}
