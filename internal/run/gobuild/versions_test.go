package gobuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// A user's module with a client of Redis, Kubernetes or etcd selects the same versions with
// Interlock as without. The module of the command
// would raise some.
func TestVersionsStand(t *testing.T) {
	interlock, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"redsync", "goredis", "clientgo", "etcd"} {
		directory := filepath.Join("testdata", "modules", name)
		list := exec.Command("go", "list", "-m", "all")
		list.Dir, list.Env = directory, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
		before, err := list.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := Prepare(t.Context(), &Test{
			Pattern: directory, Interlock: interlock, Flags: []string{"-run=^TestLock$"},
			Glue: []string{filepath.Join("testdata", "modules", "check_test.go")},
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer b.Close()
		if long.Enabled() { // It compiles the module, and so adds what the test imports.
			if printed, err := b.Command(t.Context()).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, printed)
			}
		}
		if raised := raised(t, b, string(before)); len(raised) > 0 {
			t.Errorf("%s: Interlock raises %q", name, raised)
		}
		if name != "redsync" {
			continue
		}
		if err := b.edit(t.Context(), "-require="+modulePath+"/cmd@"+anyVersion); err != nil {
			t.Fatal(err)
		}
		if raised := raised(t, b, string(before)); len(raised) < 3 {
			t.Errorf("the module of the command raises only %q", raised)
		}
	}
}

// raised returns the modules with another version in a build than before.
func raised(t *testing.T, b *Build, before string) (changed []string) {
	t.Helper()
	listed, err := b.goOutput(t.Context(), "list", "-m", "all")
	if err != nil {
		t.Fatal(err)
	}
	after := strings.Split(listed, "\n")
	for line := range strings.Lines(before) {
		line = strings.TrimSpace(line)
		if !slices.ContainsFunc(after, func(now string) bool { return now == line }) {
			changed = append(changed, line)
		}
	}
	return changed
}
