package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/effort"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// TestMain runs the tests, or the program if the test binary is called by its name.
func TestMain(m *testing.M) {
	effort.Lower()
	testscript.Main(browserTests{m}, map[string]func(){"interlock": main})
}

// browserTests are tests that open pages in a browser.
type browserTests struct{ *testing.M }

// Run runs the tests and returns the status.
func (t browserTests) Run() int { return chromium.Run(t.M) }

// TestScripts runs the scripts in testdata. Their commands, beyond those of testscript, are
// described where they are defined.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "racedetector":
				return real.RaceDetector, nil
			case "long":
				return long.Enabled(), nil
			}
			if module, ok := strings.CutPrefix(condition, "cached:"); ok {
				return isCached(module)
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv(raceOptions())
			env.Setenv(long.Variable, os.Getenv(long.Variable))
			if err := allowGo(env); err != nil {
				return err
			}
			docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
			env.Setenv("DOCS", docs)
			correct := subjects.Correct()
			last := len(correct) - 1
			env.Setenv("CORRECT", strconv.Itoa(len(correct))) // the number of correct bundled locks
			env.Setenv("LAST", strconv.Itoa(last))            // the index of the last of them
			env.Setenv("LASTLOCK", correct[last].Name)
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

// allowGo lets scripts run the go command with the caches of this user, and without the network.
func allowGo(env *testscript.Env) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	env.Setenv("XDG_CACHE_HOME", cache)
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := goEnv(name)
		if err != nil {
			return err
		}
		env.Setenv(name, value)
	}
	env.Setenv("GOPROXY", "off")
	env.Setenv("GOTOOLCHAIN", "local")
	return nil
}

// goVariables returns variables of the go command, as JSON.
var goVariables = sync.OnceValues(exec.Command("go", "env", "-json").Output)

// goEnv returns a variable of the go command.
func goEnv(name string) (string, error) {
	encoded, err := goVariables()
	if err != nil {
		return "", err
	}
	var values map[string]string
	err = json.Unmarshal(encoded, &values)
	return values[name], err
}

// isCached reports whether a module is in the module cache: module@version.
func isCached(module string) (bool, error) {
	cache, err := goEnv("GOMODCACHE")
	if err != nil {
		return false, err
	}
	_, err = os.Stat(filepath.Join(cache, module))
	return err == nil, nil
}

// raceOptions returns an environment variable for interlock. It keeps the race detector from
// sleeping for a second when the program ends.
func raceOptions() (name, value string) {
	return "GORACE", strings.TrimSpace(os.Getenv("GORACE") + " atexit_sleep_ms=0")
}

// runStatus runs interlock in the script and returns its exit status.
func runStatus(ts *testscript.TestScript, arguments []string) int {
	err := ts.Exec("interlock", arguments...)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		ts.Check(err)
	}
	if failed == nil {
		return exit.OK
	}
	return failed.ExitCode()
}

func noNegation(ts *testscript.TestScript, neg bool, command string) {
	if neg {
		ts.Fatalf("%s cannot be negated", command)
	}
}

// scriptStatus is "status N ARGUMENT...": interlock with the arguments ends with status N.
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

// scriptUsage is "usage REGEXP ARGUMENT...": interlock with the arguments ends with status 2. It
// prints nothing on standard output, and on standard error one line, which matches.
func scriptUsage(ts *testscript.TestScript, neg bool, arguments []string) {
	noNegation(ts, neg, "usage")
	if len(arguments) == 0 {
		ts.Fatalf("usage: usage REGEXP ARGUMENT...")
	}
	want, err := regexp.Compile(arguments[0])
	ts.Check(err)
	if got := runStatus(ts, arguments[1:]); got != exit.Usage {
		ts.Fatalf("status %d, not %d", got, exit.Usage)
	}
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	if stdout != "" {
		ts.Fatalf("unexpected standard output: %q", stdout)
	}
	line, rest, _ := strings.Cut(stderr, "\n")
	if rest != "" || !strings.HasPrefix(line, "interlock: ") || !want.MatchString(line) {
		ts.Fatalf("standard error is not a single line of interlock that matches %q: %q", want,
			stderr)
	}
}

// scriptCapture is "capture NAME FILE REGEXP": it sets the environment variable to the first group
// of the match in the file.
func scriptCapture(ts *testscript.TestScript, neg bool, arguments []string) {
	noNegation(ts, neg, "capture")
	if len(arguments) != 3 {
		ts.Fatalf("usage: capture NAME FILE REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + arguments[2])
	ts.Check(err)
	match := pattern.FindStringSubmatch(ts.ReadFile(arguments[1]))
	if len(match) < 2 {
		ts.Fatalf("%s has no match of a group of %q", arguments[1], pattern)
	}
	ts.Setenv(arguments[0], match[1])
}

// scriptEdit is "edit FROM TO REGEXP REPLACEMENT": it copies a file with every match replaced. A
// schedule gets its checksum anew.
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
	to := ts.MkAbs(arguments[1])
	ts.Check(os.WriteFile(to, []byte(after), 0o644))
	ts.Check(signAgain(to))
}

// signAgain gives an edited schedule its checksum. Other files stay as they are.
func signAgain(path string) error {
	r, err := recording.ReadSchedule(path)
	if err != nil || r.Format != "interlock-schedule" {
		return nil
	}
	return r.Write(path)
}

// scriptJSON is "[!] json FILE PATH REGEXP": the whole value at the path in the JSON file matches.
// A path is field names and list indexes joined by dots; "." is the whole file.
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

// scriptJSONSame is "[!] jsonsame FILE FILE PATH...": the JSON files have equal values at the
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

// scriptJSONL is "jsonl FILE": the file has at least one line, and every line is JSON.
func scriptJSONL(ts *testscript.TestScript, neg bool, arguments []string) {
	noNegation(ts, neg, "jsonl")
	if len(arguments) != 1 {
		ts.Fatalf("usage: jsonl FILE")
	}
	content := ts.ReadFile(arguments[0])
	if !strings.HasSuffix(content, "\n") {
		ts.Fatalf("%s does not end with a newline", arguments[0])
	}
	for line := range strings.Lines(content) {
		if !json.Valid([]byte(line)) {
			ts.Fatalf("%s: not JSON: %s", arguments[0], line)
		}
	}
}

// jsonAt returns the value at a path in a JSON file of the script. Numbers keep their notation.
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
