package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// reportCardFlags holds the flags of report-card as they were given.
type reportCardFlags struct {
	locks                     []string
	out, json, html, markdown string
	seed, faults              string
	servers, schedules        int
	budget                    time.Duration
}

func newReportCard(t *testing.T) *cobra.Command {
	var f reportCardFlags
	command := &cobra.Command{
		Use:   "report-card",
		Short: "Judge published locks by every property",
		Long: `Report-card searches the schedules of published locks, and of those of package
lock, and gives a verdict on each property of each lock: it holds in all
schedules that were run, it is violated, or the lock does not claim it. Each
violation has a counterexample in a file that interlock replay replays.
Properties that a lock does not claim are searched too, with fewer schedules.

Each lock has searches of its own. With --faults, a single search with that
plan replaces them. The same flags give the same files, except with --budget.

Exit status:
  0  the card is complete, or --budget ended it
  1  a lock of package lock violates a property that it claims
  2  bad usage
  3  nondeterminism, a failed write or an internal error
  130  a signal ended it; the card is written, and marked as partial`,
		Example: `  interlock report-card --html card.html
  interlock report-card --lock setnx,redlock --schedules 500 --json -
  interlock report-card --lock zk-herd --faults expire=1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := f.rows(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), t, rows, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.locks, "lock", nil,
		"`names` of locks, separated by commas (default all)")
	flags.StringVar(&f.out, "out", defaultOut, "`directory` for counterexamples")
	flags.StringVar(&f.json, "json", "", "`file` for the card as JSON, - for standard output")
	flags.StringVar(&f.html, "html", "", "`file` for the card as a web page")
	flags.StringVar(&f.markdown, "markdown", "", "`file` for the card as Markdown")
	flags.StringVar(&f.seed, "seed", "1", "random seed: a number, or random")
	flags.StringVar(&f.faults, "faults", "",
		"fault `plan` of the only search (see interlock help faults)")
	flags.IntVar(&f.servers, "servers", 0, "servers in each search (default what the lock needs)")
	flags.IntVar(&f.schedules, "schedules", 0, "maximum schedules per search, 0 for unlimited")
	flags.DurationVar(&f.budget, "budget", 0, "maximum running time, 0 for unlimited")
	return command
}

// onlySchedules bounds the search of --faults.
const onlySchedules = 1000

// rows returns the rows that the flags ask for, or an error that names a wrong flag.
func (f *reportCardFlags) rows(given func(string) bool) ([]reportcard.Row, error) {
	switch {
	case given("lock") && len(f.locks) == 0:
		return nil, errors.New("--lock needs the name of a lock")
	case f.out == "":
		return nil, errors.New("--out needs a directory")
	case given("json") && f.json == "":
		return nil, file.ErrNoJSON
	case given("html") && (f.html == "" || f.html == "-"):
		return nil, errors.New("--html needs a file")
	case given("markdown") && (f.markdown == "" || f.markdown == "-"):
		return nil, errors.New("--markdown needs a file")
	case f.html != "" && (f.html == f.json || f.html == f.markdown),
		f.markdown != "" && f.markdown == f.json:
		return nil, errors.New("--json, --html and --markdown need different files")
	case given("schedules") && f.schedules < 1:
		return nil, fmt.Errorf("--schedules must be at least 1, not %d", f.schedules)
	case given("budget") && f.budget <= 0:
		return nil, fmt.Errorf("--budget must be positive, not %v", f.budget)
	case given("servers") && f.servers < 1:
		return nil, fmt.Errorf("--servers must be at least 1, not %d", f.servers)
	}
	rows := reportcard.Rows()
	if given("lock") {
		var err error
		if rows, err = reportcard.Named(f.locks); err != nil {
			return nil, fmt.Errorf("--lock: %w", err)
		}
	}
	for i := range rows {
		if err := f.adapt(&rows[i], given); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// adapt changes the searches of a row as the flags demand, and returns an error if one of them is
// not possible.
func (f *reportCardFlags) adapt(row *reportcard.Row, given func(string) bool) error {
	flag := "report-card"
	if given("faults") {
		flag = "--faults"
		row.Searches = []reportcard.Search{{
			Faults: f.faults, MaxPause: row.Searches[0].MaxPause, Schedules: onlySchedules,
		}}
		if f.schedules > 0 {
			row.Searches[0].Schedules = f.schedules
		}
	}
	if given("servers") {
		flag = "--servers"
		if err := row.Subject.Fits(f.servers, 0); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		for i := range row.Searches {
			row.Searches[i].Servers = f.servers
		}
	}
	for i := range row.Searches {
		if _, err := row.Scenario(&row.Searches[i]); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		if row.Subject.Real && real.RaceDetector {
			return errRealUnderRace
		}
	}
	return nil
}

// run searches the rows, writes the files and prints the card.
func (f *reportCardFlags) run(ctx context.Context, t *testing.T, rows []reportcard.Row, stdout,
	stderr io.Writer,
) error {
	defer ignorePipe()()
	seed, err := strategy.ParseSeed(f.seed)
	if err != nil {
		return fmt.Errorf("--seed: %w", err)
	}
	if err := checkWritable(f.out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	var files [3]file.Report
	for i, to := range []struct{ flag, path string }{
		{"--json", f.json}, {"--html", f.html}, {"--markdown", f.markdown},
	} {
		if files[i], err = file.OpenReport(to.flag, to.path, stdout); err != nil {
			return err
		}
	}
	bounded, end := report.WithBudget(ctx, f.budget)
	defer end()
	searcher := &reportcard.Searcher{
		T: t, Seed: seed, Schedules: f.schedules, Out: f.out,
		Progress: judge.NewProgress(stderr),
	}
	card, err := searcher.Card(bounded, rows)
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	text := stdout
	if f.json == "-" {
		text = stderr
	}
	for i, encode := range []func(io.Writer) error{
		func(w io.Writer) error { return file.EncodeJSON(w, card) },
		func(w io.Writer) error { return reportcard.WriteHTML(w, card, filepath.Dir(f.html)) },
		func(w io.Writer) error {
			return reportcard.WriteMarkdown(w, card, filepath.Dir(f.markdown))
		},
	} {
		if err := files[i].Write(encode); err != nil {
			return exit.With(exit.Internal, fmt.Errorf("writing the card: %w", err))
		}
	}
	writeCard(text, card, f.out)
	switch {
	case ctx.Err() != nil && card.Partial:
		return exit.With(exit.Interrupted, nil)
	case card.ProductionViolated():
		return exit.With(exit.Violation, nil)
	}
	return nil
}

// writeCard prints a row for each lock.
func writeCard(w io.Writer, card *reportcard.Card, out string) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "lock\tholds\tviolated, with the number of counterexamples\tother")
	recordings := make(map[string]bool)
	for _, l := range card.Locks {
		var violated, other []string
		for _, cell := range l.Of(report.Violated) {
			violated = append(violated, fmt.Sprintf("%s %d", cell.Property,
				len(cell.Counterexamples)))
			for _, e := range cell.Counterexamples {
				recordings[e.Recording] = true
			}
		}
		for _, verdict := range []report.Verdict{
			report.NotExercised, report.Unknown, report.NotSearched, report.OutOfContract,
		} {
			if n := len(l.Of(verdict)); n > 0 {
				other = append(other, fmt.Sprintf("%d %s", n, verdict))
			}
		}
		if n := len(l.Refuted()); n > 0 {
			other = append(other, fmt.Sprintf("%d not claimed, do not hold", n))
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", l.Name, len(l.Kept()),
			strings.Join(violated, ", "), strings.Join(other, ", "))
	}
	table.Flush()
	if len(recordings) > 0 {
		fmt.Fprintf(w, "\n%s in %s, replayed by interlock replay FILE\n",
			counted(len(recordings), "counterexample"), out)
	}
	if card.Partial {
		fmt.Fprintln(w, "\npartial: not all searches have run to their end")
	}
}
