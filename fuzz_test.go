package interlock_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func FuzzChecked(f *testing.F) {
	s := scenario(subjects.Textbook(), 2, 1, 0)
	switch os.Getenv(variantVariable) {
	case "fuzz": // The first schedule that it runs fails.
		s.Subject = locktest.Named(f, "probe-node")
	case "fuzz differs":
		s = scenario(locktest.RandomSelect(true), 2, 20, 0)
		s.Subject.Claims = []history.Property{history.Progress}
	}
	interlock.Fuzz(f, *s)
}

// A fuzz target fails with the lines of the lock's calls, also if a schedule differs when it runs
// twice.
func TestFuzzFails(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for variant, want := range map[string]*regexp.Regexp{
		"fuzz":         sourceLines,
		"fuzz differs": regexp.MustCompile("too little: nondeterministic: .* twice at .*concurrent.go:"),
	} {
		command := exec.Command(program, "-test.run=^FuzzChecked$", "-test.timeout=2m")
		command.Dir = t.TempDir()
		command.Env = append(os.Environ(), variantVariable+"="+variant)
		printed, err := command.CombinedOutput()
		if err == nil || !want.Match(printed) {
			t.Errorf("%s: error %v, want %v in\n%s", variant, err, want, printed)
		}
	}
}
