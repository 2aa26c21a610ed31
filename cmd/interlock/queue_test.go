package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/testkit/natstest"
	"github.com/interlock-sim/interlock/internal/base/processgroup"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// queueCheck are the flags of a campaign that keeps going, so that all of its ranges count.
func queueCheck(more ...string) []string {
	return append([]string{
		"check", "--lock", "name-order", "--clients", "3", "--cycles", "2", "--servers", "1",
		"--schedules", "2400", "--keep-going", "--strategy", "round-robin",
	}, more...)
}

// startWorker starts a worker and waits until it takes schedules.
func startWorker(t *testing.T, url string) *child {
	t.Helper()
	w := start(t, "worker", "--nats", url, "--workers", "1", "--json", "worker.json")
	if !strings.HasPrefix(w.first, "worker ") {
		t.Fatalf("first line %q", w.first)
	}
	return w
}

func (c *child) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := c.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Three workers, the first killed within a range and the second paused for longer than a worker
// may be silent, a server that is restarted, and a coordinator that is interrupted and started
// again yield the report of one machine.
func TestQueue(t *testing.T) {
	long.Only(t) // It waits for a worker that does not answer.
	t.Parallel()
	whole := start(t, queueCheck("--json", "whole.json")...)
	server := natstest.Start(t)
	arguments := queueCheck("--nats", server.URL(), "--range-schedules", "200", "--json",
		"merged.json")
	// This one never ends by itself: it waits ten minutes for the ranges of the two workers.
	first := start(t, append(arguments, "--ack-wait", "10m")...)
	killed, paused := startWorker(t, server.URL()), startWorker(t, server.URL())
	killed.stderr.wait(": running")
	killed.signal(t, os.Kill)
	killed.end(t)
	paused.stderr.wait(": running")
	if err := processgroup.Pause(paused.command.Process); err != nil {
		t.Fatal(err)
	}

	third := startWorker(t, server.URL())
	third.stderr.wait(": stored")
	first.signal(t, os.Interrupt)
	if text, status := first.end(t); status != exit.Partial ||
		!regexp.MustCompile(`interrupted: \d+ of 12 ranges stored`).MatchString(
			first.stderr.String()) {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, &first.stderr, text)
	}
	server.Restart(t)
	third.stderr.wait("connected to NATS again")
	second := start(t, append(arguments, "--ack-wait", "300ms")...)
	if text, status := second.end(t); status != exit.Violation {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, &second.stderr, text)
	}
	whole.end(t)
	if err := processgroup.Resume(paused.command.Process); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*child{paused, third} {
		w.signal(t, os.Interrupt)
		if text, status := w.end(t); status != exit.OK {
			t.Errorf("status %d, stderr %q, stdout\n%s", status, &w.stderr, text)
		}
	}
	want, got := comparable(t, whole, "whole.json"), comparable(t, second, "merged.json")
	if want != got {
		t.Errorf("the report of one machine and that of the workers differ:\n%s\n%s", want, got)
	}
	var summary workerSummary
	content := readFile(t, filepath.Join(third.command.Dir, "worker.json"))
	if err := json.Unmarshal(content, &summary); err != nil || summary.Stored == 0 {
		t.Errorf("%v: summary %s", err, content)
	}
}

// comparable returns a report without what depends on time and place.
func comparable(t *testing.T, c *child, file string) string {
	t.Helper()
	content := string(readFile(t, filepath.Join(c.command.Dir, file)))
	return regexp.MustCompile(`"(seconds|checking_share)": .*`).ReplaceAllString(content, "")
}
