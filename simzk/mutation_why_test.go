package simzk_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk"
)

var update = flag.Bool("update", false, "search again, and rewrite the recordings and golden files")

// sourceLine matches the number of a line.
var sourceLine = regexp.MustCompile(`\.go:[0-9]+`)

// unnoticed holds the mutations that no search of the test exposes as a failure of the ensemble.
var unnoticed = map[string]bool{"a write is executed twice": true}

// If the simulated ZooKeeper breaks a guarantee, the explanation says which, and what the process
// relied on: it does not blame the lock.
func TestMutationsAreExplained(t *testing.T) {
	for name, which := range simzk.Mutations {
		t.Run(name, func(t *testing.T) {
			if unnoticed[name] {
				t.Skip("only the lock's properties are broken")
			}
			defer simzk.Mutate(which)()
			base := filepath.Join("testdata", "mutations", strings.ReplaceAll(name, " ", "-"))
			runner := engine.NewRunner(t)
			if *update {
				record(t, runner, base+".json")
			}
			recorded, err := recording.Read(base + ".json")
			if err != nil {
				t.Fatal(err)
			}
			subject, err := subjects.Named(recorded.Lock)
			if err != nil {
				t.Fatal(err)
			}
			scenario, err := recorded.Scenario(subject)
			if err != nil {
				t.Fatal(err)
			}
			c, err := recording.NewCounterexample(runner, *scenario, recorded.Deviations,
				recorded.Signature, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			report := c.Explain()
			report.Timeline.Width = 100
			var text bytes.Buffer
			report.Why(&text, report.Whys[0])
			text.WriteByte('\n')
			if err := report.Decisive(&text); err != nil {
				t.Fatal(err)
			}
			shown := sourceLine.ReplaceAll(text.Bytes(), []byte(".go:N"))
			if *update {
				if err := os.WriteFile(base+".txt", shown, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(base + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(shown, want) {
				t.Errorf("explained as\n%s\nwant\n%s", shown, want)
			}
		})
	}
}

// record searches for a failure of the ensemble and writes the shortest schedule.
func record(t *testing.T, runner *engine.Runner, path string) {
	for _, servers := range []int{1, 3} {
		for _, lock := range []string{"mutex", "textbook", "herd"} {
			subject, err := subjects.Named(lock)
			if err != nil {
				t.Fatal(err)
			}
			scenario := scenarios.Scenario{
				Subject: subject, Clients: 2, Cycles: 2, Servers: servers,
				Faults: faults.Default(),
			}
			for schedule := range 700 {
				result := runner.Run(&scenario, strategy.NewRandom(1, schedule))
				for _, v := range result.Violations {
					if v.Property != history.NoLostWatch &&
						v.Property != history.ZooKeeperConsistency {
						continue
					}
					short, deviations := shrink.Shrink(context.Background(), runner, scenario,
						result.Deviations, v.Signature())
					c, err := recording.NewCounterexample(runner, short, deviations,
						v.Signature(), 1, schedule)
					if err != nil {
						t.Log(err)
						continue
					}
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := file.WriteJSON(path, c.Recording); err != nil {
						t.Fatal(err)
					}
					return
				}
			}
		}
	}
	t.Fatal("no search breaks a property of the ensemble")
}
