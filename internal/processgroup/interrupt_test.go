//go:build unix

package processgroup_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/interlock-sim/interlock/internal/processgroup"
)

// A process that a command has started ends when the context does. It holds the pipe open until
// then.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	command := exec.CommandContext(ctx, "sh", "-c", "sleep 1000 & echo started; wait; sleep 1000")
	command.Stdout = write
	processgroup.Interrupt(command)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	lines := bufio.NewReader(read)
	if line, err := lines.ReadString('\n'); line != "started\n" {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if err := command.Wait(); err == nil {
		t.Error("the command was not interrupted")
	}
}
