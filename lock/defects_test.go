package lock_test

import (
	"os"
	"strings"
	"testing"
)

// A defect is one that published locks have had, with the test for its symptom.
type defect struct {
	id      string // in docs/track-record.md, which names the source
	what    string
	clients int
	test    func(w *world)
}

var allDefects = [][]defect{
	createDefects, cleanupDefects, watchDefects, orderDefects,
	sessionDefects, localDefects,
}

// TestDefects covers defects of other locks, past or present. Each subtest fails if its defect is
// inserted into this lock.
func TestDefects(t *testing.T) {
	for _, list := range allDefects {
		for _, d := range list {
			t.Run(d.id+" "+d.what, func(t *testing.T) { inWorld(t, d.clients, d.test) })
		}
	}
}

// Every tested defect is documented, and every documented defect is tested.
func TestDefectsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../docs/track-record.md")
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
		id, _, described := strings.Cut(strings.TrimPrefix(line, "- "), ": ")
		if !described || !strings.HasPrefix(line, "- B") && !strings.HasPrefix(line, "- D") {
			continue
		}
		if !tested[id] {
			t.Errorf("%s is described twice or has no test", id)
		}
		delete(tested, id)
	}
	for id := range tested {
		t.Errorf("%s is not described", id)
	}
}
