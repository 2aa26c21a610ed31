package gobuild

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The version of Go that copies of go.mod get is that of Interlock's own.
func TestGoNeeded(t *testing.T) {
	mod := readFile(t, filepath.Join("..", "..", "..", "go.mod"))
	found := regexp.MustCompile(`(?m)^go (.*)$`).FindStringSubmatch(mod)
	if found == nil || found[1] != goNeeded {
		t.Errorf("go.mod needs Go %v, and goNeeded is %s", found, goNeeded)
	}
}

// libraryDirectory returns the directory of go-zookeeper/zk, and its version.
func libraryDirectory(t *testing.T) (directory, version string) {
	t.Helper()
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}",
		libraries[0].module).Output()
	if err != nil {
		t.Fatal(err)
	}
	directory, version, _ = strings.Cut(strings.TrimSpace(string(output)), " ")
	return directory, version
}

// A patched copy has the lines of the library, in which the changes are, and one more file. The
// same library gives the same copy.
func TestPatchedCopy(t *testing.T) {
	from, version := libraryDirectory(t)
	below := t.TempDir()
	var copies [2]string
	for i := range copies {
		var err error
		if copies[i], err = libraries[0].copyPatched(from, version, below, true); err != nil {
			t.Fatal(err)
		}
	}
	if copies[0] != copies[1] || filepath.Base(copies[0]) != "zk@"+version {
		t.Errorf("copies %q", copies)
	}
	changed := 0
	for _, name := range []string{"conn.go", "lock.go", "util.go", "structs.go"} {
		before := strings.Split(readFile(t, filepath.Join(from, name)), "\n")
		after := strings.Split(readFile(t, filepath.Join(copies[0], name)), "\n")
		if len(before) != len(after) {
			t.Errorf("%s has %d lines, and the copy %d", name, len(before), len(after))
			continue
		}
		for i := range before {
			if before[i] != after[i] {
				changed++
				if !strings.Contains(after[i], "interlock") {
					t.Errorf("%s:%d: %s", name, i+1, after[i])
				}
			}
		}
	}
	if changed < 8 || changed > 12 {
		t.Errorf("%d lines differ", changed)
	}
	if _, err := os.Stat(filepath.Join(copies[0], "zk_test.go")); err == nil {
		t.Error("the copy has tests")
	}
}

// An older library gets the constants that Interlock needs, and no others.
func TestLaterConstants(t *testing.T) {
	from, version := libraryDirectory(t)
	older := t.TempDir()
	if err := os.CopyFS(older, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(older, "constants.go")
	text := regexp.MustCompile(`(?m)^\s*StateSyncConnected.*\n`).ReplaceAllString(
		readFile(t, path), "")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	copied, err := libraries[0].copyPatched(older, version, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	generated := readFile(t, filepath.Join(copied, generatedFile))
	if !strings.Contains(generated, "const StateSyncConnected = State(3)") ||
		strings.Contains(generated, "FlagContainer") {
		t.Error(generated)
	}
}

// Calls of net.Dial and net.DialTimeout are replaced under the name of the import, on their lines.
func TestReplacedDials(t *testing.T) {
	directory := t.TempDir()
	b := &Build{temporary: t.TempDir(), overlay: map[string]string{}}
	for name, content := range map[string]string{
		"alias.go": "package p\n\nimport n \"net\"\n\nvar dial, timed = n.Dial, n.DialTimeout\n",
		"other.go": "package p\n\nimport net \"example.org/net\"\n\nvar dial = net.Dial\n",
		"none.go":  "package p\n\nimport \"net\"\n\nvar listen = net.Listen // not Dial\n",
		"bad.go":   "package p\n\nimport \"net\"\n\nvar dial = net.Dial(\n",
	} {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := b.replaceDialsIn(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.overlay) != 1 {
		t.Fatalf("overlay %v", b.overlay)
	}
	got := []byte(readFile(t, b.overlay[filepath.Join(directory, "alias.go")]))
	want := []byte(`package p; import interlockdial "github.com/interlock-sim/interlock/simzk/dial"

import n "net"

var dial, timed = interlockdial.NetDial, interlockdial.NetDialTimeout

var _ = n.Dial
`)
	if !bytes.Equal(got, want) {
		t.Errorf("%s", got)
	}
}

// Calls are also replaced in a module whose directory has a space in its name.
func TestReplacedDialsBelowSpace(t *testing.T) {
	b := &Build{
		root: filepath.Join(t.TempDir(), "my module"), temporary: t.TempDir(), pattern: ".",
		module: "example.org/p", overlay: map[string]string{},
	}
	if err := os.Mkdir(b.root, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.root, "p.go")
	for path, content := range map[string]string{
		b.file("go.mod"):                "module example.org/p\n\ngo 1.26\n",
		filepath.Join(b.root, "go.mod"): "module example.org/p\n\ngo 1.26\n",
		path:                            "package p\n\nimport \"net\"\n\nvar dial = net.Dial\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.replaceDials(t.Context()); err != nil || b.overlay[path] == "" {
		t.Errorf("error %v, overlay %v", err, b.overlay)
	}
}
