//go:build !unix

package supervise

import "os"

// quit ends a child.
func quit(child *os.Process) { child.Kill() }
