package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/cmd/internal/judge/hunt"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
)

// huntFlags holds the flags of hunt as they were given.
type huntFlags struct {
	locks                   []string
	out, plan, listen, seed string
	reportFile              string
	budget                  time.Duration
	turns, workers          int
	quiet                   bool
}

func newHunt(t *testing.T) *cobra.Command {
	var f huntFlags
	command := &cobra.Command{
		Use:   "hunt",
		Short: "Search many locks day and night",
		Long: `Hunt searches the locks in turns, with the configurations and the strategy of
check, until it is interrupted. Locks that still show new behaviour get more
turns. Schedules with new behaviour are kept, and a quarter of all schedules are
mutations of them. Hunt keeps what it has found below the directory --out, and
continues there when it is started again. It shrinks one schedule of each
distinct failure and writes its counterexample.

--plan reads the locks from a file, with a weight for each and with what check
fixes by flags:

  locks:
    - names: [mutex, rwmutex]
      weight: 3
    - names: [redlock]
      clients: 2
      faults: pause@hold=1
      max_pause: 1s
    - names: [all]  # all others

With --listen it serves a page with its status, on this machine only. The URL
contains a secret. Port 0 is any free port.

Exit status:
  0  nothing found
  1  a violation, also of an earlier hunt in the directory
  2  bad usage
  3  a failed write or an internal error`,
		Example: `  interlock hunt --listen 127.0.0.1:8080
  interlock hunt --lock mutex,rwmutex --budget 10h --json hunt.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := f.hunt(cmd.Flags().Changed, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer h.Close()
			return f.run(cmd.Context(), t, h, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.locks, "lock", []string{allLocks},
		"locks, or all with the broken ones")
	flags.StringVar(&f.plan, "plan", "", "YAML `file` that names the locks")
	flags.StringVar(&f.out, "out", "interlock-hunt", "`directory` of the hunt")
	flags.StringVar(&f.listen, "listen", "", "loopback `address` of the status page")
	flags.DurationVar(&f.budget, "budget", 0, "running time, 0 for unlimited")
	flags.IntVar(&f.turns, "turns", 0, "number of turns, 0 for unlimited")
	flags.StringVar(&f.seed, "seed", "1", "random seed: a number, or random")
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0),
		"parallel schedules; 1 with the real client")
	flags.StringVar(&f.reportFile, "json", "", file.JSONUsage)
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return command
}

// hunt returns the hunt that the flags describe, or an error that names a wrong flag.
func (f *huntFlags) hunt(given func(string) bool, stderr io.Writer) (*hunt.Hunt, error) {
	switch {
	case f.out == "":
		return nil, errors.New("--out needs a directory")
	case given("json") && f.reportFile == "":
		return nil, file.ErrNoJSON
	case f.budget < 0 || given("budget") && f.budget == 0:
		return nil, fmt.Errorf("--budget must be positive, not %v", f.budget)
	case f.turns < 0 || given("turns") && f.turns == 0:
		return nil, fmt.Errorf("--turns must be at least 1, not %d", f.turns)
	case f.workers < 1 || f.workers > workersMax:
		return nil, fmt.Errorf("--workers must be from 1 to %d, not %d", workersMax, f.workers)
	case f.listen != "":
		if err := localhttp.CheckAddress(f.listen); err != nil {
			return nil, fmt.Errorf("--listen: %w", err)
		}
	}
	seed, err := strategy.ParseSeed(f.seed)
	if err != nil {
		return nil, fmt.Errorf("--seed: %w", err)
	}
	if err := checkWritable(f.out); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	h := &hunt.Hunt{
		Directory: f.out, Seed: seed, Turns: f.turns, ReplayBy: replayCommand,
		Progress: judge.NewProgress((&reportFlags{quiet: f.quiet}).progressTo(stderr)),
	}
	if h.Targets, err = f.targets(given); err != nil {
		return nil, err
	}
	if err := h.Open(); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return h, nil
}

// run hunts until the context ends, and reports what was found.
func (f *huntFlags) run(ctx context.Context, t *testing.T, h *hunt.Hunt, stdout, stderr io.Writer,
) error {
	defer ignorePipe()()
	ctx, end := report.WithBudget(ctx, f.budget)
	defer end()
	text, to, err := file.OpenJSON(f.reportFile, stdout, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(text, "hunting %s in %s\n", counted(len(h.Targets), "lock"), f.out)
	served := make(chan error, 1)
	if f.listen != "" {
		listener, err := net.Listen("tcp", f.listen)
		if err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		site := h.Site()
		fmt.Fprintf(text, "status at %s\n", site.URL(listener))
		go func() { served <- site.Serve(ctx, listener) }()
	} else {
		served <- nil
	}
	if err := h.Run(ctx, t); err != nil {
		return exit.With(exit.Internal, err)
	}
	end()
	if err := <-served; err != nil {
		return exit.With(exit.Internal, err)
	}
	status := h.Status()
	if err := to.WriteJSON(status); err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the report: %w", err))
	}
	f.write(text, status)
	if status.Failures() > 0 {
		return exit.With(exit.Violation, nil)
	}
	return nil
}

// write prints a line for each lock, and how to replay its failures.
func (f *huntFlags) write(w io.Writer, status *hunt.Status) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "lock\tturns\tschedules\tbehaviours\tdistinct failures\t")
	for i := range status.Locks {
		l := &status.Locks[i]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t\n", l.Lock, l.Turns, l.Schedules, l.Behaviours,
			len(l.Failures))
	}
	table.Flush()
	for i := range status.Locks {
		l := &status.Locks[i]
		for _, failure := range l.Failures {
			fmt.Fprintf(w, "%s: VIOLATION %s, %s", l.Lock, failure.Signature,
				counted(failure.Schedules, "schedule"))
			if failure.Directory != "" {
				fmt.Fprintf(w, ", replay: %s",
					replayCommand(filepath.Join(f.out, "failures", failure.Directory)))
			}
			fmt.Fprintln(w)
		}
	}
	if status.Broken > 0 {
		fmt.Fprintf(w, "%d of %d broken locks found", status.Found(), status.Broken)
		if len(status.Missing) > 0 {
			fmt.Fprintf(w, ", not %s", strings.Join(status.Missing, ", "))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s in %v, %s\n", counted(status.Schedules, "schedule"),
		status.Elapsed.Round(time.Second), counted(status.Failures(), "distinct failure"))
}
