package interlock_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// A deadlyModule is a module of a user with locks that end the program, and its test binary.
type deadlyModule struct {
	root    string
	program string
	source  string
}

// newDeadlyModule builds the module in testdata/deadly with the packages of this one.
func newDeadlyModule(t *testing.T) *deadlyModule {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds another module")
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	m := &deadlyModule{root: t.TempDir()}
	m.program = filepath.Join(m.root, "deadly.test")
	mod, err := os.ReadFile(filepath.Join(here, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^module .*$`)
	tools := regexp.MustCompile(`(?s)\ntool \(.*?\n\)`)
	m.write(t, "go.mod", tools.ReplaceAllString(name.ReplaceAllString(string(mod),
		"module example.org/user"), "")+
		"\nrequire github.com/interlock-sim/interlock v0.0.0\n"+
		"replace github.com/interlock-sim/interlock => "+here+"\n")
	for _, from := range []string{
		filepath.Join(here, "go.sum"), filepath.Join("testdata", "deadly", "crashed_test.go"),
		filepath.Join("testdata", "deadly", "foreign_test.go"),
		filepath.Join("testdata", "deadly", "deadly_test.go"),
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		m.source = string(content) // in the end that of the last
		m.write(t, filepath.Base(from), m.source)
	}
	build := exec.Command("go", "test", "-mod=mod", "-ldflags=-w", "-c", "-o", m.program, ".")
	build.Dir = m.root
	if printed, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	return m
}

func (m *deadlyModule) write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, path), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// line returns the place of the line that is marked with the name, as reports show it.
func (m *deadlyModule) line(t *testing.T, name string) string {
	t.Helper()
	before, _, ok := strings.Cut(m.source, "// line: "+name+"\n")
	if !ok {
		t.Fatalf("no line is marked %s", name)
	}
	return fmt.Sprintf("(deadly_test.go:%d)", strings.Count(before, "\n")+1)
}

// run runs the tests of a pattern and returns what they print. They must fail.
func (m *deadlyModule) run(t *testing.T, pattern string, environment ...string) string {
	t.Helper()
	return m.runWith(t, []string{"-test.run=" + pattern}, environment...)
}

// runWith runs the tests with the flags and returns what they print. They must fail.
func (m *deadlyModule) runWith(t *testing.T, flags []string, environment ...string) string {
	t.Helper()
	command := exec.Command(m.program, append(flags, "-test.timeout=2m")...)
	command.Dir = m.root
	command.Env = append(append(os.Environ(), "INTERLOCK_STALL=2s"), environment...)
	printed, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("%q passes:\n%s", flags, printed)
	}
	return string(printed)
}

// replayCommand matches the command that replays a counterexample.
var replayCommand = regexp.MustCompile(
	`(?m)^ *replay INTERLOCK_REPLAY='(.*)' go test -count=1 -run '(.*)' \.$`)

// Code of the lock that ends the program, wherever it runs, yields a counterexample with its line,
// which the printed command replays.
func TestDeadlyLocks(t *testing.T) {
	t.Parallel()
	m := newDeadlyModule(t)
	t.Run("crashed", func(t *testing.T) { crashedIsNotJudged(t, m) })
	t.Run("foreign", func(t *testing.T) { foreignIsRefused(t, m) })
	t.Run("hasty", func(t *testing.T) { failsInSomeRuns(t, m) })
	t.Run("open", func(t *testing.T) { panicsBeforeTheFirstStep(t, m) })
	t.Run("condition", func(t *testing.T) { panicsInTheSearch(t, m) })
	for name, tc := range map[string]struct{ test, reason, message string }{
		"panic":  {"TestPanic", "a goroutine that the lock started panicked", "no watch for "},
		"exit":   {"TestExit", "the lock's code ended the program", "os.Exit(3)"},
		"fatal":  {"TestFatal", "a fatal error of the Go runtime", "sync: unlock of unlocked mutex"},
		"spin":   {"TestSpin", "a step never ended", "a goroutine is not blocked"},
		"mutex":  {"TestMutex", "a step never ended", "run go test with GOFLAGS=\"$(interlock scheduler)"},
		"memory": {"TestMemory", "the heap outgrew its limit", "the heap has more than "},
		"late":   {"TestLate", "a goroutine that the lock started panicked", "at the end"},
		"rapid":  {"TestRapid", "a goroutine that the lock started panicked", "in rapid"},
		"fuzz":   {"FuzzPanic", "a goroutine that the lock started panicked", "in a fuzzer"},
		"worker": {"FuzzWorker", "a goroutine that the lock started panicked", "in a worker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pattern := "^" + tc.test + "$"
			if name == "fuzz" {
				pattern += "/^seed#0$"
			}
			flags := []string{"-test.run=" + pattern}
			if name == "worker" { // The coordinator finds out how its worker died.
				flags = []string{
					"-test.run=^$", "-test.fuzz=" + pattern, "-test.fuzzcachedir=" + t.TempDir(),
					"-test.parallel=1",
				}
			}
			var stall []string
			if name == "spin" {
				stall = []string{"INTERLOCK_STALL=1s"} // of a processor
			}
			printed := m.runWith(t, flags, stall...)
			wanted := []string{"no-panic: " + tc.reason, tc.message, "; shrunk to "}
			if name != "exit" || runtime.GOOS == "linux" {
				wanted = append(wanted, m.line(t, name))
			}
			if name == "panic" {
				wanted = append(wanted, "The last step delivers to ")
			}
			for _, want := range wanted {
				if !strings.Contains(printed, want) {
					t.Errorf("the output does not contain %q:\n%s", want, printed)
				}
			}
			replay := replayCommand.FindStringSubmatch(printed)
			if replay == nil {
				t.Fatalf("no command replays it:\n%s", printed)
			}
			search := searchedAgain.FindStringSubmatch(printed)
			if searches := strings.HasPrefix(tc.test, "Test") && name != "rapid"; searches !=
				(search != nil) {
				t.Errorf("command that searches again: %q\n%s", search, printed)
			}
			if name == "panic" && search != nil { // before the counterexample is replayed
				searchesAgain(t, m, replay[1], search, printed)
			}
			if _, err := os.Stat(filepath.Join(m.root, replay[1], "timeline.html")); err != nil {
				t.Error(err)
			}
			if name == "spin" && !long.Enabled() {
				return // A replay spins for seconds, and ends as that of mutex.
			}
			replaysAgain(t, m, replay, wanted[0])
		})
	}
}

// replaysAgain checks that the command replays the counterexample, and that interlock test, which
// names a directory for counterexamples, gets its absolute path.
func replaysAgain(t *testing.T, m *deadlyModule, command []string, signature string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "verdicts")
	again := m.run(t, command[2], "INTERLOCK_REPLAY="+command[1], "INTERLOCK_VERDICTS="+path,
		"INTERLOCK_OUT="+t.TempDir())
	if !strings.Contains(again, command[1]+" fails as recorded (in ") ||
		!strings.Contains(again, signature) {
		t.Errorf("the counterexample is not replayed:\n%s", again)
	}
	verdicts, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(verdicts),
		`"counterexample":"`+filepath.Join(m.root, command[1])+`"`) {
		t.Errorf("verdicts %s, error %v", verdicts, err)
	}
}

// searchesAgain checks that the command finds the schedule of a failure without its counterexample.
func searchesAgain(t *testing.T, m *deadlyModule, directory string, command []string,
	printed string,
) {
	t.Helper()
	found := filepath.Join(m.root, directory)
	aside := filepath.Join(filepath.Dir(found), ".aside") // A test does not replay it.
	if err := os.Rename(found, aside); err != nil {
		t.Fatal(err)
	}
	again := m.run(t, command[2], strings.Fields(command[1])...)
	which := regexp.MustCompile(`seed \d+: schedule \d+ ends the program`)
	if want := which.FindString(printed); want == "" || which.FindString(again) != want {
		t.Errorf("%s does not print %q:\n%s", command[1], want, again)
	}
	if err := os.RemoveAll(aside); err != nil {
		t.Fatal(err)
	}
}

// A failure that some runs of a schedule show, and others do not, yields a counterexample that says
// how often.
func failsInSomeRuns(t *testing.T, m *deadlyModule) {
	t.Parallel()
	printed := m.run(t, "^TestHasty$")
	often := regexp.MustCompile(`reproduces in \d+ of 20 runs; shrunk to`)
	if !often.MatchString(printed) || replayCommand.FindString(printed) == "" {
		t.Errorf("no counterexample, or not how often it fails:\n%s", printed)
	}
	if searchedAgain.MatchString(printed) {
		t.Errorf("the next search need not find it:\n%s", printed)
	}
}

// A process that panics in Open, before the run has a step, yields a counterexample that replays.
func panicsBeforeTheFirstStep(t *testing.T, m *deadlyModule) {
	t.Parallel()
	printed := m.run(t, "^TestOpen$")
	replay := replayCommand.FindStringSubmatch(printed)
	if !strings.Contains(printed, "no-panic: a process panicked: c1 panicked: before the first") ||
		!strings.Contains(printed, m.line(t, "open")) || replay == nil {
		t.Fatalf("no counterexample, or not its line:\n%s", printed)
	}
	again := m.run(t, replay[2], "INTERLOCK_REPLAY="+replay[1])
	if !strings.Contains(again, replay[1]+" fails as recorded:") {
		t.Errorf("the counterexample is not replayed:\n%s", again)
	}
}

// A panic of the search itself, here in a condition of the user, fails the test.
func panicsInTheSearch(t *testing.T, m *deadlyModule) {
	t.Parallel()
	printed := m.run(t, "^TestCondition$")
	for _, want := range []string{"panic: in a condition", "the search itself has panicked"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the output does not contain %q:\n%s", want, printed)
		}
	}
}

// Code that spins or panics when the clients of a crashed process end passes.
func crashedIsNotJudged(t *testing.T, m *deadlyModule) {
	t.Parallel()
	for _, test := range []string{"Retries", "EventsOfModel", "EventsOfReal", "HandsOver"} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			command := exec.Command(m.program, "-test.run=^TestCrashed"+test+"$", "-test.timeout=2m")
			command.Dir = m.root
			command.Env = append(os.Environ(), "INTERLOCK_STALL=2s",
				"INTERLOCK_SCHEDULES="+strconv.Itoa(long.Count(100, 1000)))
			if printed, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, printed)
			}
		})
	}
}

// What several processes or runs share is refused in one line.
func foreignIsRefused(t *testing.T, m *deadlyModule) {
	t.Parallel()
	for test, what := range map[string]string{
		"SharedModel":    "a connection that ",
		"SharedReal":     "a connection ",
		"SharedOutside":  "a channel made outside of the run",
		"SharedChannel":  "a connection, channel or timer that several runs share ",
		"CrashedFences$": "code of c",
	} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			printed := m.run(t, "^Test"+test)
			want := ": nothing was judged: interlock does not control " + what
			if !strings.Contains(printed, want) || strings.Contains(printed, "shrunk to") ||
				strings.Count(printed, "\n") > 6 {
				t.Errorf("the output has not only %q:\n%s", want, printed)
			}
		})
	}
}
