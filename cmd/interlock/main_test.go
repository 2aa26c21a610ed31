package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk"
)

// TestMain runs the tests, or the program where the test binary is called by its name.
func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"interlock": main}) }

// TestScripts runs the command line as a user would. The commands that the scripts have beyond
// testscript's own are described where they are defined.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(condition string) (bool, error) {
			if condition != "racedetector" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			return simzk.RaceDetector, nil
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv(raceOptions())
			docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
			env.Setenv("DOCS", docs)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   scriptStatus,
			"usage":    scriptUsage,
			"capture":  scriptCapture,
			"edit":     scriptEdit,
			"json":     scriptJSON,
			"jsonsame": scriptJSONSame,
			"jsonl":    scriptJSONL,
		},
	})
}

// raceOptions is a variable for the environment of interlock. It keeps a program with the race
// detector from sleeping for a second when it ends.
func raceOptions() (name, value string) {
	return "GORACE", strings.TrimSpace(os.Getenv("GORACE") + " atexit_sleep_ms=0")
}

// runStatus runs interlock in the script and returns its exit status.
func runStatus(ts *testscript.TestScript, arguments []string) int {
	err := ts.Exec("interlock", arguments...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	if exit == nil {
		return statusOK
	}
	return exit.ExitCode()
}

func noNegation(ts *testscript.TestScript, neg bool, command string) {
	if neg {
		ts.Fatalf("%s cannot be negated", command)
	}
}

// scriptStatus is "status N ARGUMENT...": interlock with the arguments ends with exactly the status
// N.
func scriptStatus(ts *testscript.TestScript, neg bool, arguments []string) {
	noNegation(ts, neg, "status")
	if len(arguments) == 0 {
		ts.Fatalf("usage: status N ARGUMENT...")
	}
	want, err := strconv.Atoi(arguments[0])
	ts.Check(err)
	if got := runStatus(ts, arguments[1:]); got != want {
		ts.Fatalf("status %d, not %d", got, want)
	}
}

// scriptUsage is "usage REGEXP ARGUMENT...": interlock with the arguments ends with status 2,
// prints nothing on standard output, and on standard error one line that matches.
func scriptUsage(ts *testscript.TestScript, neg bool, arguments []string) {
	noNegation(ts, neg, "usage")
	if len(arguments) == 0 {
		ts.Fatalf("usage: usage REGEXP ARGUMENT...")
	}
	want, err := regexp.Compile(arguments[0])
	ts.Check(err)
	if got := runStatus(ts, arguments[1:]); got != statusUsage {
		ts.Fatalf("status %d, not %d", got, statusUsage)
	}
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	if stdout != "" {
		ts.Fatalf("something on standard output: %q", stdout)
	}
	line, rest, _ := strings.Cut(stderr, "\n")
	if rest != "" || !strings.HasPrefix(line, "interlock: ") || !want.MatchString(line) {
		ts.Fatalf("standard error is not one line of interlock that matches %q: %q", want, stderr)
	}
}

// scriptCapture is "capture NAME FILE REGEXP": the environment variable gets what the first group
// matches in the file.
func scriptCapture(ts *testscript.TestScript, neg bool, arguments []string) {
	noNegation(ts, neg, "capture")
	if len(arguments) != 3 {
		ts.Fatalf("usage: capture NAME FILE REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + arguments[2])
	ts.Check(err)
	match := pattern.FindStringSubmatch(ts.ReadFile(arguments[1]))
	if len(match) < 2 {
		ts.Fatalf("%s does not match %q with a group", arguments[1], pattern)
	}
	ts.Setenv(arguments[0], match[1])
}

// scriptEdit is "edit FROM TO REGEXP REPLACEMENT": the file TO becomes FROM with every match
// replaced.
func scriptEdit(ts *testscript.TestScript, neg bool, arguments []string) {
	noNegation(ts, neg, "edit")
	if len(arguments) != 4 {
		ts.Fatalf("usage: edit FROM TO REGEXP REPLACEMENT")
	}
	pattern, err := regexp.Compile(arguments[2])
	ts.Check(err)
	before := ts.ReadFile(arguments[0])
	if !pattern.MatchString(before) {
		ts.Fatalf("%s does not match %q", arguments[0], pattern)
	}
	after := pattern.ReplaceAllString(before, arguments[3])
	ts.Check(os.WriteFile(ts.MkAbs(arguments[1]), []byte(after), 0o644))
}

// scriptJSON is "[!] json FILE PATH REGEXP": the value at the path in the JSON file, as JSON,
// matches as a whole. A path is names of fields and indexes of lists with dots between; "." alone
// is the whole file.
func scriptJSON(ts *testscript.TestScript, neg bool, arguments []string) {
	if len(arguments) != 3 {
		ts.Fatalf("usage: json FILE PATH REGEXP")
	}
	want, err := regexp.Compile("^(?s:" + arguments[2] + ")$")
	ts.Check(err)
	got, err := json.Marshal(jsonAt(ts, arguments[0], arguments[1]))
	ts.Check(err)
	if want.Match(got) == neg {
		ts.Fatalf("%s in %s is %s", arguments[1], arguments[0], got)
	}
}

// scriptJSONSame is "[!] jsonsame FILE FILE PATH...": the JSON files have the same values at the
// paths.
func scriptJSONSame(ts *testscript.TestScript, neg bool, arguments []string) {
	if len(arguments) < 3 {
		ts.Fatalf("usage: jsonsame FILE FILE PATH...")
	}
	for _, path := range arguments[2:] {
		a, b := jsonAt(ts, arguments[0], path), jsonAt(ts, arguments[1], path)
		if reflect.DeepEqual(a, b) == neg {
			ts.Fatalf("%s is %v in %s, and %v in %s", path, a, arguments[0], b, arguments[1])
		}
	}
}

// scriptJSONL is "jsonl FILE": every line of the file is JSON, and there is one.
func scriptJSONL(ts *testscript.TestScript, neg bool, arguments []string) {
	noNegation(ts, neg, "jsonl")
	if len(arguments) != 1 {
		ts.Fatalf("usage: jsonl FILE")
	}
	content := ts.ReadFile(arguments[0])
	if !strings.HasSuffix(content, "\n") {
		ts.Fatalf("%s does not end with a line", arguments[0])
	}
	for line := range strings.Lines(content) {
		if !json.Valid([]byte(line)) {
			ts.Fatalf("%s: not JSON: %s", arguments[0], line)
		}
	}
}

// jsonAt returns the value at a path in a JSON file of the script, with numbers as they are
// written.
func jsonAt(ts *testscript.TestScript, file, path string) any {
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	decoder.UseNumber()
	var value any
	ts.Check(decoder.Decode(&value))
	if decoder.More() {
		ts.Fatalf("%s holds more than one value", file)
	}
	if path == "." {
		return value
	}
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			member, ok := v[name]
			if !ok {
				ts.Fatalf("%s has no %s", file, path)
			}
			value = member
		case []any:
			index, err := strconv.Atoi(name)
			if err != nil || index < 0 || index >= len(v) {
				ts.Fatalf("%s has no %s", file, path)
			}
			value = v[index]
		default:
			ts.Fatalf("%s has no %s", file, path)
		}
	}
	return value
}

// A child is a running interlock of which the first line of standard output has been read.
type child struct {
	command *exec.Cmd
	first   string
	rest    *bufio.Reader
	stderr  bytes.Buffer
}

// start starts the program in an empty directory and waits for its first line.
func start(t *testing.T, arguments ...string) *child {
	t.Helper()
	c := begin(t, arguments...)
	var err error
	if c.first, err = c.rest.ReadString('\n'); err != nil {
		t.Fatalf("no first line: %v\n%s", err, &c.stderr)
	}
	return c
}

// begin is start for a program that need not print anything.
func begin(t *testing.T, arguments ...string) *child {
	t.Helper()
	executable, err := exec.LookPath("interlock") // where testscript.Main has put it
	if err != nil {
		t.Fatal(err)
	}
	c := &child{command: exec.Command(executable, arguments...)}
	name, value := raceOptions()
	c.command.Env = append(os.Environ(), name+"="+value)
	c.command.Dir = t.TempDir()
	c.command.Stderr = &c.stderr
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.command.Process.Kill() }) // It has ended by then, unless the test failed.
	c.rest = bufio.NewReader(stdout)
	return c
}

