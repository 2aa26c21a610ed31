package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// The table has a line for each lock, and a dash for a margin that no schedule measured.
func TestMarginTable(t *testing.T) {
	var some, negative check.Margins
	some[check.ProofToEnd] = check.Margin{Times: 3, Smallest: 2017 * time.Millisecond}
	some[check.TokenToRefusal] = check.Margin{Times: 1}
	negative[check.LossToEnd] = check.Margin{Times: 1, Smallest: -131 * time.Second}
	negative[check.LossToGrant] = check.Margin{Times: 1, Smallest: -time.Nanosecond}
	checked := []*checkReport{
		{Lock: "trylock", CampaignReport: new(CampaignReport)},
		{Lock: "textbook-guarded", CampaignReport: &CampaignReport{Margins: some.ByName()}},
		{Lock: "herd", CampaignReport: &CampaignReport{Margins: negative.ByName()}},
	}
	var text bytes.Buffer
	writeMarginTable(&text, checked)
	const want = `
smallest margin (s)   loss-to-end  proof-to-end  token-to-refusal  loss-to-grant
trylock                         -             -                 -              -
textbook-guarded                -         2.017             0.000              -
herd                     -131.000             -                 -         -0.001
`
	if text.String() != want {
		t.Errorf("printed\n%s", &text)
	}
	text.Reset()
	if writeMarginTable(&text, checked[:1]); text.String() != "" {
		t.Errorf("printed of no margins\n%s", &text)
	}
}

// The report of a single lock shows a margin's sign too.
func TestSignOfMargin(t *testing.T) {
	var margins check.Margins
	margins[check.LossToGrant] = check.Margin{Times: 2, Smallest: -time.Microsecond, Schedule: 7}
	margins[check.ProofToEnd] = check.Margin{Times: 1, Smallest: time.Microsecond, Schedule: 8}
	var text bytes.Buffer
	writeMargins(&text, &margins, &scenarios.Subject{})
	const want = `
smallest margins
  from a session's last proof of life to its end              0.000 s, smallest of 1, schedule 8
  from a loss inside to the grant after the session's end    -0.001 s, smallest of 2, schedule 7
`
	if text.String() != want {
		t.Errorf("printed\n%s", &text)
	}
}

// checkSeveral checks locks one after the other, and returns the text, the report and the status.
func checkSeveral(t *testing.T, locks []scenarios.Subject, arguments ...string) (string, *allReport,
	int,
) {
	t.Helper()
	var f checkFlags
	command := &cobra.Command{}
	f.defineFlags(command)
	directory := t.TempDir()
	path := filepath.Join(directory, "report.json")
	if err := command.ParseFlags(append(arguments, "--out", filepath.Join(directory, "failures"),
		"--json", path)); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	err := f.checkAll(t.Context(), t, locks, command.Flags().Changed, &stdout, &stderr)
	var ends *exit.Error
	if err != nil && !errors.As(err, &ends) {
		t.Fatal(err)
	}
	status, _ := exitStatus(err)
	var all allReport
	if err := json.Unmarshal(readFile(t, path), &all); err != nil {
		t.Fatal(err)
	}
	return stdout.String(), &all, status
}

// A lock that fails has its line, its report and its margins, and the locks after it are checked.
// With --keep-going the line says how many distinct failures the report has.
func TestOneOfSeveralLocksFails(t *testing.T) {
	var nameOrder scenarios.Subject
	for _, lock := range bundled.All() {
		if lock.Name == "name-order" {
			nameOrder = lock
		}
	}
	locks := []scenarios.Subject{subjects.Textbook(), nameOrder, subjects.Herd()}
	text, all, status := checkSeveral(t, locks, "--schedules", "50", "--keep-going")
	if status != exit.Violation || all.Status != exit.Violation || all.Interrupted ||
		len(all.Locks) != len(locks) {
		t.Fatalf("status %d, report %+v", status, all)
	}
	distinct := len(all.Locks[1].Violations)
	if distinct < 2 || all.Locks[0].Status != exit.OK || all.Locks[2].Status != exit.OK {
		t.Errorf("%d distinct failures, statuses %d, %d", distinct, all.Locks[0].Status,
			all.Locks[2].Status)
	}
	for _, want := range []string{
		"checking 3 locks, seed 1\n",
		"\ntextbook            no violation found, 50 schedules\n",
		"\nname-order          VIOLATION " + all.Locks[1].Violations[0].Signature + ", in schedule ",
		", first of " + counted(distinct, "distinct failure") + ", replay: " +
			all.Locks[1].Violations[0].Replay + "\n",
		"\nherd                no violation found, 50 schedules\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	_, table, _ := strings.Cut(text, "\nsmallest margin (s) ")
	for _, lock := range locks {
		if !strings.Contains(table, "\n"+lock.Name+" ") {
			t.Errorf("no margins of %s in\n%s", lock.Name, text)
		}
	}
}
