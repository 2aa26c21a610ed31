package lock_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A user of the locks depends only on a ZooKeeper client.
func TestOneDependency(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.ImportPath}}{{end}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, output)
	}
	want := "github.com/go-zookeeper/zk github.com/interlock-sim/interlock/lock"
	if got := strings.Join(strings.Fields(string(output)), " "); got != want {
		t.Errorf("package lock depends on %s, want %s", got, want)
	}
}
