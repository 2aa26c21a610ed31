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
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge/certify"
	"github.com/interlock-sim/interlock/cmd/internal/judge/hunt"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/cmd/internal/testkit/fifo"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A child is a running interlock.
type child struct {
	command *exec.Cmd
	first   string // the first line of standard output, if start has read it
	rest    *bufio.Reader
	stderr  watchedBuffer
}

// A watchedBuffer is a buffer whose reader can wait for a text.
type watchedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
	wanted string
	seen   chan struct{} // closed when the buffer contains what is wanted
}

// Write implements io.Writer.
func (b *watchedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.buffer.Write(p)
	b.look()
	return n, err
}

// look closes the channel if the buffer contains what is wanted.
func (b *watchedBuffer) look() {
	if b.wanted != "" && strings.Contains(b.buffer.String(), b.wanted) {
		close(b.seen)
		b.wanted = ""
	}
}

// String returns what has been written.
func (b *watchedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// wait waits until the buffer contains a text.
func (b *watchedBuffer) wait(text string) {
	b.mu.Lock()
	b.wanted, b.seen = text, make(chan struct{})
	b.look()
	b.mu.Unlock()
	<-b.seen
}

// start starts interlock in an empty directory and waits for the first line of its output.
func start(t *testing.T, arguments ...string) *child {
	t.Helper()
	c := begin(t, arguments...)
	var err error
	if c.first, err = c.rest.ReadString('\n'); err != nil {
		t.Fatalf("no first line: %v\n%s", err, &c.stderr)
	}
	return c
}

// begin starts interlock in an empty directory.
func begin(t *testing.T, arguments ...string) *child {
	t.Helper()
	executable, err := exec.LookPath("interlock") // testscript.Main has put it there
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
	t.Cleanup(func() { c.command.Process.Kill() }) // It still runs only if the test failed.
	c.rest = bufio.NewReader(stdout)
	return c
}

// end waits until the program ends, and returns the rest of its output and its status.
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

// An interrupted campaign prints the results so far and writes its report.
func TestInterruptedCheck(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c := start(t, "check", "--budget", "10m", "--json", "report.json")
			if !strings.HasPrefix(c.first, "checking mutex, ") {
				t.Fatalf("first line %q", c.first)
			}
			c.signal(t, signal)
			text, status := c.end(t)
			if status != exit.Partial || c.stderr.String() != "" {
				t.Errorf("status %d, stderr %q", status, &c.stderr)
			}
			for _, want := range []string{
				"ran ", "\ninterrupted before it ", "trace digest ",
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
			var r checkReport
			if err := json.Unmarshal(content, &r); err != nil {
				t.Fatalf("the report is incomplete: %v\n%s", err, content)
			}
			if !r.Interrupted || r.ExhaustiveReport != nil || r.Violations == nil ||
				len(r.Properties) != len(check.Claimable()) {
				t.Errorf("report %+v", r)
			}
		})
	}
}

// An interrupted check of all locks reports the locks that it has searched, and their margins.
func TestInterruptedCheckOfAllLocks(t *testing.T) {
	t.Parallel()
	c := start(t, "check", "--lock", "all", "--budget", "10m", "--json", "report.json")
	locks := len(subjects.Correct())
	if c.first != fmt.Sprintf("checking %d locks, seed 1\n", locks) {
		t.Fatalf("first line %q", c.first)
	}
	c.signal(t, os.Interrupt)
	text, status := c.end(t)
	content := readFile(t, filepath.Join(c.command.Dir, "report.json"))
	var all allReport
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatalf("the report is incomplete: %v\n%s", err, content)
	}
	if status != exit.Partial || all.Status != exit.Partial || !all.Interrupted ||
		len(all.Locks) != 1 || !all.Locks[0].Interrupted {
		t.Fatalf("status %d, stderr %q, report %s", status, &c.stderr, content)
	}
	margins := strings.Contains(text, "\nsmallest margin (s) ")
	if margins != (len(all.Locks[0].Margins) > 0) ||
		!strings.HasPrefix(text, "\nmutex               interrupted before it ") ||
		!strings.HasSuffix(text, fmt.Sprintf("\n\ninterrupted in lock 1 of %d\n", locks)) {
		t.Errorf("stdout\n%s", text)
	}
}

