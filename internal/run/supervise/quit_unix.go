//go:build unix

package supervise

import (
	"os"
	"syscall"
	"time"
)

// quit makes a child print its stacks and end.
func quit(child *os.Process) {
	child.Signal(syscall.SIGQUIT)
	time.AfterFunc(3*time.Second, func() { child.Kill() })
}
