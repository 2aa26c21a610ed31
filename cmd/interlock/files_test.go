package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// writingCommands are command lines that write each kind of file, with what they read.
var writingCommands = []struct {
	name  string
	line  string
	reads map[string]string
	slow  bool // left to long runs
}{
	{name: "check", line: "check --lock exists-then-wait --clients 2 --cycles 1 --servers 1 " +
		"--schedules 200 --json r.json --junit r.xml --sarif r.sarif --out failures"},
	{name: "checkpoint", line: "check --lock textbook --strategy exhaustive --clients 2 " +
		"--cycles 1 --faults none --schedules 5 --checkpoint search --json r.json"},
	{name: "hunt", line: "hunt --lock textbook --turns 1 --out hunt --json r.json"},
	{name: "report-card", slow: true, line: "report-card --lock setnx --faults crash=1 --schedules 10 " +
		"--out found --json card.json --html card.html --markdown card.md"},
	{
		name: "certify", line: "certify plan.yaml --json c.json --html c.html --junit c.xml " +
			"--sarif c.sarif",
		reads: map[string]string{"plan.yaml": "locks:\n  - names: [mutex]\n" +
			"    sampled: [{schedules: 5, clients: 2, cycles: 1, faults: none}]\n"},
	},
	{
		name: "regress", line: "regress bundled --package lock",
		reads: map[string]string{"lock/lock.go": "package tool\n", "bundled/schedule.json": ""},
	},
	{name: "replay", line: "replay bundled --json r.json", reads: map[string]string{
		"bundled/schedule.json": "",
	}},
}

// A tree is the contents of files by their paths.
type tree map[string]string

// readTree reads all files below the present directory but drafts.
func readTree(t *testing.T, drafts *[]string) tree {
	t.Helper()
	files := make(tree)
	if err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(entry.Name(), file.DraftPrefix):
			*drafts = append(*drafts, path)
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && entry.Name() != "hunt.lock":
			files[path] = string(readFile(t, path))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// A disk notes which contents are whole, and becomes full at an operation.
type disk struct {
	t          *testing.T
	old        tree
	whole      map[string]bool // contents of drafts that are about to be renamed
	operations int
	full       int  // the first operation that fails; 0 if none does
	each       bool // verify the files before each operation
}

// intercept is [file.Intercept].
func (d *disk) intercept(operation, draft string) error {
	d.operations++
	if d.full > 0 && d.operations >= d.full {
		return syscall.ENOSPC
	}
	if d.each {
		d.verify()
	}
	if operation == "rename" {
		d.noteWhole(draft)
	}
	return nil
}

// noteWhole notes the content of a draft, which is a file or a directory.
func (d *disk) noteWhole(draft string) {
	filepath.WalkDir(draft, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			d.whole[string(readFile(d.t, path))] = true
		}
		return nil
	})
}

// verify fails unless each file is the old one or a new, whole one, as a program that is killed now
// leaves it. It returns the drafts.
func (d *disk) verify() (drafts []string) {
	d.t.Helper()
	now := readTree(d.t, &drafts)
	for path, content := range now {
		if old, ok := d.old[path]; !(ok && old == content) && !d.whole[content] {
			d.t.Errorf("operation %d: %s has %d bytes and is neither old nor whole",
				d.operations, path, len(content))
		}
	}
	for path := range d.old {
		if _, ok := now[path]; !ok {
			d.t.Errorf("operation %d: %s is gone", d.operations, path)
		}
	}
	return drafts
}

// run runs a command line on the disk, and returns its status and what it says.
func (d *disk) run(line string) (status int, said string) {
	file.Intercept = d.intercept
	defer func() { file.Intercept = nil }()
	var stdout, stderr bytes.Buffer
	status = execute(d.t.Context(), d.t, strings.Fields(line), &stdout, &stderr)
	return status, stderr.String()
}

// Whenever a command is killed, and whenever the disk becomes full, each file is the old or the new
// one. A full disk is an error that names a file, and leaves no draft.
func TestNothingIsLost(t *testing.T) {
	schedule := string(readFile(t, filepath.Join("..", "..", "history", "explain", "testdata",
		"exists-then-wait.json")))
	for _, tc := range writingCommands {
		t.Run(tc.name, func(t *testing.T) {
			if tc.slow {
				long.Only(t)
			}
			t.Chdir(t.TempDir())
			for path, content := range tc.reads {
				if content == "" {
					content = schedule
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			verifyNothingIsLost(t, tc.line)
		})
	}
}

func verifyNothingIsLost(t *testing.T, line string) {
	t.Helper()
	var drafts []string
	killed := &disk{t: t, old: readTree(t, &drafts), whole: make(map[string]bool), each: true}
	status, said := killed.run(line) // There are no files yet.
	if status > exit.Violation || killed.operations == 0 {
		t.Fatalf("status %d, %d operations: %s", status, killed.operations, said)
	}
	killed.old, killed.operations = readTree(t, &drafts), 0
	if status, said := killed.run(line); status > exit.Violation {
		t.Fatalf("status %d: %s", status, said)
	}
	killed.verify()
	step := max(1, killed.operations/2) // of searches that take long
	if long.Enabled() {
		step = 1
	}
	for at := 1; at <= killed.operations; at += step {
		full := &disk{t: t, old: readTree(t, &drafts), whole: make(map[string]bool), full: at}
		status, said := full.run(line)
		if full.operations < at {
			break // Fewer files are written, as there is nothing new to find.
		}
		if status != exit.Internal && status != exit.Usage ||
			!strings.Contains(said, syscall.ENOSPC.Error()) ||
			strings.Contains(said, file.DraftPrefix) {
			t.Errorf("operation %d of %d: status %d, %q", at, killed.operations, status, said)
		}
		if left := full.verify(); len(left) > 0 {
			t.Errorf("operation %d of %d leaves %q", at, killed.operations, left)
		}
	}
	if len(drafts) > 0 {
		t.Errorf("drafts %q", drafts)
	}
}

// Every flag that names a file or a directory is one of writingCommands, or is listed here.
func TestWritingFlags(t *testing.T) {
	others := map[string]string{
		"test":           "by the same functions, after minutes",
		"conform --json": "by the same function", "worker --json": "by the same function",
		"merge": "as check", "explore --out": "by package recording",
		"serve --requests": "grows", "serve --control": "a socket",
	}
	used := make(map[string]bool)
	for _, tc := range writingCommands {
		command := strings.Fields(tc.line)[0]
		for _, word := range strings.Fields(tc.line) {
			if strings.HasPrefix(word, "--") {
				used[command+" "+word] = true
			}
		}
		used[command+" --out"] = true // has a default
	}
	for _, command := range newRoot(t).Commands() {
		verifyWritingFlags(t, command, used, others)
	}
}

// verifyWritingFlags fails if a flag that writes a file is not known.
func verifyWritingFlags(t *testing.T, command *cobra.Command, used map[string]bool,
	others map[string]string,
) {
	t.Helper()
	reads := map[string]bool{
		"against": true, "plan": true, "creds": true, "ca": true, "schedule": true, "glue": true,
		"interlock": true, "package": true, "replay": true, "corpus": true,
	}
	command.Flags().VisitAll(func(f *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(f)
		name := command.Name() + " --" + f.Name
		if kind != "file" && kind != "directory" || reads[f.Name] || used[name] ||
			others[name] != "" || others[command.Name()] != "" {
			return
		}
		t.Errorf("%s names a %s that no test writes", name, kind)
	})
}
