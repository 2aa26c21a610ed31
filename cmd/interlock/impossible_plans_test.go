package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
)

// A fault plan that the search cannot run as it stands is refused in one line.
func TestImpossiblePlans(t *testing.T) {
	for arguments, want := range map[string]string{
		"--strategy exhaustive --faults cut@before-ping=1": "an exhaustive search knows no " +
			"instants, as in cut@before-ping=1: name a phase, or use another strategy",
		"--strategy exhaustive --faults cut=1,any@hold=1": "an exhaustive search needs plans in " +
			"which a fault counts as one entry, and some faults are of both cut and any@hold: " +
			"leave one of them out",
		"--lock redlock --faults cut@before-expiry=1": "--faults: the fault cut@before-expiry " +
			"cannot strike: the service of the lock redlock has no such timer",
		"--client real --faults cut@before-ping=1": "--faults: the fault cut@before-ping needs the " +
			"modelled client: another client keeps its own time",
	} {
		var stdout, stderr bytes.Buffer
		status := execute(t.Context(), t, append([]string{"check"}, strings.Fields(arguments)...),
			&stdout, &stderr)
		if status != exit.Usage || !strings.HasPrefix(stderr.String(), "interlock: "+want) ||
			strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: status %d, %s", arguments, status, &stderr)
		}
	}
}
