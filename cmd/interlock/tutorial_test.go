package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// A tutorial is a module in which a test does what docs/tutorial.md says.
type tutorial struct {
	*testing.T
	directory string
	clone     string
}

var (
	// tutorialBlock is a fenced block of a page with the line above it: the kind of the block, its
	// content, and what the line says.
	tutorialBlock = regexp.MustCompile("(?m)(?:^(.*)\n\n)?^```(go|sh|console)\n((?:.*\n)*?)```$")
	// tutorialFile is a line above a whole file, tutorialFunction one above a function of a file.
	tutorialFile     = regexp.MustCompile("^`(\\w+\\.go)`:$")
	tutorialFunction = regexp.MustCompile("The new `(\\w+)` of `(\\w+\\.go)`:$")
)

// The tutorial works to the letter: its files, put into an empty directory, and its commands give
// the output that it shows. interlock certify runs its tests too.
func TestTutorial(t *testing.T) {
	long.Only(t)
	if real.RaceDetector {
		t.Skip("the real client does not run under the race detector")
	}
	clone, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	u := tutorial{t, t.TempDir(), clone}
	u.write("go.sum", string(readFile(t, filepath.Join(clone, "go.sum")))) // saves requests
	page := string(readFile(t, filepath.Join(clone, "docs", "tutorial.md")))
	blocks := tutorialBlock.FindAllStringSubmatch(page, -1)
	if len(blocks) != strings.Count(page, "\n```\n") || len(blocks) < 10 {
		t.Fatalf("%d blocks of %d", len(blocks), strings.Count(page, "\n```\n"))
	}
	for _, block := range blocks {
		above, kind, content := block[1], block[2], block[3]
		switch kind {
		case "go":
			u.edit(above, content)
		case "sh":
			if output, err := u.run(content); err != nil {
				t.Fatalf("%s: %v\n%s", content, err, output)
			}
		case "console":
			command, want, _ := strings.Cut(strings.TrimPrefix(content, "$ "), "\n")
			output, _ := u.run(command)
			if !shows(output, want) {
				t.Fatalf("%s prints\n%s\nnot\n%s", command, output, want)
			}
		}
	}
	u.write("interlock.yaml", "tests: [{package: ., run: 'TestLock$|TestMutex'}]\n")
	if output, err := u.run("interlock certify"); err == nil ||
		!strings.Contains(output, "\nRED . TestLock violates progress: ") ||
		!strings.Contains(output, "\ntest . TestMutex: passed\n") {
		t.Errorf("certify: %v\n%s", err, output)
	}
}

// edit writes a file, or replaces a function of one, as the line above the code says.
func (u *tutorial) edit(above, code string) {
	u.Helper()
	if file := tutorialFile.FindStringSubmatch(above); file != nil {
		u.write(file[1], code)
		return
	}
	function := tutorialFunction.FindStringSubmatch(above)
	if function == nil {
		u.Fatalf("the line above the code names no file: %s", above)
	}
	name, path := function[1], function[2]
	source := string(readFile(u.T, filepath.Join(u.directory, path)))
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.ParseComments)
	if err != nil {
		u.Fatal(err)
	}
	for _, declaration := range parsed.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Name.Name == name {
			from, to := files.Position(f.Doc.Pos()).Offset, files.Position(f.End()).Offset
			u.write(path, source[:from]+strings.TrimSpace(code)+source[to:])
			return
		}
	}
	u.Fatalf("%s has no function %s", path, name)
}

func (u *tutorial) write(name, content string) {
	u.Helper()
	if err := os.WriteFile(filepath.Join(u.directory, name), []byte(content), 0o644); err != nil {
		u.Fatal(err)
	}
}

// run runs commands in the module and returns their output.
func (u *tutorial) run(commands string) (string, error) {
	command := exec.Command("sh", "-e", "-c", commands)
	command.Dir = u.directory
	command.Env = append(os.Environ(), "CLONE="+u.clone, "INTERLOCK_LONG=", "GOFLAGS=", "GOWORK=off")
	output, err := command.CombinedOutput()
	return string(output), err
}

// elapsed matches the times that go test prints.
var elapsed = regexp.MustCompile(`(?m)\(\d+\.\d+s\)$|\t\d+\.\d+s$`)

// shows reports whether an output is as a page shows it, except for times, and for lines in whose
// place the page has ⋮.
func shows(output, page string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(elapsed.ReplaceAllString(page, "TIME")) {
		if line == "⋮\n" {
			pattern.WriteString("(?:.*\n)*?")
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(line))
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(
		elapsed.ReplaceAllString(output, "TIME"))
}

// shows compares all lines, except those in whose place the page has ⋮.
func TestShows(t *testing.T) {
	const output = "--- FAIL: TestLock (1.23s)\n  a\n  b\n  c\nFAIL\tnodelock\t2.1s\n"
	for _, tc := range []struct {
		page string
		want bool
	}{
		{"--- FAIL: TestLock (0.8s)\n  a\n  b\n  c\nFAIL\tnodelock\t0.8s\n", true},
		{"--- FAIL: TestLock (0.8s)\n⋮\n  c\nFAIL\tnodelock\t0.8s\n", true},
		{"⋮\n", true},
		{"--- FAIL: TestLock (0.8s)\n⋮\n  d\nFAIL\tnodelock\t0.8s\n", false},
		{"--- FAIL: TestLock (0.8s)\n  a\n  b\n  c\n", false},
		{"--- PASS: TestLock (0.8s)\n⋮\n", false},
	} {
		if got := shows(output, tc.page); got != tc.want {
			t.Errorf("%q: %v", tc.page, got)
		}
	}
}
