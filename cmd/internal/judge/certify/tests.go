package certify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/internal/base/processgroup"
	"github.com/interlock-sim/interlock/internal/run/gobuild"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// Tests are tests of a package, which call interlock.Check or another of its functions.
type Tests struct {
	Package string `yaml:"package"` // as for go test, relative to the plan's directory
	Run     string `yaml:"run"`     // which tests, as for go test -run; all by default
	// Schedules is how many schedules each test runs, or 0 for what it runs by default.
	Schedules int `yaml:"schedules"`
	// Built reports whether the tests run as by the command interlock test.
	Built bool `yaml:"interlock_test"`
}

// validate returns an error if the tests cannot be run as the plan says.
func (t *Tests) validate() error {
	if t.Package == "" || strings.HasPrefix(t.Package, "-") {
		return errors.New("tests need a package, such as ./mylock")
	}
	if t.Built && !strings.HasPrefix(t.Package, ".") {
		return fmt.Errorf("with interlock_test a package is a directory, such as ./mylock, not %s",
			t.Package)
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
	// Checks are what the calls of interlock.Check have run and found; counterexamples are relative
	// to the package.
	Checks []recording.Verdict `json:"checks"`
	// Said is what a test printed that failed, unless a check says why: one line each.
	Said []string `json:"said,omitempty"`
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

// violated reports whether a check has found a violation.
func (t *Tested) violated() bool {
	return slices.ContainsFunc(t.Checks, func(v recording.Verdict) bool {
		return len(v.Failures) > 0
	})
}

// Lines returns what was run and found, or why the test failed.
func (t *Tested) Lines() []string {
	lines := slices.Clone(t.Said)
	for i := range t.Checks {
		v := &t.Checks[i]
		text := v.Scenario + ": " + v.Outcome // of the replay of a counterexample
		if v.Schedules > 0 {
			text = fmt.Sprintf("%s, seed %d: %s in %d schedules of %d steps", v.Scenario, v.Seed,
				v.Outcome, v.Schedules, v.Steps)
		}
		lines = append(lines, text)
		for _, f := range v.Failures {
			lines = append(lines, "violates "+f.Signature)
			if f.Counterexample != "" {
				lines = append(lines, "counterexample "+f.Counterexample)
			}
			if f.Replay != "" {
				lines = append(lines, "replay "+f.Replay)
			}
		}
	}
	return lines
}

// reason returns why the test failed, in a line.
func (t *Tested) reason() string {
	for _, v := range t.Checks {
		if len(v.Failures) == 0 {
			continue
		}
		text := t.Name() + " violates " + v.Failures[0].Signature
		if shown := v.Failures[0].Counterexample; shown != "" {
			text += ", as " + shown + " shows"
		}
		return text
	}
	if len(t.Said) > 0 {
		return t.Name() + " fails: " + t.Said[0]
	}
	return t.Name() + " fails"
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

// directory returns the directory in which the go command tests the package, and what it is called
// there: a package may be outside the module of the plan.
func (t *Tests) directory(p *Plan) (directory, pattern string) {
	directory = filepath.Dir(p.file.Path)
	below, all := strings.CutSuffix(t.Package, "/...")
	_, err := os.Stat(filepath.Join(directory, below))
	switch {
	case err != nil || !strings.HasPrefix(t.Package, "."):
		return directory, t.Package
	case all:
		return filepath.Join(directory, below), "./..."
	}
	return filepath.Join(directory, below), "."
}

// run runs the tests. If the context ends, it returns those that have ended.
func (t *Tests) run(ctx context.Context, p *Plan) ([]Tested, error) {
	verdicts, err := os.CreateTemp("", "interlock-verdicts-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(verdicts.Name())
	defer verdicts.Close()
	command, end, err := t.command(ctx, p)
	if err != nil {
		return t.untested(p, err.Error()), nil
	}
	defer end()
	command.Env = append(command.Environ(), recording.VerdictsVariable+"="+verdicts.Name())
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
	checks, readErr := recording.ReadVerdicts(verdicts)
	if readErr != nil {
		return nil, fmt.Errorf("%s: %w", t.Package, readErr)
	}
	// The order does not depend on how tests ran side by side.
	slices.SortStableFunc(checks, func(a, b recording.Verdict) int {
		return strings.Compare(a.Test, b.Test)
	})
	results := readTestEvents(output, t.Package, checks)
	if ctx.Err() == nil && len(results) == 0 {
		reason := fmt.Sprintf("no test matches %q", t.Run)
		if err != nil {
			reason = firstLine(stderr.String() + buildOutput(output))
		}
		return t.untested(p, reason), nil
	}
	return results, nil
}

// untested returns the result for tests that cannot be run.
func (t *Tests) untested(p *Plan, reason string) []Tested {
	return []Tested{{
		Package: t.Package, Result: failed, Checks: []recording.Verdict{},
		Said: []string{p.relative(reason)},
	}}
}

// command returns the command that runs the tests, to be ended after it.
func (t *Tests) command(ctx context.Context, p *Plan) (c *exec.Cmd, end func(), err error) {
	directory, pattern := t.directory(p)
	flags := []string{"-json", "-timeout=0", "-run=" + t.Run}
	if !t.Built {
		flags = append(flags, "-count=1", pattern)
		c = exec.CommandContext(ctx, "go", append([]string{"test"}, flags...)...)
		c.Dir = directory
		return c, func() {}, nil
	}
	build, err := gobuild.Prepare(ctx, &gobuild.Test{
		Pattern: directory + strings.TrimPrefix(pattern, "."), Flags: flags,
	})
	if err != nil {
		return nil, nil, err
	}
	c = build.Command(ctx)
	// Like the counterexample, the command that replays it is relative to the package.
	c.Env = append(c.Env, recording.CommandVariable+"=interlock test .")
	return c, build.Close, nil
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

// readTestEvents returns the top-level tests that have ended, in order, with their checks.
func readTestEvents(output []byte, pkg string, checks []recording.Verdict) []Tested {
	results := map[string]string{"pass": passed, "fail": failed, "skip": skipped}
	said := make(map[string]string)
	var all []Tested
	for _, e := range testEvents(output) {
		name, _, sub := strings.Cut(e.Test, "/")
		switch result := results[e.Action]; {
		case e.Action == "output" && name != "":
			said[name] += e.Output
		case result != "" && name != "" && !sub:
			one := Tested{Package: pkg, Test: name, Result: result, Checks: []recording.Verdict{}}
			for i := range checks {
				if of, _, _ := strings.Cut(checks[i].Test, "/"); of == name {
					one.Checks = append(one.Checks, checks[i])
				}
			}
			if result == failed && !one.violated() {
				one.Said = messages(said[name])
			}
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

// messages returns what a test has printed, without the lines of go test itself.
func messages(output string) (lines []string) {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// tests compares the tests with those of an older certificate.
func (c *Comparison) tests(old, now *Certificate) {
	for i := range old.Tests {
		was := &old.Tests[i]
		n := slices.IndexFunc(now.Tests, func(t Tested) bool { return t.Name() == was.Name() })
		switch {
		case n >= 0:
			c.add(was.Name(), "test", was.Result, now.Tests[n].Result, was.Result == passed)
			c.checks(was, &now.Tests[n])
		case !now.Partial:
			c.add(was.Name(), "test", was.Result, unplanned, true)
		}
	}
}

// checks compares what the checks of a test have run and found. Those of one lock are compared in
// their order.
func (c *Comparison) checks(was, is *Tested) {
	left := slices.Clone(is.Checks)
	for i := range was.Checks {
		before := &was.Checks[i]
		name := was.Package + " " + before.Test + ", " + before.Lock
		n := slices.IndexFunc(left, func(v recording.Verdict) bool {
			return v.Test == before.Test && v.Lock == before.Lock
		})
		if n < 0 {
			c.add(name, "check", before.Outcome, unplanned, true)
			continue
		}
		after := left[n]
		left = slices.Delete(left, n, n+1)
		c.check(name, before, &after)
	}
}

// check compares two runs of a check. Requests and margins of other schedules differ by chance.
func (c *Comparison) check(name string, was, is *recording.Verdict) {
	c.add(name, "outcome", was.Outcome, is.Outcome, was.Outcome == recording.Passed)
	for _, pair := range [...]struct {
		from, to *recording.Verdict
		old, now string
	}{{is, was, "not violated", "violated"}, {was, is, "violated", "not violated"}} {
		for _, f := range pair.from.Failures {
			if !slices.ContainsFunc(pair.to.Failures, func(o recording.Failure) bool {
				return o.Signature == f.Signature
			}) {
				c.add(name, f.Signature, pair.old, pair.now, pair.now == "violated")
			}
		}
	}
	c.add(name, "scenario", was.Scenario, is.Scenario, false)
	c.add(name, "schedules", fmt.Sprint(was.Schedules), fmt.Sprint(is.Schedules),
		is.Schedules < was.Schedules && is.Outcome == recording.Passed)
	c.add(name, "requests per acquisition", fmt.Sprintf("%.2f", was.Requests),
		fmt.Sprintf("%.2f", is.Requests), false)
	for _, margin := range slices.Sorted(maps.Keys(was.Margins)) {
		if now, measured := is.Margins[margin]; measured {
			c.add(name, "smallest margin "+margin, was.Margins[margin].Smallest.String(),
				now.Smallest.String(), false)
		}
	}
}
