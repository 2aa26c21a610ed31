//go:build unix

package processgroup

import (
	"os"
	"syscall"
)

// Pause suspends a process until [Resume].
func Pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// Resume ends [Pause]. It has no effect on a process that runs.
func Resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
