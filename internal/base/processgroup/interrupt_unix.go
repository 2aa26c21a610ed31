//go:build unix

// Package processgroup ends commands together with the processes that they have started, and
// pauses processes.
package processgroup

import (
	"os/exec"
	"syscall"
)

// Interrupt makes a command interrupt itself and all processes that it has started when its context
// ends. The command must have a context, and not be started yet.
func Interrupt(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
}
