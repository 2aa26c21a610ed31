package conform_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// comparePausedLeader compares a leader that is paused with the facts on file, which are those of
// ZooKeeper 3.8.0.
func comparePausedLeader(t *testing.T, leader, other string, pause, resume func() error) {
	t.Helper()
	compareFacts(t, "testdata/paused-leader.txt", func(report func(fact string)) error {
		return conform.PausedLeaderFacts(t.Context(), leader, other, pause, resume, report)
	})
}

// compareFacts compares facts with those in a file.
func compareFacts(t *testing.T, path string, report func(func(fact string)) error) {
	t.Helper()
	var facts []string
	if err := report(func(fact string) { facts = append(facts, fact) }); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range conform.Deviations(facts, strings.Split(strings.TrimSuffix(string(golden),
		"\n"), "\n")) {
		t.Error(d)
	}
}

// TestPausedLeaderOfSimulation compares a simulated ensemble with the facts on file.
func TestPausedLeaderOfSimulation(t *testing.T) {
	server, err := tcp.Start(tcp.Config{
		Cluster: simzk.Config{Lag: true, TickTime: 100 * time.Millisecond},
	}, "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const leader = 2
	comparePausedLeader(t, server.Addresses()[leader], server.Addresses()[0],
		func() error { return server.Pause(leader) },
		func() error { return server.Resume(leader) })
}

// TestPausedLeaderOfReal compares the facts on file with Debian's ZooKeeper.
func TestPausedLeaderOfReal(t *testing.T) {
	long.Only(t) // The others elect a leader after five ticks.
	leader, followers := startRealEnsemble(t, func(*conform.RealServer) error { return nil })
	comparePausedLeader(t, leader.Address, followers[0].Address, leader.Pause, leader.Resume)
}
