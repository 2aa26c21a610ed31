package conform_test

import (
	"errors"
	"os"
	"testing"

	"github.com/interlock-sim/interlock/simzk/conform"
)

// startReal starts a ZooKeeper server for a test and returns its address. If none is installed, the
// test is skipped, unless INTERLOCK_REQUIRE_ZOOKEEPER=1.
func startReal(t *testing.T) string {
	t.Helper()
	address, stop, err := conform.StartReal(t.Context(), t.TempDir())
	skipWithoutReal(t, err)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return address
}

// startRealEnsemble starts three ZooKeeper servers for a test, as startReal does, each after
// configure, and returns the leader and the followers.
func startRealEnsemble(t *testing.T, configure func(s *conform.RealServer) error) (
	leader *conform.RealServer, followers []*conform.RealServer,
) {
	t.Helper()
	servers, err := conform.NewRealEnsemble(t.TempDir(), 3)
	skipWithoutReal(t, err)
	for _, s := range servers {
		if err := configure(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := conform.StartAll(t.Context(), servers); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		t.Cleanup(func() { s.Kill() })
		if s.Leads() {
			leader = s
		} else {
			followers = append(followers, s)
		}
	}
	return leader, followers
}

func skipWithoutReal(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, conform.ErrNotInstalled) && os.Getenv("INTERLOCK_REQUIRE_ZOOKEEPER") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestStartRealNotInstalled(t *testing.T) {
	t.Setenv("PATH", "")
	if _, _, err := conform.StartReal(t.Context(), t.TempDir()); !errors.Is(err,
		conform.ErrNotInstalled) {
		t.Errorf("StartReal without java: %v, want %v", err, conform.ErrNotInstalled)
	}
}

func TestStartRealFails(t *testing.T) {
	_, _, err := conform.StartReal(t.Context(), t.TempDir()+"/missing")
	if errors.Is(err, conform.ErrNotInstalled) {
		t.Skip(err)
	}
	if err == nil {
		t.Error("StartReal starts a server in a missing directory")
	}
}
