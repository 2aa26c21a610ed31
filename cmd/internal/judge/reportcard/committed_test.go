package reportcard_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

var update = flag.Bool("update", false, "write the pages of the committed card again")

// root is the directory of the module, to which the paths in the committed card are relative.
var root = filepath.Join("..", "..", "..", "..")

// committed returns the card in docs, which make report-card writes.
func committed(t *testing.T) *reportcard.Card {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", "report-card.json"))
	if err != nil {
		t.Fatal(err)
	}
	card := new(reportcard.Card)
	if err := json.Unmarshal(content, card); err != nil {
		t.Fatal(err)
	}
	return card
}

// The committed card has every lock and every property, and its pages show nothing else.
func TestCommittedCardIsCurrent(t *testing.T) {
	card := committed(t)
	if card.Partial {
		t.Error("the card is partial")
	}
	var names, want []string
	for _, l := range card.Locks {
		names = append(names, l.Name)
	}
	for _, row := range reportcard.Rows() {
		want = append(want, row.Subject.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("the card has the locks %q, want %q: run make report-card", names, want)
	}
	var columns []history.Property
	for _, p := range card.Properties {
		columns = append(columns, p.Name)
	}
	judged := slices.DeleteFunc(check.Claimable(), func(p history.Property) bool {
		return p == history.Margin // Nobody promises one.
	})
	if !slices.Equal(columns, judged) {
		t.Errorf("the card has the properties %q, want %q: run make report-card", columns,
			judged)
	}
	for _, page := range []struct {
		name  string
		write func(io.Writer, *reportcard.Card, string) error
	}{
		{"report-card.md", reportcard.WriteMarkdown}, {"report-card.html", reportcard.WriteHTML},
	} {
		var written bytes.Buffer
		if err := page.write(&written, card, "docs"); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, "docs", page.name)
		if *update {
			if err := os.WriteFile(path, written.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(content, written.Bytes()) {
			t.Errorf("docs/%s does not show docs/report-card.json: run go test "+
				"./cmd/internal/judge/reportcard -run Current -args -update", page.name)
		}
	}
}

// The verdicts on claims are those of the locks as they are now.
func TestCommittedClaims(t *testing.T) {
	card := committed(t)
	for _, row := range reportcard.Rows() {
		l, subject := card.Lock(row.Subject.Name), row.Subject
		if l == nil {
			t.Errorf("%s has no row: run make report-card", subject.Name)
			continue
		}
		for i := range l.Cells {
			cell := &l.Cells[i]
			if claimed := subject.Claimed(cell.Property); claimed ==
				(cell.Verdict == report.NotClaimed) {
				t.Errorf("%s, %s: the card says %s, and claimed is %v: run make report-card",
					l.Name, cell.Property, cell.Verdict, claimed)
			}
		}
	}
}

// What the card must show, whatever else it does.
func TestCommittedVerdicts(t *testing.T) {
	card := committed(t)
	for _, want := range []struct {
		lock     string
		property history.Property
		faults   []string // each in the plan of some counterexample
		ways     []string // each shown by some counterexample
	}{
		{
			lock: "java-zklock", property: history.ClientMutualExclusion,
			ways: []string{
				reportcard.NoRecheckWay, reportcard.FailedAttemptWay,
				reportcard.NegativeCountWay, reportcard.SoleNodeWay, reportcard.LostReentryWay,
			},
		},
		{lock: "zk-lock", property: history.NoLeakedNodes},
		{lock: "zk-lock", property: history.LossNotification, faults: []string{"expire"}},
		{lock: "setnx", property: history.Progress, faults: []string{"crash"}},
		{lock: "unique-index", property: history.Progress, faults: []string{"crash"}},
		{lock: "setnx-expire", property: history.ClientMutualExclusion},
		{lock: "setnx-expire", property: history.OwnRelease},
		{
			lock: "setnx-lease", property: history.ClientMutualExclusion,
			faults: []string{"pause", "jump-clock", "wipe-server"},
		},
		{
			lock: "redlock", property: history.ClientMutualExclusion,
			faults: []string{"pause", "jump-clock", "wipe-server"},
		},
		{
			lock: "redlock-5", property: history.ClientMutualExclusion,
			faults: []string{"pause", "jump-clock", "wipe-server"},
		},
	} {
		l := card.Lock(want.lock)
		if l == nil || l.Cell(want.property) == nil {
			t.Errorf("%s, %s: no cell: run make report-card", want.lock, want.property)
			continue
		}
		cell := l.Cell(want.property)
		if cell.Verdict != report.Violated {
			t.Errorf("%s, %s: %s, want violated", want.lock, want.property, cell.Verdict)
		}
		for _, kind := range want.faults {
			if !slices.ContainsFunc(cell.Counterexamples, func(e *reportcard.Counterexample) bool {
				return strings.Contains(e.Faults, kind)
			}) {
				t.Errorf("%s, %s: no counterexample with the fault %s", want.lock, want.property,
					kind)
			}
		}
		for _, way := range want.ways {
			if !slices.ContainsFunc(cell.Counterexamples, func(e *reportcard.Counterexample) bool {
				return e.Way == way
			}) {
				t.Errorf("%s, %s: no counterexample of the way %q", want.lock, want.property, way)
			}
		}
	}
	kept := make(map[history.Property]bool) // by a production lock
	for _, l := range card.Locks {
		for _, cell := range l.Kept() {
			kept[cell.Property] = kept[cell.Property] || l.Production
		}
	}
	for _, l := range card.Locks {
		if cells := slices.Concat(l.Of(report.Unknown), l.Of(report.NotSearched),
			l.Of(report.Violated)); l.Production && len(cells) > 0 {
			t.Errorf("%s: %s is %s", l.Name, cells[0].Property, cells[0].Verdict)
		}
		// Only a lock that is used in a certain way exercises some properties, such as re-entry.
		for _, cell := range l.Of(report.NotExercised) {
			if l.Production && !kept[cell.Property] {
				t.Errorf("no production lock exercises %s", cell.Property)
			}
		}
	}
	if card.ProductionViolated() {
		t.Error("a production lock violates a property")
	}
}

// Every counterexample of the committed card replays 20 times out of 20: with the recorded trace,
// and with the violation of its cell, in the way that the card names.
func TestCommittedCounterexamplesReplay(t *testing.T) {
	card := committed(t)
	replayed, named := make(map[string]*engine.Result), make(map[string]bool)
	for _, l := range card.Locks {
		for _, cell := range l.Of(report.Violated) {
			for _, e := range cell.Counterexamples {
				if !named[e.Recording] {
					named[e.Recording] = true
					if len(named)%long.Count(4, 1) != 0 {
						continue
					}
					replayed[e.Recording] = replay(t, e.Recording)
				}
				result := replayed[e.Recording]
				if result == nil {
					continue
				}
				if engine.TraceHash(result.TraceHash) != e.TraceHash {
					t.Errorf("%s: trace hash %x, the card has %v", e.Recording, result.TraceHash,
						e.TraceHash)
				}
				if !slices.ContainsFunc(result.Violations, func(v *history.Violation) bool {
					return v.Property == cell.Property && v.Signature() == e.Signature
				}) {
					t.Errorf("%s does not show %s", e.Recording, e.Signature)
				}
				if ways := reportcard.JavaZKLockWays(result.Events); e.Way != "" &&
					!slices.Equal(ways, []string{e.Way}) {
					t.Errorf("%s shows the ways %q, and the card says %q", e.Recording, ways, e.Way)
				}
			}
		}
	}
	stored, err := filepath.Glob(filepath.Join(root, "docs", "report-card", "*.json"))
	if err != nil || len(stored) != len(named) {
		t.Errorf("docs/report-card has %d recordings, and the card names %d (%v)", len(stored),
			len(named), err)
	}
}

// replay runs a recording several times and returns the last result.
func replay(t *testing.T, path string) *engine.Result {
	t.Helper()
	r, err := recording.Read(filepath.Join(root, path))
	if err != nil {
		t.Error(err)
		return nil
	}
	subject, err := bundled.Named(r.Lock)
	if err != nil {
		t.Error(err)
		return nil
	}
	scenario, err := r.Scenario(subject)
	if err != nil {
		t.Error(err)
		return nil
	}
	if scenario.Client == scenarios.Real && real.RaceDetector {
		return nil
	}
	times := long.Count(3, 20)
	if real.RaceDetector {
		times = 2 // The race detector makes runs slow.
	}
	runner := engine.NewRunner(t)
	var result *engine.Result
	for n := range times {
		strategy := &engine.Replay{Deviations: r.Deviations}
		result = runner.Run(scenario, strategy)
		result.Lead(scenario, r.Signature)
		if engine.TraceHash(result.TraceHash) != r.TraceHash ||
			len(result.Violations) == 0 || result.Violations[0].Signature() != r.Signature ||
			string(result.Violations[0].Property) != r.Property || len(strategy.Skipped) > 0 {
			t.Errorf("%s: replay %d has trace hash %x and violates %v, recorded %v and %s", path,
				n, result.TraceHash, result.Violations, r.TraceHash, r.Signature)
			return nil
		}
	}
	everylock.CheckExplained(t, result.Explain(scenario))
	return result
}
