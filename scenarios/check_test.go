package scenarios_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// brokenVariable makes TestChecked test a broken lock, or one with a goal that is never reached, or one for too long to judge it,
// or one that breaks in a schedule which goes beyond its bounds, and would without that.
// TestCheck runs it so, in a process of its own.
const brokenVariable = "INTERLOCK_TEST_BROKEN"

func TestChecked(t *testing.T) {
	s := scenario(subjects.Textbook(), 3, 1, 1)
	name := subjects.ExistsThenWait().Name
	switch os.Getenv(brokenVariable) {
	case "1":
		s.Subject = subjects.ExistsThenWait()
	case "goal":
		s.Subject.Goals = []history.Goal{{Name: "never", Clients: 1, Reached: func([]history.Event) bool { return false }}}
	case "late":
		s = &scenarios.Scenario{Subject: named(t, "late-notice"), Clients: 3, Cycles: 2, Bounds: faults.Bounds{Pause: 10 * time.Second, Drift: 5}}
		s.Faults.Of[faults.Expire], s.Faults.Of[faults.Pause] = 1, 1
	case "long":
		s.Clients, s.Cycles = 100, 21
	}
	s.Subject.Name = name // The lock that is mended is the same lock.
	t.Run("lock[1]", func(t *testing.T) { scenarios.Check(t, *s) })
}

// checked runs TestChecked in the directory and returns what it printed and whether it passed.
func checked(t *testing.T, directory string, environment ...string) (string, bool) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-test.run=^TestChecked$", "-test.v")
	command.Dir = directory
	command.Env = append(os.Environ(), environment...)
	printed, err := command.CombinedOutput()
	return string(printed), err == nil
}

func TestCheck(t *testing.T) {
	directory := t.TempDir()
	broken := brokenVariable + "=1"
	first, passed := checked(t, directory, broken)
	if passed {
		t.Fatalf("the broken lock passes:\n%s", first)
	}
	found, err := filepath.Glob(filepath.Join(directory, "testdata", "interlock", "*", "exists-then-wait-progress-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("counterexamples %v, error %v, want one; the test printed\n%s", found, err, first)
	}
	relative, err := filepath.Rel(directory, found[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"progress: a process waits for the lock for ever", "these decisions:\n", "enter c1", "asks for the lock",
		"replay INTERLOCK_REPLAY='" + relative + "' go test -count=1 -run '^TestChecked$/^lock\\[1\\]$' .",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the first failure does not say %q:\n%s", want, first)
		}
	}
	for name, tc := range map[string]struct {
		environment []string
		passes      bool
		want        string
	}{
		"found again by the corpus": {[]string{broken}, false, " fails:\n"},
		"replayed":                  {[]string{broken, "INTERLOCK_REPLAY=" + relative}, false, relative + " fails:\n"},
		"mended":                    {nil, true, "--- PASS: TestChecked/lock[1]"},
		"mended and replayed":       {[]string{"INTERLOCK_REPLAY=" + relative}, true, "--- PASS: TestChecked/lock[1]"},
		"a goal is never reached":   {[]string{brokenVariable + "=goal", "INTERLOCK_SCHEDULES=5000"}, false, "no schedule has reached a goal, so this says too little of the lock: never"},
		"a verdict is unknown":      {[]string{brokenVariable + "=long", "INTERLOCK_SCHEDULES=1"}, false, "of 1 schedules it is unknown whether they are linearizable"},
		"a pause excuses nothing":   {[]string{brokenVariable + "=late", "INTERLOCK_SCHEDULES=100", "INTERLOCK_SEED=5"}, false, "faults expire=1, pauses up to 10s"},
		"bad number of schedules":   {[]string{"INTERLOCK_SCHEDULES=0"}, false, `INTERLOCK_SCHEDULES is "0", not a number of at least 1`},
		"bad seed":                  {[]string{"INTERLOCK_SEED=x"}, false, `INTERLOCK_SEED: "x" is neither a number`},
		"bad replay":                {[]string{"INTERLOCK_REPLAY=nosuch"}, false, "nosuch: no such file or directory"},
	} {
		if printed, passed := checked(t, directory, tc.environment...); passed != tc.passes || !strings.Contains(printed, tc.want) {
			t.Errorf("%s: passed %v, want %v and %q:\n%s", name, passed, tc.passes, tc.want, printed)
		}
	}
}