// end returns what the program still prints, and its status.
func (c *child) end(t *testing.T) (string, int) {
	t.Helper()
	rest, err := io.ReadAll(c.rest)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.command.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(rest), c.command.ProcessState.ExitCode()
}

// TestInterruptedCheck stops a campaign that would run for minutes: it sums up what it has, and
// writes the report.
func TestInterruptedCheck(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c := start(t, "check", "--budget", "10m", "--json", "report.json")
			if !strings.HasPrefix(c.first, "checking mutex, 3 clients") {
				t.Fatalf("first line %q", c.first)
			}
			if err := c.command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			text, status := c.end(t)
			if status != statusOK || c.stderr.Len() > 0 {
				t.Errorf("status %d, stderr %q", status, &c.stderr)
			}
			for _, want := range []string{
				"ran ", "interrupted: ", "trace digest ",
				"\nproperties, ",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("the summary lacks %q:\n%s", want, text)
				}
			}
			content, err := os.ReadFile(filepath.Join(c.command.Dir, "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			var r report
			if err := json.Unmarshal(content, &r); err != nil {
				t.Fatalf("the report is not whole: %v\n%s", err, content)
			}
			if !r.Interrupted || r.Complete || len(r.Properties) != len(scenarios.Properties()) ||
				r.Violations == nil {
				t.Errorf("report %+v", r)
			}
		})
	}
}

