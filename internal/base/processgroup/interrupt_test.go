//go:build unix

package processgroup_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/base/processgroup"
)

// role is the environment variable that makes the test binary a command of the test: the parent
// starts the child and waits for it, and the child waits for its end.
const role = "PROCESSGROUP_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "parent":
		command := exec.Command(os.Args[0])
		command.Env, command.Stdout = append(os.Environ(), role+"=child"), os.Stdout
		command.Run()
		os.Exit(1)
	case "child":
		os.Stdout.WriteString("started\n")
		time.Sleep(time.Hour) // An empty select would be a deadlock, which ends the program.
	}
	os.Exit(m.Run())
}

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
	command := exec.CommandContext(ctx, os.Args[0])
	command.Env, command.Stdout = append(os.Environ(), role+"=parent"), write
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
