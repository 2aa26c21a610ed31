package conform_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/interlock-sim/interlock/simzk/conform"
)

// shared are the servers of [sharedReal].
var shared [2]struct {
	address string
	stop    func() error
}

// sharedReal returns the address of a ZooKeeper server that tests share. It ends after all of them.
func sharedReal(t *testing.T, number int) string {
	t.Helper()
	s := &shared[number]
	if s.stop == nil {
		directory, err := os.MkdirTemp("", "conform-")
		if err != nil {
			t.Fatal(err)
		}
		address, stop, err := conform.StartReal(context.Background(), directory)
		if err != nil {
			os.RemoveAll(directory)
		}
		skipWithoutReal(t, err)
		s.address = address
		s.stop = func() error { return errors.Join(stop(), os.RemoveAll(directory)) }
	}
	return s.address
}

// TestMain lets servers start fast, because they run for seconds, and ends the shared servers.
func TestMain(m *testing.M) {
	os.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
	status := m.Run()
	for _, s := range shared {
		if s.stop == nil {
			continue
		}
		if err := s.stop(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			status = 1
		}
	}
	os.Exit(status)
}
