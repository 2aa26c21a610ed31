package interlock_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// searchedAgain matches the command that finds a failure without its counterexample: the variables,
// the pattern of the test, and its package.
var searchedAgain = regexp.MustCompile(
	`(?m)^ *(?:or, without that directory,|replay) (INTERLOCK_SEED=.*) ` +
		`go test -count=1 -run '(.*)' (.*)$`)

// The command below the one that replays a counterexample finds the same failure on a machine that
// does not have its directory, with the variables that were set.
func TestSearchAgain(t *testing.T) {
	for name, environment := range map[string][]string{
		"default":   {variantVariable + "=1"},
		"variables": {variantVariable + "=1", "INTERLOCK_FAULTS=cut=1", "INTERLOCK_STRATEGY=pos"},
		"keep going": {
			variantVariable + "=several failures", "INTERLOCK_KEEP_GOING=1",
			"INTERLOCK_SCHEDULES=64",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, passed := runChecked(t, t.TempDir(), environment...)
			commands := searchedAgain.FindAllStringSubmatch(found, -1)
			if passed || len(commands) == 0 {
				t.Fatalf("passed %v, no command:\n%s", passed, found)
			}
			command := commands[len(commands)-1]
			if command[2] != `^TestChecked$/^lock\[1\]$` ||
				command[3] != "github.com/interlock-sim/interlock" {
				t.Errorf("the command runs %q of %q", command[2], command[3])
			}
			want := headers.FindAllString(found, -1)
			again, passed := runChecked(t, t.TempDir(),
				append(strings.Fields(command[1]), environment[0])...)
			got := headers.FindAllString(again, -1)
			if passed || len(want) != len(commands) || strings.Join(got, "\n") !=
				strings.Join(want, "\n") {
				t.Errorf("%s: passed %v, headers %q, want %q:\n%s", command[1], passed, got, want,
					again)
			}
		})
	}
}

// headers are the lines that name the scenario, seed and schedule of each failure.
var headers = regexp.MustCompile(`(?m)^.*, seed \d+: schedule \d+ fails; shrunk to .*$`)

// Where no command is sure to find the failure, none is printed: an exhaustive search does not
// number its schedules, and runs of a nondeterministic lock differ.
func TestNoSearchAgain(t *testing.T) {
	printed, passed := runChecked(t, t.TempDir(), variantVariable+"=pair",
		"INTERLOCK_STRATEGY=exhaustive")
	if passed || !strings.Contains(printed, "\n        replay INTERLOCK_REPLAY=") ||
		strings.Contains(printed, "INTERLOCK_SEED") {
		t.Errorf("passed %v, want only a replay:\n%s", passed, printed)
	}
}

// A counterexample that cannot be written does not take the rest of the report with it.
func TestUnwrittenCounterexample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	printed, passed := runChecked(t, t.TempDir(), variantVariable+"=1",
		"INTERLOCK_OUT="+filepath.Join(file, "below"))
	for _, want := range []string{
		"progress: a process waits", "with these deviations:\n", "asks for the lock",
		"the counterexample could not be written: mkdir ",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("the output does not contain %q", want)
		}
	}
	if passed || len(headers.FindAllString(printed, -1)) != 1 ||
		!searchedAgain.MatchString(printed) {
		t.Errorf("passed %v, no header or no command:\n%s", passed, printed)
	}
}
