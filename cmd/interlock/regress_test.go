package main

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// A userModule is a module outside this one that uses its packages.
type userModule struct{ root string }

// newUserModule makes a module with the given files. It requires what this module does, whose
// packages it takes from here.
func newUserModule(t *testing.T, files map[string]string) *userModule {
	t.Helper()
	here, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^module .*$`)
	mod := name.ReplaceAllString(string(readFile(t, filepath.Join(here, "go.mod"))),
		"module example.org/user") +
		"\nrequire github.com/interlock-sim/interlock v0.0.0\n" +
		"replace github.com/interlock-sim/interlock => " + here + "\n"
	m := &userModule{t.TempDir()}
	m.write(t, "go.mod", mod)
	m.write(t, "go.sum", string(readFile(t, filepath.Join(here, "go.sum"))))
	for path, content := range files {
		m.write(t, path, content)
	}
	return m
}

func (m *userModule) write(t *testing.T, path, content string) {
	t.Helper()
	path = filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace replaces the only place of a text in a file.
func (m *userModule) replace(t *testing.T, path, from, to string) {
	t.Helper()
	content := string(readFile(t, filepath.Join(m.root, path)))
	if strings.Count(content, from) != 1 {
		t.Fatalf("%s does not have %q once:\n%s", path, from, content)
	}
	m.write(t, path, strings.Replace(content, from, to, 1))
}

// test runs the tests of a package with names that match, and returns the output and whether they
// passed.
func (m *userModule) test(t *testing.T, packaged, pattern string) (string, bool) {
	t.Helper()
	command := exec.Command("go", "test", "-mod=mod", "-v", "-count=1", "-run", pattern, ".")
	command.Dir = filepath.Join(m.root, packaged)
	printed, err := command.CombinedOutput()
	if strings.Contains(string(printed), "[build failed]") ||
		strings.Contains(string(printed), "no tests to run") {
		t.Fatalf("%s", printed)
	}
	return string(printed), err == nil
}

// interlock runs a command in the root of the module. It returns the output and the status.
func (m *userModule) interlock(t *testing.T, arguments ...string) (stdout, stderr string,
	status int,
) {
	t.Helper()
	executable, err := exec.LookPath("interlock") // testscript.Main has put it there
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(executable, arguments...)
	command.Dir, command.Env = m.root, append(os.Environ(), "GOFLAGS=-mod=mod")
	var out, failed bytes.Buffer
	command.Stdout, command.Stderr = &out, &failed
	command.Run() // The status says what it returns.
	return out.String(), failed.String(), command.ProcessState.ExitCode()
}

// only returns the only path that matches a pattern, relative to the root.
func (m *userModule) only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(m.root, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s matches %v, error %v", pattern, found, err)
	}
	relative, err := filepath.Rel(m.root, found[0])
	if err != nil {
		t.Fatal(err)
	}
	return relative
}

// regress writes a test, verifies its format, and returns its path.
func (m *userModule) regress(t *testing.T, pattern string, arguments ...string) string {
	t.Helper()
	for range 2 { // The second time changes nothing.
		stdout, stderr, status := m.interlock(t, append([]string{"regress"}, arguments...)...)
		if status != exit.OK || stderr != "" || !strings.HasPrefix(stdout, "wrote ") {
			t.Fatalf("status %d: %s%s", status, stdout, stderr)
		}
	}
	written := m.only(t, pattern)
	content := readFile(t, filepath.Join(m.root, written))
	if formatted, err := format.Source(content); err != nil || !bytes.Equal(formatted, content) {
		t.Errorf("not formatted, error %v:\n%s", err, content)
	}
	return written
}

// The test that regress writes for a bundled lock fails on it, and passes on its twin.
func TestRegressBundledLock(t *testing.T) {
	long.Only(t) // It builds another module.
	t.Parallel()
	m := newUserModule(t, map[string]string{"billing/billing.go": "package billing\n"})
	if _, stderr, status := m.interlock(t, "check", "--lock", "exists-then-wait", "--clients", "2",
		"--cycles", "1", "--faults", "none"); status != exit.Violation {
		t.Fatalf("status %d: %s", status, stderr)
	}
	found := m.only(t, "interlock-failures/*")
	written := m.regress(t, "billing/replay_exists_then_wait_*_test.go", found, "--package",
		"billing")
	if err := os.RemoveAll(filepath.Join(m.root, "interlock-failures")); err != nil {
		t.Fatal(err)
	}
	if printed, passed := m.test(t, "billing", "^TestReplayExistsThenWait"); passed ||
		!strings.Contains(printed, "fails as recorded") {
		t.Errorf("passed %v on the broken lock:\n%s", passed, printed)
	}
	m.replace(t, written, `subjects.Named("exists-then-wait")`, `subjects.Named("textbook")`)
	if printed, passed := m.test(t, "billing", "^TestReplayExistsThenWait"); !passed ||
		!strings.Contains(printed, "no violation any more; recorded was progress: ") {
		t.Errorf("passed %v on the fixed lock:\n%s", passed, printed)
	}
	// The test is the user's now.
	_, stderr, status := m.interlock(t, "regress", filepath.Join("billing", "testdata",
		"interlock", filepath.Base(filepath.Dir(m.only(t, "billing/testdata/interlock/*/*"))),
		filepath.Base(found)), "--package", "billing")
	if status != exit.Usage || !strings.Contains(stderr, "exists already: remove or rename it") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// ownLockTest is the package of a user with a lock that is broken unless fixed is true.
const ownLockTest = `package own_test

import (
	"context"
	"testing"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

const fixed = false

func TestLocks(t *testing.T) {
	for _, name := range []string{"sound", "broken lock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock := subjects.Textbook()
			if name != "sound" && !fixed {
				lock = subjects.ExistsThenWait()
			}
			open := lock.Open
			interlock.Check(t, scenarios.Scenario{Clients: 2, Cycles: 1, Subject: scenarios.Subject{
				Name: "own", Claims: lock.Claims,
				Open: func(p *scenarios.Process) (scenarios.Locker, error) {
					locker, err := open(p)
					return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
						return locker.Lock(ctx)
					}), err
				},
			}})
		})
	}
}
`

// The counterexample of a user's own lock is replayed by its test, which replay prints and runs,
// and by the test that regress writes.
func TestRegressOwnLock(t *testing.T) {
	long.Only(t) // It builds another module.
	t.Parallel()
	m := newUserModule(t, map[string]string{"own/own_test.go": ownLockTest})
	if printed, passed := m.test(t, "own", "."); passed {
		t.Fatalf("the broken lock passed:\n%s", printed)
	}
	found := m.only(t, "own/testdata/interlock/TestLocks-broken_lock/own-progress-*")

	stdout, stderr, status := m.interlock(t, "replay", found)
	shown, command, ok := strings.Cut(stdout, "run it with --run, or by: ")
	if status != exit.Violation || stderr != "" || !ok ||
		!strings.HasPrefix(shown, "recorded, nothing was run: own, 2 clients × 1 cycles") ||
		!strings.Contains(shown, "\nVIOLATION progress: ") ||
		!strings.Contains(shown, "c2 STILL WAITS") {
		t.Fatalf("status %d: %s%s", status, stdout, stderr)
	}
	command = strings.TrimSpace(command)
	shell := exec.Command("sh", "-c", command)
	shell.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	if printed, err := shell.CombinedOutput(); err == nil ||
		!strings.Contains(string(printed), "fails as recorded") {
		t.Errorf("%s: %v:\n%s", command, err, printed)
	}
	if stdout, stderr, status = m.interlock(t, "replay", "--run", found); status !=
		exit.Violation || stderr != "" || !strings.HasPrefix(stdout, "running "+command+"\n") ||
		!strings.Contains(stdout, "fails as recorded") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}

	written := m.regress(t, "own/replay_own_*_test.go", found)
	if printed, passed := m.test(t, "own", "^TestReplayOwn"); passed ||
		strings.Count(printed, "fails as recorded") != 1 {
		t.Errorf("passed %v on the broken lock:\n%s", passed, printed)
	}
	m.replace(t, "own/own_test.go", "fixed = false", "fixed = true")
	if printed, passed := m.test(t, "own", "^TestReplayOwn"); !passed ||
		!strings.Contains(printed, "no violation any more; recorded was progress: ") {
		t.Errorf("passed %v on the fixed lock:\n%s", passed, printed)
	}
	if stdout, _, status = m.interlock(t, "replay", "--run", found); status != exit.OK {
		t.Errorf("status %d on the fixed lock: %s", status, stdout)
	}

	// Where the test no longer checks the lock, the replay says so.
	m.replace(t, "own/own_test.go", `"broken lock"`, `"another"`)
	if printed, passed := m.test(t, "own", "^TestReplayOwn"); passed ||
		!strings.Contains(printed, "the test has not checked the lock own") {
		t.Errorf("passed %v without the lock:\n%s", passed, printed)
	}
	m.refuses(t, found, written)
}

// refuses verifies what replay and regress refuse of a user's own lock.
func (m *userModule) refuses(t *testing.T, found, written string) {
	t.Helper()
	refused := func(want string, arguments ...string) {
		t.Helper()
		stdout, stderr, status := m.interlock(t, arguments...)
		if status != exit.Usage || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, want %q: %s%s", arguments, status, want, stdout, stderr)
		}
	}
	refused("--package: the test that found the counterexample is in ", "regress", found,
		"--package", ".")
	refused("--run cannot be combined with --json", "replay", "--run", "--json", "-", found)
	m.replace(t, "own/own_test.go", "func TestLocks", "func TestOther")
	if err := os.Remove(filepath.Join(m.root, written)); err != nil {
		t.Fatal(err)
	}
	refused("has no test TestLocks any more", "regress", found)
	refused("has no test TestLocks/broken_lock any more", "replay", "--run", found)
	refused("has no test TestLocks/broken_lock", "explore", "--schedule", found)
	m.write(t, "own/own_test.go", "package own_test\n\nfunc TestLocks() { missing() }\n")
	refused("does not build", "replay", "--run", found)
	refused("does not build", "explore", "--schedule", found)
	// A command that the test has not written is not run, nor one elsewhere.
	m.replace(t, filepath.Join(found, "report.json"), "go test -count=1", "touch marker; go test")
	refused("does not replay it: it has been changed", "replay", "--run", found)
	refused("does not replay it: it has been changed", "explore", "--schedule", found)
	m.replace(t, filepath.Join(found, "report.json"), "touch marker; go test", "go test -count=1")
	moved := filepath.Join(m.root, filepath.Base(found))
	if err := os.Rename(filepath.Join(m.root, found), moved); err != nil {
		t.Fatal(err)
	}
	refused("where the test wrote it", "replay", "--run", moved)
	refused("where the test wrote it", "regress", moved)
}
