package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
)

func TestQuoted(t *testing.T) {
	for argument, want := range map[string]string{
		"":                  "''",
		"a/b-c_d.e":         "a/b-c_d.e",
		"with blank":        "'with blank'",
		"it's":              `'it'\''s'`,
		"$HOME":             "'$HOME'",
		"~/x":               "'~/x'",
		"a;b":               "'a;b'",
		"line\nline":        "'line\nline'",
		"naïve":             "'naïve'",
		`back\slash`:        `'back\slash'`,
		"*?[]{}()<>|&!#`\"": "'*?[]{}()<>|&!#`\"'",
	} {
		if got := shellQuote(argument); got != want {
			t.Errorf("quoted(%q) is %s, not %s", argument, got, want)
		}
		got, err := shellwords.Parse("a  " + want + " b")
		if err != nil || !slices.Equal(got, []string{"a", argument, "b"}) {
			t.Errorf("the words of a %s b are %q, error %v", want, got, err)
		}
	}
}

func TestReplayCommand(t *testing.T) {
	program := os.Args[0]
	defer func() { os.Args[0] = program }()
	separator := string(filepath.Separator)
	built := filepath.Join(separator+"tmp", "go-build1234", "b001", "exe", "interlock")
	installed := filepath.Join(separator+"opt", "interlock")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, program, where, directory, want string }{
		{"installed", installed, ".", "out", shellQuote(installed) + " replay out"},
		{"on the path", "interlock", ".", "my out", "interlock replay 'my out'"},
		{
			"blank in the program", "my tools/interlock", ".", "out",
			"'my tools/interlock' replay out",
		},
		{"like a flag", "interlock", ".", "-out", "interlock replay " +
			shellQuote("."+separator+"-out")},
		{"go run in the repository", built, root, "out", "go run ./cmd/interlock replay out"},
		{
			"go run elsewhere", built, ".", "out",
			"go run github.com/interlock-sim/interlock/cmd/interlock replay out",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(test.where)
			os.Args[0] = test.program
			if got := replayCommand(test.directory); got != test.want {
				t.Errorf("%s, not %s", got, test.want)
			}
		})
	}
}

// Of a recorded command only flags count that add no code and write nothing.
func TestRecordedFlags(t *testing.T) {
	f, err := recordedFlags("'my tools/interlock' test './a b' --claims fifo --tags x,y --scheduler")
	if err != nil || f.claims != "fifo" || f.tags != "x,y" || !f.scheduler || f.out != defaultOut ||
		f.schedules == 0 {
		t.Errorf("%+v, error %v", f, err)
	}
	for command, want := range map[string]string{
		"interlock test . --glue x_test.go": "its --glue names code from elsewhere",
		"interlock test . --interlock=evil": "its --interlock names code from elsewhere",
		"interlock test . --json report.go": "its command has an unknown flag: --json",
		"rm -rf .":                          "its command is not that of interlock test",
	} {
		if _, err := recordedFlags(command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", command, err, want)
		}
	}
}
