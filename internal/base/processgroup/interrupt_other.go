//go:build !unix

// Package processgroup ends commands together with the processes that they have started, and
// pauses processes.
package processgroup

import (
	"os"
	"os/exec"
)

// Interrupt makes a command interrupt itself when its context ends. The command must have a
// context, and not be started yet.
func Interrupt(command *exec.Cmd) {
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
}
