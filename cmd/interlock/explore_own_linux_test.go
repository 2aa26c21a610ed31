package main

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// dyingLockTest is a test of a lock whose code ends the program.
const dyingLockTest = `package own_test

import (
	"testing"

	"github.com/interlock-sim/interlock"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

func TestDies(t *testing.T) {
	interlock.Check(t, scenarios.Scenario{Clients: 1, Cycles: 1, Subject: scenarios.Subject{
		Name: "dies", Claims: history.SpinLock(),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			conn, err := p.Connect()
			return scenarios.Mutex(func() error {
				if _, _, err := conn.Exists(p.Directory); err != nil {
					return err
				}
				blocked := make(chan bool)
				go panic("on its own")
				<-blocked
				return nil
			}, func() error { return nil }), err
		},
	}})
}
`

// A lock of a user, one of two that its test checks, is explored from a counterexample on, on a
// page and in a terminal, and the schedule is saved.
func TestExploreOwnLock(t *testing.T) {
	long.Only(t) // It builds another module.
	t.Parallel()
	checksOther := "interlock.Check(t, scenarios.Scenario{Clients: 1, Cycles: 1, Subject: " +
		"subjects.Textbook()})\n"
	m := newUserModule(t, map[string]string{
		"own/own_test.go": strings.Replace(ownLockTest, "interlock.Check(",
			checksOther+"interlock.Check(", 1),
		"own/dies_test.go": dyingLockTest,
	})
	if printed, passed := m.test(t, "own", "TestLocks"); passed {
		t.Fatalf("the broken lock passed:\n%s", printed)
	}
	found := filepath.Join(m.root,
		m.only(t, "own/testdata/interlock/TestLocks-broken_lock/own-progress-*"))
	out := t.TempDir()
	for below, flags := range map[string][]string{
		filepath.Dir(found): nil, filepath.Join(out, "TestLocks-broken_lock"): {"--out", out},
	} {
		c, url := exploreOn(t, append(flags, "--schedule", found)...)
		path := startOf(t, url).Start
		var end explore.State
		ask(t, url+"api/state", path, &end)
		if !end.Ended || len(end.Violations) == 0 ||
			end.Violations[0].Property != history.Progress {
			t.Errorf("ended %v with %v", end.Ended, end.Violations)
		}
		var saved explore.Saved
		ask(t, url+"api/save", path, &saved)
		endExplore(t, c)
		if saved.Directory != filepath.Join(below, filepath.Base(found)) {
			t.Errorf("saved in %s", saved.Directory)
		}
		if printed, err := exec.Command("sh", "-c", saved.Replay).CombinedOutput(); err == nil ||
			!bytes.Contains(printed, []byte("fails as recorded")) {
			t.Errorf("%s: %v\n%s", saved.Replay, err, printed)
		}
	}
	goThrough(t, "progress", "q", "replay", found, "--step")
	m.exploreDying(t)

	m.replace(t, "own/own_test.go", `Name: "own"`, `Name: "other"`)
	_, stderr, status := m.interlock(t, "explore", "--schedule", found)
	if status != exit.Usage || !strings.Contains(stderr, "TestLocks/broken_lock in "+
		filepath.Join(m.root, "own")+", whose output is above, has ended without a search by "+
		`interlock.Check for the lock "own"`) {
		t.Errorf("status %d without the lock: %s", status, stderr)
	}
}

// exploreDying explores a lock whose code ends the process: the request fails, and the next one
// starts the process again. The counterexample begins before the last decision.
func (m *userModule) exploreDying(t *testing.T) {
	t.Helper()
	if printed, passed := m.test(t, "own", "TestDies"); passed {
		t.Fatalf("the lock that panics passed:\n%s", printed)
	}
	found := m.only(t, "own/testdata/interlock/TestDies/dies-no-panic-*")
	for least, arguments := range [][]string{
		{filepath.Join(m.root, "own"), "--run", "TestDies"},
		{"--schedule", filepath.Join(m.root, found)},
	} {
		c, url := exploreOn(t, arguments...)
		start := startOf(t, url).Start
		for range 2 {
			var s explore.State
			ask(t, url+"api/state", start, &s)
			var failed struct{ Error string }
			asked(t, url+"api/run", start, http.StatusInternalServerError, &failed)
			if s.Length < least || s.Ended || !strings.Contains(failed.Error,
				"the test's process has ended: panic: on its own") {
				t.Errorf("after %d steps: ended %v, error %q", s.Length, s.Ended, failed.Error)
			}
		}
		endExplore(t, c)
	}
}

// endExplore interrupts interlock explore.
func endExplore(t *testing.T, c *child) {
	t.Helper()
	if err := c.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if rest, status := c.end(t); rest != "" || status != exit.OK {
		t.Errorf("%q, status %d, stderr %q", rest, status, &c.stderr)
	}
}
