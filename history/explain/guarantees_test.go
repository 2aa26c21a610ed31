package explain_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
)

// If ZooKeeper breaks a guarantee, the explanation says which, and what the process relied on: it
// does not blame the lock. Each history is the trace.jsonl of a counterexample that interlock check
// finds with the defect of that name in internal/tools/mutation/zookeeper.txt.
func TestBrokenGuaranteesAreExplained(t *testing.T) {
	paths, err := filepath.Glob("testdata/guarantees/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d histories: %v", len(paths), err)
	}
	for _, path := range paths {
		base := strings.TrimSuffix(path, ".jsonl")
		t.Run(filepath.Base(base), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			log, err := history.Read(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			violations := new(check.Checker).CheckAll([]history.Property{
				history.NoLostWatch, history.ZooKeeperConsistency, history.Progress,
			}, log.Events())
			if len(violations) == 0 {
				t.Fatal("no guarantee is broken")
			}
			report := explain.NewReport("", timeline.Lock, log.Events(), violations)
			report.Timeline.Width = 100
			var shown bytes.Buffer
			report.Why(&shown, report.Whys[0])
			shown.WriteByte('\n')
			if err := report.Decisive(&shown); err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(base+".txt", shown.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(base + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(shown.Bytes(), want) {
				t.Errorf("explained as\n%s\nwant\n%s", &shown, want)
			}
		})
	}
}
