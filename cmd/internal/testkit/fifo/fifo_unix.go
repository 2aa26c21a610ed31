//go:build unix

// Package fifo makes named pipes for tests.
package fifo

import (
	"syscall"
	"testing"
)

// Make makes a named pipe.
func Make(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
