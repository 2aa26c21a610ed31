package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/server"
)

// referenceFlags start a server with everything that conform needs. The superuser's password is
// test.
var referenceFlags = []string{
	"--extended-types", "--super-digest",
	"super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
}

// Two simulated servers of the same release do not differ.
func TestConform(t *testing.T) {
	t.Parallel()
	_, address := serveOn(t, referenceFlags...)
	c := start(t, "conform", "--zookeeper", address, "--operations", "1000", "--ttl",
		"--containers",
		"--super", "super:test", "--json", "report.json")
	text, status := c.end(t)
	if c.first != "310 facts: no difference\n" ||
		!strings.HasPrefix(text, "1000 random operations, seed 1, with ") || status != exit.OK {
		t.Errorf("%q, %q, status %d, stderr %s", c.first, text, status, &c.stderr)
	}
	if r := readConformReport(t, c); r.Interrupted || r.Facts != 310 || r.Operations != 1000 ||
		r.Difference != "" {
		t.Errorf("report %+v", r)
	}
}

// Servers of two releases differ.
func TestConformFindsAnotherRelease(t *testing.T) {
	t.Parallel()
	_, address := serveOn(t, referenceFlags...)
	c := start(t, "conform", "--zookeeper", address, "--zookeeper-version", "3.9", "--operations",
		"0",
		"--json", "report.json")
	text, status := c.end(t)
	if !strings.Contains(c.first,
		" of 310 facts differ; got is the simulation, want the server:") ||
		status != exit.Violation {
		t.Errorf("%q, %q, status %d", c.first, text, status)
	}
	if r := readConformReport(t, c); len(r.Deviations) == 0 {
		t.Errorf("report %+v", r)
	}
}

// An interrupted comparison is not a success.
func TestInterruptedConform(t *testing.T) {
	t.Parallel()
	_, address := serveOn(t, referenceFlags...)
	c := start(t, "conform", "--zookeeper", address, "--operations", "1000000000", "--json",
		"report.json")
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	text, status := c.end(t)
	if status != exit.Interrupted ||
		!strings.HasPrefix(text, "interrupted: no difference in the first ") {
		t.Errorf("status %d, %q, stderr %s", status, text, &c.stderr)
	}
	if r := readConformReport(t, c); !r.Interrupted || r.Difference != "" {
		t.Errorf("report %+v", r)
	}
}

// The end of the server during the comparison is an error, not a difference.
func TestConformServerEnds(t *testing.T) {
	t.Parallel()
	daemon, address := serveOn(t, referenceFlags...)
	c := start(t, "conform", "--zookeeper", address, "--operations", "1000000000")
	if err := daemon.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	text, status := c.end(t)
	if want := "interlock: " + address + ": "; status != exit.Usage || text != "" ||
		!strings.Contains(c.stderr.String(), want) {
		t.Errorf("status %d, %q, stderr %s", status, text, &c.stderr)
	}
}

// An address without a listener is an error.
func TestConformWithoutServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	var stdout, stderr strings.Builder
	status := execute(t.Context(), t, []string{"conform", "--zookeeper", address}, &stdout, &stderr)
	if want := "interlock: " + address + ": it cannot be reached: "; status != exit.Usage ||
		!strings.HasPrefix(stderr.String(), want) || stdout.Len() > 0 {
		t.Errorf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
	}
}

func readConformReport(t *testing.T, c *child) server.ConformReport {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.command.Dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r server.ConformReport
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatalf("the report is incomplete: %v\n%s", err, content)
	}
	return r
}
