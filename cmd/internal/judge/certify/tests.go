package certify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/processgroup"
)

// Tests are tests of a package, which call interlock.Check or another of its functions.
type Tests struct {
	Package string `yaml:"package"` // as for go test, relative to the plan's directory
	Run     string `yaml:"run"`     // which tests, as for go test -run; all by default
	// Schedules is how many schedules each test runs, or 0 for what it runs by default.
	Schedules int `yaml:"schedules"`
}

// validate returns an error if the tests cannot be run as the plan says.
func (t *Tests) validate() error {
	if t.Package == "" || strings.HasPrefix(t.Package, "-") {
		return errors.New("tests need a package, such as ./mylock")
	}
	if t.Schedules < 0 {
		return fmt.Errorf("schedules must be at least 1, not %d", t.Schedules)
	}
	_, err := regexp.Compile(t.Run)
	return err
}

// Tested is a test that was run.
type Tested struct {
	Package string `json:"package"` // as the plan names it
	Test    string `json:"test"`    // empty if the package could not be tested
	Result  string `json:"result"`
	// Said is what the test said of its search, or why it failed: one line each.
	Said []string `json:"said"`
	// Violated are the violations, and Counterexamples the directories that show them.
	Violated        []string `json:"violated,omitempty"`
	Counterexamples []string `json:"counterexamples,omitempty"` // relative to the package
}

// The results of tests.
const (
	passed  = "passed"
	failed  = "failed"
	skipped = "skipped"
)

// Name names the test in reports.
func (t *Tested) Name() string { return strings.TrimSpace(t.Package + " " + t.Test) }

// Skipped reports whether the test was skipped.
func (t *Tested) Skipped() bool { return t.Result == skipped }

// reason returns why the test failed, in a line.
func (t *Tested) reason() string {
	text := t.Name() + " fails"
	switch {
	case len(t.Violated) > 0:
		text = t.Name() + " violates " + t.Violated[0]
	case len(t.Said) > 0:
		text += ": " + t.Said[len(t.Said)-1]
	}
	if len(t.Counterexamples) > 0 {
		text += ", as " + t.Counterexamples[0] + " shows"
	}
	return text
}

// test runs the tests of the plan.
func (r *Runner) test(ctx context.Context, p *Plan) ([]Tested, error) {
	all := []Tested{}
	for i := range p.Tests {
		if ctx.Err() != nil {
			break
		}
		r.Progress.Say("testing %s", p.Tests[i].Package)
		tested, err := p.Tests[i].run(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, tested...)
	}
	return all, nil
}

// interruptTimeout is the time that go test has to end after an interrupt.
const interruptTimeout = 10 * time.Second

// run runs the tests. If the context ends, it returns those that have ended.
func (t *Tests) run(ctx context.Context, p *Plan) ([]Tested, error) {
	command := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-timeout=0",
		"-run="+t.Run, t.Package)
	command.Dir = filepath.Dir(p.file.Path)
	command.Env = os.Environ()
	if p.Seed != 0 {
		command.Env = append(command.Env, "INTERLOCK_SEED="+strconv.FormatUint(p.Seed, 10))
	}
	if t.Schedules > 0 {
		command.Env = append(command.Env, "INTERLOCK_SCHEDULES="+strconv.Itoa(t.Schedules))
	}
	processgroup.Interrupt(command)
	command.WaitDelay = interruptTimeout
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return nil, fmt.Errorf("%s: %w", t.Package, err)
	}
	results := readTestEvents(output, t.Package)
	if ctx.Err() == nil && len(results) == 0 {
		reason := fmt.Sprintf("no test matches %q", t.Run)
		if err != nil {
			reason = p.relative(firstLine(stderr.String() + buildOutput(output)))
		}
		results = []Tested{{Package: t.Package, Result: failed, Said: []string{reason}}}
	}
	return results, nil
}

// relative makes the paths in a text relative to the plan's directory, so that a certificate does
// not depend on that directory.
func (p *Plan) relative(text string) string {
	directory, err := filepath.Abs(filepath.Dir(p.file.Path))
	if err != nil {
		return text
	}
	return strings.ReplaceAll(text, directory+string(filepath.Separator), "")
}

// A testEvent is a line of go test -json; see the command test2json.
type testEvent struct{ Action, Test, Output string }

// readTestEvents returns the top-level tests that have ended, in order.
func readTestEvents(output []byte, pkg string) []Tested {
	results := map[string]string{"pass": passed, "fail": failed, "skip": skipped}
	said := make(map[string]string)
	var all []Tested
	for _, e := range testEvents(output) {
		name, _, sub := strings.Cut(e.Test, "/")
		switch result := results[e.Action]; {
		case e.Action == "output" && name != "":
			said[name] += e.Output
		case result != "" && name != "" && !sub:
			one := Tested{Package: pkg, Test: name, Result: result, Said: []string{}}
			one.read(said[name])
			all = append(all, one)
		}
	}
	return all
}

func testEvents(output []byte) (events []testEvent) {
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, len(output)+1)
	for lines.Scan() {
		var e testEvent
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			events = append(events, e)
		}
	}
	return events
}

// buildOutput returns what the go command says of a package that it cannot build.
func buildOutput(output []byte) string {
	var text strings.Builder
	for _, e := range testEvents(output) {
		if e.Action == "build-output" || e.Action == "output" {
			text.WriteString(e.Output)
		}
	}
	return text.String()
}

func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "the package cannot be tested"
}

var (
	logged         = regexp.MustCompile(`^    \w+\.go:\d+: (.*)`)
	violationLine  = regexp.MustCompile(`^ {4,}([a-z-]+): `)
	counterexample = regexp.MustCompile(`^ +counterexample (.*)`)
)

// read reads the output of the test.
func (t *Tested) read(output string) {
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		violation := violationLine.FindStringSubmatch(line)
		switch {
		case logged.MatchString(line):
			t.Said = append(t.Said, logged.FindStringSubmatch(line)[1])
		case counterexample.MatchString(line):
			t.Counterexamples = append(t.Counterexamples,
				counterexample.FindStringSubmatch(line)[1])
		case violation != nil &&
			slices.Contains(check.Claimable(), history.Property(violation[1])):
			t.Violated = append(t.Violated, strings.TrimSpace(line))
		}
	}
}

// tests compares the tests with those of an older certificate.
func (c *Comparison) tests(old, now *Certificate) {
	for i := range old.Tests {
		was := &old.Tests[i]
		n := slices.IndexFunc(now.Tests, func(t Tested) bool { return t.Name() == was.Name() })
		switch {
		case n >= 0:
			c.add(was.Name(), "test", was.Result, now.Tests[n].Result, was.Result == passed)
		case !now.Partial:
			c.add(was.Name(), "test", was.Result, unplanned, true)
		}
	}
}
