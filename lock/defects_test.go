package lock_test

import (
	"os"
	"strings"
	"testing"
)

// A defect is one that published locks have had, and the way in which it showed.
type defect struct {
	id      string // in docs/lock-defects.md, which says where it was
	what    string
	clients int
	test    func(w *world)
}

var allDefects = [][]defect{
	createDefects, cleanupDefects, watchDefects, orderDefects,
	sessionDefects, localDefects,
}

// Defects that other locks have had, or still have. Each test fails if the defect is put into this
// lock.
func TestDefects(t *testing.T) {
	for _, list := range allDefects {
		for _, d := range list {
			t.Run(d.id+" "+d.what, func(t *testing.T) { inWorld(t, d.clients, d.test) })
		}
	}
}

// Every defect that is tested for is described, and the other way round.
func TestDefectsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../docs/lock-defects.md")
	if err != nil {
		t.Fatal(err)
	}
	tested := make(map[string]bool)
	for _, list := range allDefects {
		for _, d := range list {
			tested[d.id] = true
		}
	}
	for line := range strings.Lines(string(page)) {
		id, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !row || !strings.HasPrefix(line, "| ") || id == "test" {
			continue
		}
		if !tested[id] {
			t.Errorf("%s is described, and there is no test, or a second description", id)
		}
		delete(tested, id)
	}
	for id := range tested {
		t.Errorf("%s is not described", id)
	}
}
