package scenarios

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// Main calls the body with a *testing.T and ends the program with the exit status that it returns;
// a panic in the body ends it with status 3. It lets a program that is no test make the bubbles of
// virtual time that runs need: package testing/synctest asks for a test. The program's flags must
// be taken from the arguments that body is given, not from os.Args, which package testing would
// read as its own.
func Main(body func(t *testing.T, arguments []string) int) {
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
