package main

import (
	"bufio"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
)

// silentSocket listens on a socket and answers no command. It sends each command to the channel.
func silentSocket(t *testing.T) (path string, commands <-chan string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	arrived := make(chan string, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			// The cleanup keeps the connection reachable: the garbage collector would close it.
			t.Cleanup(func() { conn.Close() })
			line, _ := bufio.NewReader(conn).ReadString('\n')
			arrived <- line
		}
	}()
	return path, arrived
}

// A command without an answer times out.
func TestControlTimeout(t *testing.T) {
	t.Parallel()
	path, _ := silentSocket(t)
	var stdout, stderr strings.Builder
	status := execute(t.Context(), t, []string{
		"control", "--control", path, "--timeout", "20ms",
		"status",
	}, &stdout, &stderr)
	if status != exit.Internal || stdout.Len() > 0 ||
		stderr.String() != "interlock: no answer within 20ms (see --timeout)\n" {
		t.Errorf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
	}
}

// A signal interrupts a command that waits for its answer.
func TestControlInterrupted(t *testing.T) {
	t.Parallel()
	path, commands := silentSocket(t)
	c := begin(t, "control", "--control", path, "--timeout", "10m", "status")
	if command := <-commands; command != "status\n" {
		t.Errorf("command %q", command)
	}
	if err := c.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if text, status := c.end(t); text != "" || status != exit.Interrupted ||
		c.stderr.String() != "interlock: interrupted\n" {
		t.Errorf("status %d, %q, stderr %q", status, text, &c.stderr)
	}
}
