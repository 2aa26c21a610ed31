package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/show/explore/site"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/sim"
)

// exploreOn starts interlock explore and returns the URL of its page.
func exploreOn(t *testing.T, arguments ...string) (*child, string) {
	t.Helper()
	c := start(t, append([]string{"explore"}, arguments...)...)
	url, err := c.rest.ReadString('\n')
	if err != nil {
		t.Fatalf("no URL after %q: %v\n%s", c.first, err, &c.stderr)
	}
	return c, strings.TrimSpace(url)
}

// interrupt ends a program, which must end with status 0 and print nothing more.
func interrupt(t *testing.T, c *child) {
	t.Helper()
	if err := c.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if rest, status := c.end(t); rest != "" || status != exit.OK || c.stderr.String() != "" {
		t.Errorf("%q, status %d, stderr %q", rest, status, &c.stderr)
	}
}

// ask sends a request to the page's server and decodes the answer.
func ask(t *testing.T, url string, path explore.Path, answer any) {
	t.Helper()
	asked(t, url, path, http.StatusOK, answer)
}

// asked is ask for an answer with a status.
func asked(t *testing.T, url string, path explore.Path, status int, answer any) {
	t.Helper()
	body, err := json.Marshal(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(answer); err != nil || r.StatusCode != status {
		t.Fatalf("%s: status %d, %v", url, r.StatusCode, err)
	}
}

// cutInTime is the path to a state in which the schedule of no-recheck must fail.
func cutInTime(t *testing.T) explore.Path {
	t.Helper()
	cut, err := sim.ParseStep("cut c2")
	if err != nil {
		t.Fatal(err)
	}
	return explore.Path{Length: 11, Deviations: []engine.Deviation{{Index: 10, Step: cut}}}
}

// startOf returns the path with which a page begins.
func startOf(t *testing.T, url string) (scenario site.Scenario) {
	t.Helper()
	r, err := http.Get(url + "api/scenario")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&scenario); err != nil {
		t.Fatal(err)
	}
	return scenario
}

// ended runs interlock, and returns its output and its exit status.
func ended(t *testing.T, arguments ...string) (output string, status int) {
	t.Helper()
	executable, err := exec.LookPath("interlock")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(executable, arguments...)
	combined, _ := command.CombinedOutput()
	return string(combined), command.ProcessState.ExitCode()
}

// saveNoRecheck saves a failing schedule of no-recheck through interlock explore, and returns its
// directory.
func saveNoRecheck(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	c, url := exploreOn(t, "--lock", "no-recheck", "--faults", "cut=1", "--out", out)
	if c.first != "exploring no-recheck, 3 clients × 1 cycles, faults cut=1 at\n" {
		t.Errorf("first line %q", c.first)
	}
	var s explore.State
	ask(t, url+"api/run", cutInTime(t), &s)
	if len(s.Violations) == 0 {
		t.Fatal("no violation")
	}
	var saved explore.Saved
	ask(t, url+"api/save", s.Path, &saved)
	interrupt(t, c)
	if filepath.Dir(saved.Directory) != out || !strings.HasSuffix(saved.Replay, saved.Directory) {
		t.Errorf("%+v", saved)
	}
	return saved.Directory
}

// A schedule that was saved while exploring is replayed to the same trace, and explored further.
func TestExplore(t *testing.T) {
	t.Parallel()
	directory := saveNoRecheck(t)
	if output, status := ended(t, "replay", directory); status != exit.Violation ||
		!strings.Contains(output, ", as recorded\n") {
		t.Errorf("replay: status %d\n%s", status, output)
	}

	c, url := exploreOn(t, "--schedule", directory)
	scenario := startOf(t, url)
	if scenario.Lock != "no-recheck" || len(scenario.Start.Deviations) != 1 ||
		scenario.Start.Length < 12 {
		t.Errorf("%+v", scenario)
	}
	interrupt(t, c)
}

// A schedule that violates nothing is saved too, replayed to the same trace, and explored further.
func TestExplorePassing(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	c, url := exploreOn(t, "--lock", "textbook", "--clients", "2", "--faults", "none", "--out", out)
	var saved explore.Saved
	ask(t, url+"api/save", explore.Path{Length: 5}, &saved)
	interrupt(t, c)
	if saved.Property != "" || filepath.Dir(saved.Directory) != out {
		t.Errorf("%+v", saved)
	}
	if output, status := ended(t, "replay", saved.Directory); status != exit.OK ||
		!strings.HasSuffix(output, "no violation\ntrace hash "+saved.TraceHash.String()+
			", as recorded\n") {
		t.Errorf("replay: status %d\n%s", status, output)
	}
	c, url = exploreOn(t, "--schedule", saved.Directory)
	var end explore.State
	ask(t, url+"api/state", startOf(t, url).Start, &end)
	if !end.Ended || end.TraceHash != saved.TraceHash {
		t.Errorf("explored again: ended %v with trace hash %v", end.Ended, end.TraceHash)
	}
	interrupt(t, c)
}