// An interrupted card has what was judged before, and says that it is partial.
func TestInterruptedReportCard(t *testing.T) {
	t.Parallel()
	c := begin(t, "report-card", "--lock", "zk-herd,redlock-5", "--faults", "none", "--json",
		"card.json")
	c.stderr.wait("1 of 2  zk-herd: ")
	c.signal(t, os.Interrupt)
	text, status := c.end(t)
	if status != exit.Interrupted || !strings.Contains(text, "\nzk-herd ") ||
		!strings.Contains(text, "\npartial: ") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, &c.stderr, text)
	}
	content, err := os.ReadFile(filepath.Join(c.command.Dir, "card.json"))
	if err != nil {
		t.Fatal(err)
	}
	var card reportcard.Card
	if err := json.Unmarshal(content, &card); err != nil || !card.Partial || len(card.Locks) != 2 ||
		card.Lock("zk-herd").Cell(history.FIFO).Verdict != report.Holds {
		t.Errorf("%v: card %s", err, content)
	}
}

// An interrupted certificate has what was shown before, and says that it is partial.
func TestInterruptedCertify(t *testing.T) {
	t.Parallel()
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	content := `locks:
  - {names: [textbook], sampled: [{faults: expire=1, schedules: 100}]}
  - {names: [herd], sampled: [{faults: none, schedules: 1000000000}]}
`
	if err := os.WriteFile(plan, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	c := begin(t, "certify", plan, "--json", "report.json", "--junit", "report.xml")
	c.stderr.wait("1 of 2  textbook: ")
	c.signal(t, os.Interrupt)
	text, status := c.end(t)
	if status != exit.Partial || !strings.Contains(text, "\npartial: ") ||
		strings.Contains(text, "GREEN") || strings.Contains(text, "RED") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, &c.stderr, text)
	}
	certificate, err := certify.ReadCertificate(filepath.Join(c.command.Dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !certificate.Partial || len(certificate.Failures) > 0 || len(certificate.Card.Locks) != 2 ||
		certificate.Card.Lock("textbook").Cell(history.FIFO).Verdict != report.Holds {
		t.Errorf("certificate %+v", certificate)
	}
	junit := string(readFile(t, filepath.Join(c.command.Dir, "report.xml")))
	if !strings.Contains(junit, `<skipped message="the plan was interrupted">`) {
		t.Errorf("JUnit %s", junit)
	}
}

// searchingModule writes a module with a test that searches for as long as it may, and two plans for
// it, and returns its directory. A long search opens the pipe, whose reader waits for that.
func searchingModule(t *testing.T) (directory, pipe string) {
	t.Helper()
	directory = t.TempDir()
	pipe = filepath.Join(directory, "pipe")
	fifo.Make(t, pipe)
	for name, content := range map[string]string{
		"short.yaml": "tests: [{package: ., interlock_test: true, schedules: 9, run: Slow$}]",
		"plan.yaml":  "tests: [{package: ., interlock_test: true, schedules: 1000000000}]",
		"go.mod":     "module example.com/slow\n\ngo 1.26\n",
		"a_test.go": fmt.Sprintf(`package slow

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

var opened atomic.Int32

func TestSlow(t *testing.T) {
	interlock.Check(t, scenarios.Scenario{Clients: 1, Cycles: 1, Subject: scenarios.Subject{
		Name: "none", Claims: []history.Property{history.Progress},
		Open: func(*scenarios.Process) (scenarios.Locker, error) {
			if opened.Add(1) == 1000 {
				os.WriteFile(%q, nil, 0)
			}
			return scenarios.Mutex(func() {}, func() {}), nil
		},
	}})
}

func TestSlower(t *testing.T) { select {} }
`, pipe),
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory, pipe
}

// interruptSearch interrupts a command when the search that opens the pipe is under way.
func interruptSearch(t *testing.T, pipe string, arguments ...string) (c *child, text string,
	status int,
) {
	t.Helper()
	c = begin(t, arguments...)
	readFile(t, pipe)
	c.signal(t, os.Interrupt)
	text, status = c.end(t)
	return c, text, status
}

// A signal that ends interlock test is in its reports, with what the search has run.
func TestInterruptedTest(t *testing.T) {
	t.Parallel()
	module, pipe := searchingModule(t)
	c, text, status := interruptSearch(t, pipe, "test", module, "--schedules", "1000000000",
		"--json", "report.json", "--junit", "report.xml")
	var report testOutcome
	if err := json.Unmarshal(readFile(t, filepath.Join(c.command.Dir, "report.json")),
		&report); err != nil {
		t.Fatal(err)
	}
	suites := readJUnit(t, readFile(t, filepath.Join(c.command.Dir, "report.xml")))
	if status != exit.Interrupted || report.Status != status || report.Error != "interrupted" ||
		len(suites) != 2 || suites[1].Errors != 1 ||
		suites[1].Cases[0].Error.Message != "interrupted" || len(report.Checks) != 1 {
		t.Fatalf("status %d, report %+v, suites %+v, stderr %q, stdout\n%s", status, report, suites,
			&c.stderr, text)
	}
	verdict, search := report.Checks[0], suites[0].Cases[len(suites[0].Cases)-1]
	counted := fmt.Sprintf("interrupted: nothing was found in %d schedules so far",
		verdict.Schedules)
	if verdict.Outcome != recording.Interrupted || verdict.Schedules == 0 ||
		!strings.HasSuffix(verdict.Reason, counted) || !strings.Contains(text, counted) ||
		search.Skipped == nil || search.Skipped.Message != verdict.Reason ||
		suites[0].Failures+suites[0].Errors > 0 {
		t.Errorf("verdict %+v, suite %+v, stdout\n%s", verdict, suites[0], text)
	}
}

// A signal ends the tests of a plan, and the certificate is partial. It has what they have run, which
// is not worse than when they passed.
func TestInterruptedTests(t *testing.T) {
	t.Parallel()
	module, pipe := searchingModule(t)
	old := begin(t, "certify", filepath.Join(module, "short.yaml"), "--json", "old.json")
	if text, status := old.end(t); status != exit.OK {
		t.Fatalf("status %d, stderr %q, stdout\n%s", status, &old.stderr, text)
	}
	c, text, status := interruptSearch(t, pipe, "certify", filepath.Join(module, "plan.yaml"),
		"--against", filepath.Join(old.command.Dir, "old.json"))
	// A plan without recordings has no line about them.
	want := regexp.MustCompile(`^module example.com/slow, in no Git repository
test \. TestSlow: interrupted
  none, .*: interrupted in [1-9]\d* schedules of \d+ steps
partial: a signal ended it before all of the plan had run
`)
	if status != exit.Partial || !want.MatchString(text) {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, &c.stderr, text)
	}
}

// An interrupted replay judges the runs so far.
func TestInterruptedReplay(t *testing.T) {
	t.Parallel()
	schedule := filepath.Join(t.TempDir(), "schedule.json")
	content := `{"format": "interlock-schedule", "version": 3, "lock": "textbook", "clients": 1,
		"cycles": 1, "faults": "none", "deviations": [], "trace_hash": "0000000000000000",
		"property": "fifo",
		"signature": "fifo: as it was"}`
	err := os.WriteFile(schedule, []byte(content), 0o644)
	if err == nil {
		err = signAgain(schedule)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, "replay", "--times", "1000000000", "--json", "replay.json", schedule)
	c.signal(t, os.Interrupt)
	text, status := c.end(t)
	if status != exit.OK || !strings.Contains(text, "interrupted after ") ||
		!strings.Contains(text, "no longer occurs") {
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

// An interrupted verify that waits for its history dies of the signal: it has no results.
func TestInterruptedVerify(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "fifo")
	fifo.Make(t, pipe)
	c := begin(t, "verify", pipe)
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // which waits until verify reads
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	c.signal(t, os.Interrupt)
	if text, _ := c.end(t); text != "" || c.stderr.String() != "" {
		t.Errorf("stdout %q, stderr %q", text, &c.stderr)
	}
	if status := c.command.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() ||
		status.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v", c.command.ProcessState)
	}
}

// If shrinking several failures is interrupted, all of them are written and reported.
func TestInterruptedShrinking(t *testing.T) {
	t.Parallel()
	c := start(t, "check", "--lock", "name-order", "--schedules", "200", "--keep-going",
		"--json", "report.json")
	c.stderr.wait("shrinking 1 of ")
	c.signal(t, os.Interrupt)
	text, status := c.end(t)
	if status != exit.Violation || !strings.Contains(text, "distinct failures, shown by ") {
		t.Errorf("status %d:\n%s", status, text)
	}
	content, err := os.ReadFile(filepath.Join(c.command.Dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r checkReport
	if err := json.Unmarshal(content, &r); err != nil || len(r.Violations) < 3 {
		t.Fatalf("%v: %d violations", err, len(r.Violations))
	}
	for _, v := range r.Violations {
		if _, err := os.Stat(filepath.Join(c.command.Dir, v.Artifact, "schedule.json")); err !=
			nil || v.Artifact == "" {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// An interrupted hunt saves the schedules of the turn, and the next one continues with them.
func TestInterruptedHunt(t *testing.T) {
	t.Parallel()
	c := start(t, "hunt", "--lock", "exists-then-wait", "--out", "hunt", "--listen", "127.0.0.1:0")
	if line, err := c.rest.ReadString('\n'); err != nil ||
		!strings.HasPrefix(line, "status at http://127.0.0.1:") {
		t.Fatalf("%v: %q", err, line)
	}
	c.stderr.wait("VIOLATION ")
	c.signal(t, os.Interrupt)
	if text, status := c.end(t); status != exit.Violation ||
		!strings.Contains(text, "\n1 of 1 broken locks found\n") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, &c.stderr, text)
	}
	var saved hunt.Findings
	content := readFile(t, filepath.Join(c.command.Dir, "hunt", "corpus", "exists-then-wait.json"))
	if err := json.Unmarshal(content, &saved); err != nil || saved.Schedules == 0 {
		t.Errorf("%v: saved %+v", err, saved)
	}
}

// A directory belongs to one hunt at a time. After a hunt was killed, the next one continues.
func TestKilledHunt(t *testing.T) {
	t.Parallel()
	arguments := []string{
		"hunt", "--lock", "exists-then-wait,name-order", "--out",
		filepath.Join(t.TempDir(), "hunt"),
	}
	c := start(t, arguments...)
	c.stderr.wait("name-order: VIOLATION ") // The first lock has had its turn.
	second := begin(t, arguments...)
	want := fmt.Sprintf("interlock: --out: the hunt of process %d is using %s", c.command.Process.Pid,
		arguments[4])
	if _, status := second.end(t); status != exit.Usage ||
		!strings.HasPrefix(second.stderr.String(), want) {
		t.Errorf("status %d, stderr %q, not %q", status, &second.stderr, want)
	}
	c.command.Process.Kill()
	c.end(t)
	arguments[2] = "exists-then-wait"
	third := start(t, append(arguments, "--turns", "1", "--json", "-")...)
	text, status := third.end(t)
	var saved hunt.Status
	if err := json.Unmarshal([]byte("{"+text), &saved); err != nil || status != exit.Violation ||
		saved.Locks[0].Turns < 2 || saved.Locks[0].Schedules <= saved.Schedules {
		t.Errorf("%v: status %d, stderr %q, %+v", err, status, &third.stderr, saved)
	}
}
