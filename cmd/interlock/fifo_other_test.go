//go:build !unix

package main

import "testing"

// makeFifo skips the test.
func makeFifo(t *testing.T, _ string) { t.Skip("this system has no named pipes among its files") }
