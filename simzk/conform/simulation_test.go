package conform_test

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// startSimulation starts a simulated server with the features enabled by StartReal and returns its
// address.
func startSimulation(t *testing.T, version simzk.Version) string {
	t.Helper()
	server, err := tcp.Start(tcp.Config{Cluster: simzk.Config{
		// The password is test.
		Version: version, ExtendedTypes: true, SuperDigest: "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
	}}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.Addresses()[0]
}

// TestFactsOfSimulation compares the facts of simulated servers with those on file.
func TestFactsOfSimulation(t *testing.T) {
	for release, version := range map[string]simzk.Version{"3.8.0": simzk.V38, "3.9.4": simzk.V39} {
		address := startSimulation(t, version)
		want := golden(t, release)
		for _, d := range conform.Deviations(facts(t, address)[:len(want)], want) {
			t.Errorf("%s: %s", release, d)
		}
	}
}

// TestSimulationMatchesReal compares the simulation with a real server. The command interlock
// conform makes longer runs.
func TestSimulationMatchesReal(t *testing.T) {
	o := options(startSimulation(t, simzk.V38), startReal(t))
	difference, stats, err := conform.Differ(t.Context(), o)
	if difference != nil || err != nil {
		t.Fatal(difference, err)
	}
	if stats.Operations != o.Operations || stats.Events < 300 {
		t.Errorf("%d operations with %d events", stats.Operations, stats.Events)
	}
}

// TestReleasesDiffer checks that a comparison finds the differences between releases.
func TestReleasesDiffer(t *testing.T) {
	difference, _, err := conform.Differ(t.Context(), options(startSimulation(t, simzk.V38),
		startSimulation(t, simzk.V39)))
	if difference == nil || err != nil {
		t.Errorf("releases 3.8 and 3.9: difference %v, error %v", difference, err)
	}
}
