package reportcard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// Every row has a name of its own and searches that are possible.
func TestRows(t *testing.T) {
	var names []string
	for _, row := range reportcard.Rows() {
		if slices.Contains(names, row.Subject.Name) {
			t.Errorf("there are two rows of %s", row.Subject.Name)
		}
		names = append(names, row.Subject.Name)
		if len(row.Searches) == 0 {
			t.Errorf("%s has no searches", row.Subject.Name)
		}
		for i := range row.Searches {
			if _, err := row.Scenario(&row.Searches[i]); err != nil {
				t.Errorf("%s, search %d: %v", row.Subject.Name, i, err)
			}
		}
	}
	for _, name := range []string{
		"mutex", "java-zklock", "zk-herd", "zk-predecessor", "curator", "zk-lock", "setnx",
		"redlock",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no row of %s", name)
		}
	}
}

func TestNamed(t *testing.T) {
	rows, err := reportcard.Named([]string{"redlock", "mutex", "mutex"})
	if err != nil || len(rows) != 2 || rows[0].Subject.Name != "mutex" ||
		rows[1].Subject.Name != "redlock" {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := reportcard.Named([]string{"mutex", "no-such"}); err == nil ||
		!strings.HasPrefix(err.Error(), `unknown lock of the card "no-such"; known are mutex, `) {
		t.Errorf("error %v", err)
	}
}

// A result is a card, and its files: JSON, Markdown, HTML and the recordings by name.
type result struct {
	card  *reportcard.Card
	files map[string]string
}

// first is the result of the first search, which several tests look at.
var first *result

func searched(t *testing.T) (*reportcard.Card, map[string]string) {
	t.Helper()
	if first == nil {
		first = search(t.Context(), t)
	}
	return first.card, first.files
}

// search returns the card of two locks, one of them with a single search.
func search(ctx context.Context, t *testing.T) *result {
	t.Helper()
	rows, err := reportcard.Named([]string{"zk-herd", "setnx-expire"})
	if err != nil {
		t.Fatal(err)
	}
	rows[1].Searches = []reportcard.Search{{Faults: "none", Schedules: 20}}
	t.Chdir(t.TempDir())
	searcher := &reportcard.Searcher{
		T: t, Seed: 1, Schedules: 30, Out: "recordings", Progress: judge.NewProgress(io.Discard),
	}
	card, err := searcher.Card(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	content, err := json.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	files["json"] = string(content)
	var markdown, html bytes.Buffer
	if err := reportcard.WriteMarkdown(&markdown, card, "."); err != nil {
		t.Fatal(err)
	}
	if err := reportcard.WriteHTML(&html, card, "."); err != nil {
		t.Fatal(err)
	}
	files["markdown"], files["html"] = markdown.String(), html.String()
	recordings, err := filepath.Glob("recordings/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range recordings {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = string(content)
	}
	return &result{card, files}
}

// Equal searches give equal cards and equal recordings, byte for byte.
func TestSameSearchesSameCard(t *testing.T) {
	long.Only(t) // The script report-card compares two runs of the command.
	_, files := searched(t)
	again := search(t.Context(), t).files
	if len(again) != len(files) {
		t.Errorf("%d files, then %d", len(files), len(again))
	}
	for name, content := range files {
		if again[name] != content {
			t.Errorf("%s differs in the second search:\n%s\n%s", name, content, again[name])
		}
	}
}

// Each counterexample names a recording that exists, each recording belongs to one, and the page says
// how to replay it.
func TestCardNamesItsRecordings(t *testing.T) {
	card, files := searched(t)
	named := make(map[string]bool)
	for _, l := range card.Locks {
		for _, cell := range l.Of(report.Violated) {
			for _, e := range cell.Counterexamples {
				named[e.Recording] = true
				if files[e.Recording] == "" || e.Why == "" || e.Signature == "" {
					t.Errorf("%s, %s: %+v", l.Name, cell.Property, e)
				}
				if !strings.Contains(files["html"], "interlock replay "+e.Recording) {
					t.Errorf("the page does not say how to replay %s", e.Recording)
				}
			}
		}
	}
	if len(named) != len(files)-3 {
		t.Errorf("%d recordings, of which the card names %d", len(files)-3, len(named))
	}
}

// Verdicts come from the searches: what is violated, what holds, what is not claimed, and what is
// neither claimed nor holds.
func TestVerdicts(t *testing.T) {
	card, files := searched(t)
	for _, want := range []struct {
		lock     string
		property history.Property
		verdict  report.Verdict
		symbol   string
	}{
		{"zk-herd", history.NoHerd, report.NotClaimed, "○"},
		{"zk-herd", history.OwnRelease, report.NotClaimed, "·"},
		{"zk-herd", history.FIFO, report.Holds, "✓"},
		{"setnx-expire", history.ServerMutualExclusion, report.NotClaimed, "·"},
	} {
		cell := card.Lock(want.lock).Cell(want.property)
		if cell.Verdict != want.verdict || cell.Symbol() != want.symbol {
			t.Errorf("%s, %s: %s %s, want %s %s", want.lock, want.property, cell.Verdict,
				cell.Symbol(), want.verdict, want.symbol)
		}
	}
	for lock, p := range map[string]history.Property{
		"zk-herd": history.Progress, "setnx-expire": history.OwnRelease,
	} {
		cell := card.Lock(lock).Cell(p)
		if cell.Verdict != report.Violated || !strings.HasPrefix(cell.Symbol(), "✗") {
			t.Errorf("%s, %s: %s", lock, p, cell.Verdict)
		}
	}
	if card.Partial || card.ProductionViolated() {
		t.Errorf("partial %v, production violated %v", card.Partial, card.ProductionViolated())
	}
	if !strings.Contains(files["markdown"], "](recordings/") {
		t.Errorf("no link to a recording:\n%s", files["markdown"])
	}
}

// A counterexample breaks exclusion in a single way, which the card names. Its recording is that of
// the lock as others run it, which names no ways.
func TestWays(t *testing.T) {
	rows, err := reportcard.Named([]string{"java-zklock"})
	if err != nil {
		t.Fatal(err)
	}
	rows[0].Searches = []reportcard.Search{{Faults: "cancel=1", Schedules: 40}}
	searcher := &reportcard.Searcher{T: t, Seed: 1, Out: t.TempDir(), Progress: judge.NewProgress(io.Discard)}
	card, err := searcher.Card(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range card.Locks[0].Cell(history.ClientMutualExclusion).Counterexamples {
		if e.Way != reportcard.FailedAttemptWay {
			continue
		}
		found = true
		r, err := recording.Read(e.Recording)
		if err != nil || strings.Contains(r.Signature, e.Way) || e.TraceHash != r.TraceHash {
			t.Errorf("%v: %+v", err, r)
		}
	}
	if !found {
		t.Errorf("no counterexample of the way %q", reportcard.FailedAttemptWay)
	}
}

// A card whose context has ended says so, and searches nothing.
func TestPartialCard(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	partial := search(ctx, t)
	card, files := partial.card, partial.files
	if !card.Partial || len(card.Locks) != 2 ||
		card.Lock("zk-herd").Cell(history.FIFO).Verdict != report.NotSearched {
		t.Errorf("card %s", files["json"])
	}
	for _, name := range []string{"markdown", "html"} {
		if !strings.Contains(files[name], "Partial: not all searches have run") {
			t.Errorf("the %s does not say that it is partial:\n%s", name, files[name])
		}
	}
}

// The page is one file that loads nothing, with a cell for each verdict and a target for each link.
func TestPageIsComplete(t *testing.T) {
	card, files := searched(t)
	page := files["html"]
	for _, word := range []string{"<script", "src=", "@import", "http://", "https://"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
	for part := range strings.SplitSeq(page, `href="#`) {
		target, _, _ := strings.Cut(part, `"`)
		if strings.HasPrefix(part, "<!doctype") {
			continue
		}
		if !strings.Contains(page, `id="`+target+`"`) {
			t.Errorf("the page has no %s", target)
		}
	}
	if got, want := strings.Count(page, "<td"), len(card.Locks)*len(card.Properties); got != want {
		t.Errorf("%d cells, want %d", got, want)
	}
}
