package certify

import (
	"bufio"
	"bytes"
	"cmp"
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
	if t.Built && !localPackage(t.Package) {
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
	Package string `json:"package"`     // as the plan names it
	Path    string `json:"import_path"` // empty if it is not known
	Test    string `json:"test"`        // empty if the package could not be tested
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
	// interrupted is the result of a test that a signal ended before it found anything.
	interrupted = recording.Interrupted
)

// Name names the test in reports: with the import path if the plan may name several packages.
func (t *Tested) Name() string {
	words := []string{t.Package}
	one := t.Package == t.Path || localPackage(t.Package) && !strings.HasSuffix(t.Package, "...")
	if !one && t.Path != "" {
		words = append(words, t.Path)
	}
	if t.Test != "" {
		words = append(words, t.Test)
	}
	return strings.Join(words, " ")
}

// checkName names a check of the test by the test, or the subtest, that calls it.
func (t *Tested) checkName(v *recording.Verdict) string {
	_, sub, _ := strings.Cut(v.Test, "/")
	return strings.TrimSuffix(t.Name()+"/"+sub, "/")
}

// localPackage reports whether a package is named by its directory.
func localPackage(name string) bool { return strings.HasPrefix(name, ".") }

// Skipped reports whether the test was skipped, or did not end.
func (t *Tested) Skipped() bool { return t.Result == skipped || t.Result == interrupted }

// wasInterrupted reports whether a signal ended a check, and no other check failed to judge.
func (t *Tested) wasInterrupted() bool {
	ended := func(v recording.Verdict) bool { return v.Outcome == recording.Interrupted }
	return slices.ContainsFunc(t.Checks, ended) && !slices.ContainsFunc(t.Checks, unjudged)
}

// unjudged reports whether a check could not judge the lock.
func unjudged(v recording.Verdict) bool {
	return v.Outcome == recording.Unsound || v.Outcome == recording.Refused
}

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
		if len(v.Unexercised) > 0 {
			lines = append(lines, "claimed and not exercised: "+strings.Join(v.Unexercised, ", "))
		}
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

// reason returns why the test failed, in a line, unless it found a violation.
func (t *Tested) reason() string {
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
	case err != nil || !localPackage(t.Package):
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
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Test, b.Test))
	})
	results := readTestEvents(output, t.Package, checks, ctx.Err() != nil)
	for i := range results {
		if results[i].Test == "" {
			results[i].Said[0] = p.relative(results[i].Said[0])
		}
	}
	reason := t.notChecked(results)
	switch {
	case ctx.Err() != nil || reason == "":
		return results, nil
	case len(results) > 0:
	case err != nil:
		reason = firstLine(stderr.String())
	default:
		reason = fmt.Sprintf("no test matches %q", t.Run)
	}
	return append(results, t.untested(p, reason)...), nil
}

// notChecked says that no test of the results has judged a lock. It returns "" if one has, or has
// failed.
func (t *Tests) notChecked(results []Tested) string {
	if slices.ContainsFunc(results, func(r Tested) bool {
		return r.Result == failed || len(r.Checks) > 0
	}) {
		return ""
	}
	reason := "nothing is judged: each test is skipped, or does not call interlock.Check"
	if !t.Built {
		reason += " (interlock_test: true runs code that opens its own client)"
	}
	return reason
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
type testEvent struct{ Action, Package, Test, Output, ImportPath, FailedBuild string }

// readTestEvents returns the top-level tests that have ended, with their checks, and the packages
// that failed without a test, in the order of their names. After a signal, packages that were built
// fail because of it, and are left out.
func readTestEvents(output []byte, pkg string, checks []recording.Verdict, signal bool) []Tested {
	results := map[string]string{"pass": passed, "fail": failed, "skip": skipped}
	said := make(map[string]string)    // of a test after its package, or of a build
	fails := make(map[string]bool)     // packages with a failed test
	unready := make(map[string]string) // other packages that fail, with what the go command says
	var all []Tested
	for _, e := range testEvents(output) {
		name, _, sub := strings.Cut(e.Test, "/")
		one := Tested{
			Package: pkg, Path: e.Package, Test: name, Result: results[e.Action],
			Checks: []recording.Verdict{},
		}
		switch {
		case e.Action == "output":
			said[e.Package+" "+name] += e.Output
		case e.Action == "build-output":
			said[e.ImportPath] += e.Output
		case one.Result == failed && name == "" && signal && e.FailedBuild == "":
		case one.Result == failed && name == "" && !fails[e.Package]:
			unready[e.Package] = said[e.FailedBuild] + said[e.Package+" "]
		case one.Result != "" && name != "" && !sub:
			for i := range checks {
				of, _, _ := strings.Cut(checks[i].Test, "/")
				if of == name && checks[i].Package == e.Package {
					one.Checks = append(one.Checks, checks[i])
				}
			}
			if one.Result == failed {
				fails[e.Package] = true
				switch {
				case one.violated():
				case one.wasInterrupted():
					one.Result = interrupted
				default:
					one.Said = messages(said[e.Package+" "+name])
				}
			}
			all = append(all, one)
		}
	}
	for path, text := range unready {
		all = append(all, Tested{
			Package: pkg, Path: path, Result: failed, Checks: []recording.Verdict{},
			Said: []string{firstLine(text)},
		})
	}
	slices.SortStableFunc(all, func(a, b Tested) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Test, b.Test))
	})
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

func firstLine(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "FAIL\t") {
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
		case n >= 0 && now.Tests[n].Result == interrupted:
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
		name := was.checkName(before) + ", " + before.Lock
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
	for _, claim := range was.Claims {
		if !slices.Contains(is.Claims, claim) {
			c.add(name, "claim "+string(claim), "judged", "not judged", true)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(was.Coverage)) {
		if _, planned := is.Coverage[kind]; !planned && is.Schedules > 0 {
			c.add(name, "fault "+kind, "planned", "not planned", true)
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
