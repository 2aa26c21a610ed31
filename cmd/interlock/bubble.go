package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// runAsTest calls the body with a *testing.T and exits with the status that it returns; if the body
// panics, with status 3. It lets a program that is not a test use package testing/synctest, which
// needs a test. The program must parse the arguments given to the body, not os.Args, which package
// testing parses.
func runAsTest(body func(t *testing.T, arguments []string) int) {
	arguments := os.Args[1:]
	os.Args = os.Args[:1]
	test := testing.InternalTest{
		Name: "interlock",
		F:    func(t *testing.T) { os.Exit(guarded(body, t, arguments)) },
	}
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{test},
		nil, nil)
}

func guarded(body func(*testing.T, []string) int, t *testing.T, arguments []string) (status int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "interlock: internal error: %v\n%s", r, debug.Stack())
			status = 3
		}
	}()
	return body(t, arguments)
}