// TestReportIsDocumented looks each field of the report up in the documentation.
func TestReportIsDocumented(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "command-line.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{
		report{},
		propertyReport{},
		costReport{},
		violationReport{},
		scenarios.StrategyStats{},
		faults.Severity{},
		replayReport{},
		recordedReport{},
		replayViolation{},
		scenarios.Deviation{},
		judgement{},
		lockJSON{},
		defectJSON{},
	} {
		kind := reflect.TypeOf(value)
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if name != "" && !strings.Contains(string(content), "`"+name+"`") {
				t.Errorf("%v: docs/command-line.md does not have `%s`", kind, name)
			}
		}
	}
}

// TestGoalNeverReached runs a campaign that finds nothing and has not tried what its lock asks for:
// that is not fine.
func TestGoalNeverReached(t *testing.T) {
	subject := subjects.Textbook()
	subject.Sometimes = []history.Sometimes{history.Contention, {
		Name:    "something that never happens",
		Clients: 1, Reached: func([]history.Event) bool { return false },
	}}
	campaign := &scenarios.Campaign{
		Seed: 1, Schedules: 6000, Workers: 1,
		Scenario: scenarios.Scenario{Subject: subject, Clients: 2, Cycles: 1},
	}
	var stdout, stderr bytes.Buffer
	directory := t.TempDir()
	err := runCheck(t.Context(), t, campaign,
		&checkFlags{out: directory, json: filepath.Join(directory, "report.json")}, &stdout,
		&stderr)
	var status *statusError
	if !errors.As(err, &status) || status.status != statusViolation {
		t.Errorf("error %v, stderr %q", err, &stderr)
	}
	if want := "\nno violation found, but a sometimes condition was never reached, so this says " +
		"too " +
		"little about the lock: something that never happens\n"; !strings.Contains(stdout.String(),
		want) {
		t.Errorf("%s\nlacks %q", &stdout, want)
	}
	content, err := os.ReadFile(filepath.Join(directory, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(content, &r); err != nil ||
		!reflect.DeepEqual(r.NeverReached, []string{"something that never happens"}) ||
		len(r.Sometimes) != 2 || r.Sometimes[0].Schedules == 0 {
		t.Errorf("%v: goals %+v, missed %q", err, r.Sometimes, r.NeverReached)
	}
}

// TestInterruptedReplay stops a replay that would run for hours: it judges the runs that there
// were.
func TestInterruptedReplay(t *testing.T) {
	t.Parallel()
	schedule := filepath.Join(t.TempDir(), "schedule.json")
	content := `{"format": "interlock-schedule", "version": 2, "lock": "textbook", "clients": 1, "cycles": 1,
		"faults": "none", "deviations": [], "trace_hash": "0000000000000000", "property": "fifo",
		"signature": "fifo: as it was"}`
	if err := os.WriteFile(schedule, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	c := start(t, "replay", "--times", "1000000000", "--json", "replay.json", schedule)
	if err := c.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	text, status := c.end(t)
	if status != statusOK || !strings.Contains(text, "interrupted: ") ||
		!strings.Contains(text, "does not occur any more") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, &c.stderr, text)
	}
	written, err := os.ReadFile(filepath.Join(c.command.Dir, "replay.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r replayReport
	if err := json.Unmarshal(written, &r); err != nil || !r.Interrupted || r.Runs < 1 ||
		r.Runs == 1000000000 {
		t.Errorf("%v: report %s", err, written)
	}
}

// TestInterruptedVerify stops one that waits for its history: there is nothing to sum up.
func TestInterruptedVerify(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	c := begin(t, "verify", fifo)
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0) // which waits until verify reads
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := c.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if text, _ := c.end(t); text != "" || c.stderr.Len() > 0 {
		t.Errorf("stdout %q, stderr %q", text, &c.stderr)
	}
	if status := c.command.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() ||
		status.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v", c.command.ProcessState)
	}
}

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

// TestProgress tells of a campaign on a terminal, where one line changes, and elsewhere, where
// lines are rare.
func TestProgress(t *testing.T) {
	campaign := &scenarios.Campaign{
		Scenario: scenarios.Scenario{
			Subject: subjects.Mutex(), Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		},
		Schedules: 1000, Budget: 10 * time.Second,
	}
	tell := func(p *progress) {
		for _, seconds := range []int{1, 2, 5, 6, 10} {
			p.show(&scenarios.Report{
				Schedules: 50 * seconds, States: 7, Depth: 9, Histories: 3,
				Elapsed: time.Duration(seconds) * time.Second,
			})
		}
		p.clear()
	}
	var plain, terminal strings.Builder
	tell(newProgress(&plain, campaign))
	// After 5 s the budget ends before the schedules would, and at 10 s it is used up.
	want := "250 schedules, 50/s, 7 states, depth 9, 3 distinct histories, 0 faults landed, 5s " +
		"left\n" +
		"500 schedules, 50/s, 7 states, depth 9, 3 distinct histories, 0 faults landed, 0s left\n"
	if plain.String() != want {
		t.Errorf("plain: %q", plain.String())
	}
	tell(&progress{w: &terminal, campaign: campaign, terminal: true})
	lines := strings.Split(terminal.String(), "\r\x1b[K")
	if len(lines) != 7 || lines[0] != "" || lines[6] != "" ||
		!strings.HasPrefix(lines[1], "50 schedules, ") {
		t.Errorf("terminal: %q", lines)
	}
}

func TestProgressLeft(t *testing.T) {
	for _, test := range []struct {
		schedules int
		budget    time.Duration
		ran       int
		left      time.Duration
		known     bool
	}{
		{schedules: 100, ran: 25, left: 6 * time.Second, known: true},
		{budget: 10 * time.Second, ran: 25, left: 8 * time.Second, known: true},
		{
			schedules: 100, budget: 10 * time.Second, ran: 80, left: 500 * time.Millisecond,
			known: true,
		},
		{schedules: 100, budget: 10 * time.Second, ran: 0, left: 8 * time.Second, known: true},
		{schedules: 100, ran: 0},
		{},
	} {
		p := &progress{campaign: &scenarios.Campaign{
			Schedules: test.schedules,
			Budget:    test.budget,
		}}
		left, known := p.remaining(&scenarios.Report{Schedules: test.ran, Elapsed: 2 * time.Second})
		if left != test.left || known != test.known {
			t.Errorf("%+v: %v, %v", test, left, known)
		}
	}
}

func TestStatusError(t *testing.T) {
	for err, want := range map[error]string{
		&statusError{statusViolation, nil}:                    "a property is violated",
		&statusError{statusInternal, errors.New("full disk")}: "full disk",
	} {
		if err.Error() != want {
			t.Errorf("%q, not %q", err, want)
		}
	}
}

// Whoever sets a bound by schedules or by time means that one alone. One by states leaves the
// others, for there may never be so many.
func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		strategy, given   string
		schedules, budget bool // whether it is bounded so
	}{
		{"portfolio", "", true, true},
		{"portfolio", "schedules", true, false},
		{"portfolio", "budget", false, true},
		{"portfolio", "schedules budget", true, true},
		{"portfolio", "states", true, true},
		{"portfolio", "states budget", false, true},
		{"exhaustive", "", false, false},
		{"exhaustive", "states", false, false},
		{"exhaustive", "budget", false, true},
	} {
		f := checkFlags{
			lock: "textbook", client: "model", strategy: tc.strategy, faults: "none", seed: "1",
			clients: 1,
			cycles:  1, servers: 1,
			schedules: defaultSchedules, budget: defaultBudget, workers: 1, out: "failures",
			severity: faults.DefaultSeverity(),
		}
		if strings.Contains(tc.given, "states") {
			f.states = 1000
		}
		c, err := f.campaign(func(flag string) bool {
			return slices.Contains(strings.Fields(tc.given),
				flag)
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.Schedules > 0 != tc.schedules || c.Budget > 0 != tc.budget || c.States != f.states {
			t.Errorf("%s, given %q: %d schedules, %v, %d states", tc.strategy, tc.given,
				c.Schedules,
				c.Budget, c.States)
		}
	}
}
