package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")

// isLineEnd reports whether a character ends a line: progress returns to the beginning of its line.
func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// Text fits a terminal of 80 columns, and uses one of 120. Only what readers copy is longer.
func TestWidth(t *testing.T) {
	t.Parallel()
	executable, err := exec.LookPath("interlock")
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []uint16{80, 120} {
		for _, line := range []string{
			"check --lock late-notice --max-pause 300ms --out OUT",
			"check --lock herd --schedules 4000", "check --help", "locks",
			"locks mutex redlock", "help faults", "help strategies",
		} {
			arguments := strings.Fields(strings.ReplaceAll(line, "OUT", t.TempDir()))
			longest, text := 0, onTerminal(t, columns, exec.Command(executable, arguments...))
			for line := range strings.FieldsFuncSeq(text, isLineEnd) {
				line = escapes.ReplaceAllString(line, "")
				if !copied.MatchString(line) {
					longest = max(longest, utf8.RuneCountInString(line))
				}
			}
			if longest > int(columns) || longest <= 80 && columns > 80 && arguments[0] == "check" &&
				len(arguments) > 2 {
				t.Errorf("%s in %d columns: the longest line has %d\n%s", line, columns, longest,
					text)
			}
		}
	}
}

// A terminal that does not know its width, or is very narrow, gets text as it is.
func TestNoWidth(t *testing.T) {
	t.Parallel()
	executable, err := exec.LookPath("interlock")
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []uint16{0, 1, 2, 3, 39} {
		text := onTerminal(t, columns, exec.Command(executable, "locks"))
		if !strings.Contains(text, "redlock") || strings.Contains(text, "internal error") {
			t.Errorf("in %d columns:\n%s", columns, text)
		}
	}
}

// A line is folded at blanks, unless readers copy it.
func TestFold(t *testing.T) {
	long := "/a/path/" + strings.Repeat("x", 60)
	for line, want := range map[string]string{
		"  one two three four five six seven eight nine ten\n": "  one two three four five six\n" +
			"    seven eight nine ten\n",
		"counterexample  " + long + "\n":                         "",
		"or, without that directory, go test -run X --seed=1\n":  "",
		"  go mod edit -replace a=b -replace c=d -replace e=f\n": "",
		"\tmain.go:1 +0x123 a line of a stack trace, which is\n": "",
		"error: cannot read the file " + long + " now\n":         "",
	} {
		if want == "" {
			want = line
		}
		if folded := fold(line, 32); folded != want {
			t.Errorf("%q becomes %q", line, folded)
		}
	}
}

// onTerminal runs a program on a terminal and returns what it prints there.
func onTerminal(t *testing.T, columns uint16, command *exec.Cmd) string {
	t.Helper()
	ours, its := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(its.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 40, Col: columns}); err != nil {
		t.Fatal(err)
	}
	name, value := raceOptions()
	command.Env = append(os.Environ(), "TERM=xterm", name+"="+value)
	command.Stdout, command.Stderr = its, its
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	its.Close()
	text, _ := io.ReadAll(ours) // It ends with an error once the program has closed its end.
	command.Wait()              // check finds a violation.
	return string(text)
}
