package conform_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// localSessionModes are the configurations of servers with local sessions.
var localSessionModes = []struct {
	name     string
	mode     simzk.LocalSessions
	settings []string
}{
	{"on", simzk.FixedLocalSessions, []string{"localSessionsEnabled=true"}},
	{"upgrade", simzk.UpgradedLocalSessions, []string{
		"localSessionsEnabled=true", "localSessionsUpgradingEnabled=true",
	}},
}

// localSessionFacts returns the facts of the leader and of a follower.
func localSessionFacts(t *testing.T, mode, leader, follower string) (facts []string) {
	t.Helper()
	report := func(fact string) { facts = append(facts, fact) }
	for _, run := range []struct{ role, address, other string }{
		{"leader", leader, follower}, {"follower", follower, leader},
	} {
		report(fmt.Sprintf("## %s, %s", mode, run.role))
		err := conform.LocalSessionFacts(t.Context(), run.address, run.other, report)
		if err != nil {
			t.Fatal(err)
		}
	}
	return facts
}

// localSessionGolden returns the facts on file, which are those of ZooKeeper 3.8.0.
func localSessionGolden(t *testing.T, mode string) []string {
	t.Helper()
	content, err := os.ReadFile("testdata/local-sessions-" + mode + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

// TestLocalSessionsOfSimulation compares the local sessions of simulated ensembles, whose servers
// have data of their own or share them, with the facts on file.
func TestLocalSessionsOfSimulation(t *testing.T) {
	for _, m := range localSessionModes {
		for _, lag := range []bool{false, true} {
			server, err := tcp.Start(tcp.Config{Cluster: simzk.Config{
				Lag: lag, ExtendedTypes: true, LocalSessions: m.mode,
			}}, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			addresses := server.Addresses() // The last one leads.
			got := localSessionFacts(t, m.name, addresses[2], addresses[0])
			for _, d := range conform.Deviations(got, localSessionGolden(t, m.name)) {
				t.Errorf("lag %v: %v", lag, d)
			}
		}
	}
}

// TestLocalSessionsOfReal compares the facts on file with Debian's ZooKeeper.
func TestLocalSessionsOfReal(t *testing.T) {
	long.Only(t) // It starts six servers.
	for _, m := range localSessionModes {
		leader, followers := startRealEnsemble(t, func(s *conform.RealServer) error {
			return s.Configure(m.settings...)
		})
		got := localSessionFacts(t, m.name, leader.Address, followers[0].Address)
		for _, d := range conform.Deviations(got, localSessionGolden(t, m.name)) {
			t.Error(d)
		}
	}
}
