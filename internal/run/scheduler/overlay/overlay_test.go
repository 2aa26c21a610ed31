package overlay_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/scheduler/overlay"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// environment returns what the go command says of its installation.
func environment(t *testing.T) (goroot, version string) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	return lines[0], lines[1]
}

// skipUnknown skips a test that needs an overlay for the installation.
func skipUnknown(t *testing.T, version string) {
	t.Helper()
	if !overlay.Knows(version) {
		t.Skip(&overlay.UnknownRelease{Version: version})
	}
}

func TestWriteUnknownRelease(t *testing.T) {
	for _, version := range []string{"go1.25.3", "go1.260", "devel go1.27-abc"} {
		_, err := overlay.Write(t.TempDir(), version, t.TempDir())
		if unknown := (*overlay.UnknownRelease)(nil); !errors.As(err, &unknown) ||
			!strings.Contains(err.Error(), version) {
			t.Errorf("%s: error %v", version, err)
		}
	}
}

// A file of the installation without an anchor, or without a function at which goroutines switch,
// is an error that names both.
func TestWriteMissingAnchor(t *testing.T) {
	goroot, version := environment(t)
	skipUnknown(t, version)
	for _, tc := range []struct{ file, old, new, want string }{
		{"runtime/proc.go", "func Gosched() {\n", "func Yield() {\n", "func Gosched()"},
		{"sync/once.go", "Do(f func()) {", "Perform(f func()) {", "Do"},
	} {
		changed := t.TempDir()
		for _, directory := range []string{"runtime", "internal/sync", "sync"} {
			from := filepath.Join(goroot, "src", directory)
			if err := os.CopyFS(filepath.Join(changed, "src", directory), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(changed, "src", tc.file)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(content), tc.old, tc.new, 1)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = overlay.Write(changed, version, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), tc.file) ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v", err)
		}
	}
}

// The tests that need the scheduler pass in programs that are built with it. The build takes a
// minute if the build cache lacks it.
func TestScheduledPrograms(t *testing.T) {
	long.Only(t) // The first build takes a minute.
	goroot, version := environment(t)
	skipUnknown(t, version)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	file, err := overlay.Write(goroot, version, overlay.Directory(cache, goroot, version))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "test", "-overlay="+file, "-tags="+overlay.Tag,
		"-run=Scheduled", "../../scheduler", "../../../search/exhaustive")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
