// Package long decides how much a test does: `go test work` runs a part, `make long` everything.
package long

import (
	"os"
	"testing"
)

// Variable is the environment variable that selects everything if it is not empty.
const Variable = "INTERLOCK_LONG"

// Only skips a test that `make long` alone runs.
func Only(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("make long runs this test")
	}
}

// Count returns few, or under `make long` many. A test uses it to choose how many cases it runs.
func Count(few, many int) int {
	if Enabled() {
		return many
	}
	return few
}

// Enabled reports whether everything runs.
func Enabled() bool { return os.Getenv(Variable) != "" }

// Sample returns few cases, spread evenly over the given ones, or under `make long` all of them.
func Sample[T any](cases []T, few int) []T {
	if Enabled() || len(cases) <= few {
		return cases
	}
	sample := make([]T, few)
	for i := range sample {
		sample[i] = cases[i*len(cases)/few]
	}
	return sample
}
