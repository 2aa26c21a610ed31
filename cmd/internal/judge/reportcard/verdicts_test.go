package reportcard_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// cardOf returns the card of a lock with a single search, and its pages.
func cardOf(t *testing.T, lock string, search reportcard.Search) (card *reportcard.Card,
	markdown, html string,
) {
	t.Helper()
	rows, err := reportcard.Named([]string{lock})
	if err != nil {
		t.Fatal(err)
	}
	search.MaxPause = rows[0].Searches[0].MaxPause
	rows[0].Searches = []reportcard.Search{search}
	out := t.TempDir()
	searcher := &reportcard.Searcher{T: t, Seed: 1, Out: out, Progress: judge.NewProgress(io.Discard)}
	if card, err = searcher.Card(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	return card, page(t, card, reportcard.WriteMarkdown, out),
		page(t, card, reportcard.WriteHTML, out)
}

// A property that is violated only out of contract does not count as one that holds in all
// schedules. Without such faults it does.
func TestVerdictOutOfContract(t *testing.T) {
	card, markdown, html := cardOf(t, "redlock",
		reportcard.Search{Faults: "jump-clock=2", Schedules: 40})
	cell := card.Locks[0].Cell(history.Validity)
	if cell.Verdict != report.OutOfContract || cell.Symbol() != "✓*" ||
		cell.OutOfContract == nil || cell.OutOfContract.Schedules == 0 ||
		!strings.HasPrefix(cell.OutOfContract.Signature, "validity: ") {
		t.Errorf("%+v", cell)
	}
	if !strings.Contains(markdown, "|✓*|") || !strings.Contains(markdown, `**✓\*** holds within`) {
		t.Errorf("the table lacks the symbol or its meaning:\n%s", markdown)
	}
	if !strings.Contains(html, "violated out of the lock's contract: validity: ") {
		t.Error("the page does not name the violation")
	}
	card, _, _ = cardOf(t, "redlock", reportcard.Search{Faults: "none", Schedules: 10})
	if cell := card.Locks[0].Cell(history.Validity); cell.Verdict != report.Holds ||
		cell.OutOfContract != nil {
		t.Errorf("without faults: %+v", cell)
	}
}

// A complete exhaustive search shows nothing of a property that none of its schedules tests.
func TestReachIsNotVacuous(t *testing.T) {
	card, markdown, html := cardOf(t, "mutex",
		reportcard.Search{Faults: "none", Clients: 2, Cycles: 1, Exhaustive: true})
	l := card.Locks[0]
	for p, want := range map[history.Property]report.Verdict{
		history.LossNotification: report.NotExercised,
		history.SessionLoss:      report.NotExercised,
		history.Progress:         report.Holds,
	} {
		if cell := l.Cell(p); cell.Verdict != want ||
			(cell.Reach != "") != (want == report.Holds) {
			t.Errorf("%s: %+v, want %s", p, cell, want)
		}
	}
	if cell := l.Cell(history.ClientMutualExclusion); cell.Reach != report.EverySchedule ||
		cell.Symbol() != "✓∀" {
		t.Errorf("%+v", cell)
	}
	const scenario = "mutex, 2 clients × 1 cycles, faults none"
	const scope = "all schedules of 2 clients × 1 cycle on 1 server without faults; time passes " +
		"only to the next instant at which something happens, where nothing else can happen; " +
		"the fair phase begins in every state"
	if !strings.Contains(markdown, "\n- mutex: "+scope+"\n") ||
		!strings.Contains(html, "<li>"+scope+"</li>") ||
		!strings.Contains(html, "in the exhaustive search of "+scenario+" in every schedule") {
		t.Errorf("the pages do not name the scenario and the scope:\n%s\n%s", markdown, html)
	}
}

// What is undecided differs from what was not tested.
func TestSymbolOfUndecided(t *testing.T) {
	for verdict, want := range map[report.Verdict]string{
		report.NotExercised: "–", report.Unknown: "?", report.NotSearched: "?",
	} {
		cell := reportcard.Cell{Property: history.Linearizable, Verdict: verdict}
		if got := cell.Symbol(); got != want {
			t.Errorf("%s is %s, want %s", verdict, got, want)
		}
	}
	empty := page(t, new(reportcard.Card), reportcard.WriteMarkdown, ".")
	if !strings.Contains(empty, "**?** is claimed, and undecided") {
		t.Errorf("the legend does not explain it:\n%s", empty)
	}
}

// page returns a page of the card.
func page(t *testing.T, card *reportcard.Card,
	write func(w io.Writer, card *reportcard.Card, directory string) error, directory string,
) string {
	t.Helper()
	var text bytes.Buffer
	if err := write(&text, card, directory); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
