package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// changedLocks are changes of package lock that certify must notice, with the reason that it gives.
var changedLocks = []struct{ name, file, old, changed, reason string }{
	{
		"validity", "session.go", "return timeout / 3 }", "return timeout * 9 / 10 }",
		"RED mutex, smallest margin loss-to-end: ",
	},
	{
		"request", "contender.go", "		node, err = c.client.Create(",
		"		c.client.Exists(c.path)\n		node, err = c.client.Create(",
		"RED mutex, requests per acquire and release: ",
	},
}

// A change of the lock that makes it less safe or slower is red against the certificate of the lock
// before, although no property is violated.
func TestCertifyChangedLocks(t *testing.T) {
	long.Only(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	const plan = `
locks:
  - names: [mutex]
    sampled: [{faults: any=2, schedules: 2000}]
    exhaustive: [{clients: 2, cycles: 1, faults: none}]
    unexercised: [reentrancy]
`
	if err := os.WriteFile("interlock.yaml", []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := execute(t.Context(), t, []string{"certify", "--json", "old.json"}, &stdout,
		&stderr); status != exit.OK {
		t.Fatalf("status %d: %s%s", status, &stdout, &stderr)
	}
	for _, change := range changedLocks {
		output := certifyChanged(t, root, change.name, change.file, change.old, change.changed)
		var reds []string
		for line := range strings.Lines(output) {
			if strings.HasPrefix(line, "RED ") {
				reds = append(reds, line)
			}
		}
		if len(reds) == 0 || !strings.Contains(strings.Join(reds, ""), change.reason) {
			t.Errorf("%s: red for %q, not for %s", change.name, reds, change.reason)
		}
	}
}

// certifyChanged certifies with a program in which a file of package lock is changed.
func certifyChanged(t *testing.T, root, name, file, old, changed string) string {
	t.Helper()
	path := filepath.Join(root, "lock", file)
	source := string(readFile(t, path))
	if strings.Count(source, old) != 1 {
		t.Fatalf("%s has %d times %q", path, strings.Count(source, old), old)
	}
	replaced, overlay := filepath.Join(t.TempDir(), file), filepath.Join(t.TempDir(), "overlay")
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{path: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		replaced: strings.Replace(source, old, changed, 1), overlay: string(content),
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "interlock")
	build := exec.Command("go", "build", "-overlay="+overlay, "-o="+program, "./cmd/interlock")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, text)
	}
	certify := exec.Command(program, "certify", "--against", "old.json", "--quiet")
	output, err := certify.Output()
	if status := certify.ProcessState.ExitCode(); status != exit.Violation {
		t.Errorf("%s: status %d, %v", name, status, err)
	}
	return string(output)
}
