//go:build unix

package main

import (
	"syscall"
	"testing"
)

// makeFifo makes a named pipe.
func makeFifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
