package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/search/report"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/base/unknown"
)

// verifyFlags holds the flags of verify as they were given.
type verifyFlags struct {
	properties, models []string
	clocks             string
	pause              time.Duration
	pauses             []string
	limit              time.Duration
	json               bool
}

func newVerify() *cobra.Command {
	var f verifyFlags
	command := &cobra.Command{
		Use:   "verify HISTORY...",
		Short: "Check a recorded history against the properties of a lock",
		Long: `Verify reads a history, such as the trace.jsonl of a counterexample, which its
directory stands for, or standard input if the argument is -. It reports for
each property whether it holds and how often the history tests it. It runs
nothing. The history must be complete: on a truncated one, progress,
no-leaked-nodes and no-lost-watch report false violations. Each lock in the
history is judged separately.

With --clocks it takes the histories of several processes, such as the files that
the recorder in lock/record writes, or spans of lock/lockotel in OTLP JSON. It
reports all violations that hold for every reading of the clocks within the
given bounds. A holder that was paused
for longer than --max-pause is out of contract; --pause names pauses that the
histories do not record. A process is c1 or the name that its recorder has.

Exit status:
  0  no violation
  1  a violation
  2  bad usage, or an unusable history
  3  no violation, but an unknown verdict; a failed write or an internal error`,
		Example: `  interlock verify trace.jsonl --property fifo,progress
  interlock verify --clocks 50ms,c3=200ms billing-1.jsonl billing-2.jsonl billing-3.jsonl
  interlock verify --clocks 5ms traces.json
  interlock verify --clocks 5ms --pause c2=2026-01-31T12:00:00Z..2026-01-31T12:00:20Z *.jsonl`,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if len(arguments) == 0 || len(arguments) > 1 && f.clocks == "" {
				return fmt.Errorf("verify takes one history, a file or - for standard input, not "+
					"%d; with --clocks it takes several", len(arguments))
			}
			signal.Reset(os.Interrupt, syscall.SIGTERM) // There are no results to save.
			if f.clocks == "" && cmd.Flags().Changed("max-pause") {
				return errors.New("--max-pause requires --clocks")
			}
			if f.clocks == "" && len(f.pauses) > 0 {
				return errors.New("--pause requires --clocks")
			}
			return f.run(arguments, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.properties, "property", nil, "comma-separated `properties` to check")
	flags.StringSliceVar(&f.models, "model", nil,
		"porcupine `models`: "+strings.Join(modelNames(), ", "))
	flags.StringVar(&f.clocks, "clocks", "", "clock `error`: 50ms, or 50ms,c3=200ms")
	flags.DurationVar(&f.pause, "max-pause", faults.DefaultSeverity().Pause,
		"with --clocks: longest pause within the contract")
	flags.StringSliceVar(&f.pauses, "pause", nil,
		"with --clocks: `PROCESS=FROM..TO`, in which the process did not run")
	flags.DurationVar(&f.limit, "time-limit", time.Minute,
		"time limit per check, after which the verdict is unknown")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return command
}

// modelNames returns the names of the models that --model accepts.
func modelNames() []string {
	var names []string
	for _, m := range check.Models() {
		names = append(names, m.Name)
	}
	return names
}

// errTorn ends the judgement of an incomplete history that shows no violation. With --clocks it is
// none: a process may have died before it wrote more.
var errTorn = exit.With(exit.Internal,
	errors.New("no violation found, but the result is inconclusive: the history is incomplete"))

func (f *verifyFlags) run(paths []string, stdin io.Reader, stdout, stderr io.Writer) error {
	properties, err := parseProperties(f.properties)
	if err != nil {
		return err
	}
	if f.pause < 0 {
		return fmt.Errorf("--max-pause must be at least 0s, not %v", f.pause)
	}
	if f.limit <= 0 {
		return fmt.Errorf("--time-limit must be positive, not %v", f.limit)
	}
	for _, name := range f.models {
		if !slices.Contains(modelNames(), name) {
			return fmt.Errorf("--model: %w", unknown.Name("model", name, modelNames()))
		}
	}
	if f.clocks != "" && len(f.models) > 0 {
		return errors.New("--clocks and --model cannot be combined: models need the order of the " +
			"events")
	}
	recorded, err := readHistories(paths, stdin, stderr)
	if err != nil {
		return err
	}
	if recorded.spans && f.clocks == "" {
		return errors.New("spans require --clocks: each process has a clock of its own")
	}
	logs := recorded.logs
	log, processes := logs[0], new(production.Processes)
	var clocks *production.Clocks
	if f.clocks != "" {
		if logs, processes, err = production.NumberProcesses(logs...); err != nil {
			return err
		}
		if clocks, err = f.parseClocks(processes); err != nil {
			return err
		}
		if err := checkAttempts(recorded.names, logs); err != nil {
			return err
		}
		fmt.Fprint(stderr, untimed(recorded.names, logs))
		log = production.Merge(logs...)
	} else if !opensSession(log.Events()) {
		fmt.Fprintln(stderr, "the history opens no session; if it comes from a service, judge it "+
			"with --clocks")
	}
	if locks, nameless := production.Locks(log.Events()); nameless > 0 {
		fmt.Fprintf(stderr, "not judged, because they name none of the locks %s: %s\n",
			strings.Join(locks, ", "), counted(nameless, "attempt"))
	}
	judgements := f.judge(log.Events(), properties, clocks)
	for i := range judgements {
		judgements[i].nameProcesses(processes)
	}
	err = f.print(stdout, log, processes, judgements)
	if err == nil && recorded.torn && f.clocks == "" {
		return errTorn
	}
	return err
}

func (f *verifyFlags) print(w io.Writer, log *history.Log, processes *production.Processes,
	judgements []judgement,
) error {
	if !f.json {
		return printJudgements(w, log, processes, judgements)
	}
	if err := file.EncodeJSON(w, judgements); err != nil {
		return exit.With(exit.Internal, err)
	}
	return statusOf(judgements)
}

// parseClocks returns the clocks and the pauses of the flags.
func (f *verifyFlags) parseClocks(processes *production.Processes) (*production.Clocks, error) {
	clocks, err := production.ParseClocks(f.clocks, processes)
	if err != nil {
		return nil, fmt.Errorf("--clocks: %w", err)
	}
	clocks.Pause = f.pause
	for _, text := range f.pauses {
		pauses, err := production.ParsePause(text, processes)
		if err != nil {
			return nil, fmt.Errorf("--pause: %w", err)
		}
		clocks.Pauses = append(clocks.Pauses, pauses...)
	}
	return &clocks, nil
}

// checkAttempts returns an error if two calls of Lock in the histories have the same process and
// attempt, or a call has no process: their events could not be told apart.
func checkAttempts(names []string, logs []*history.Log) error {
	type call struct{ process, attempt int32 }
	known := make(map[call]string)
	for i, log := range logs {
		for n, e := range log.Events() {
			switch {
			case e.Kind != history.LockCall:
				continue
			case e.Process == 0:
				return fmt.Errorf("%s: line %d: a lock-call needs a process number, from 1 on",
					names[i], n+1)
			}
			if before, ok := known[call{e.Process, e.Attempt}]; ok {
				return fmt.Errorf("%s: line %d: attempt %d of process %d is already in %s: "+
					"processes need distinct numbers, and so do the attempts of a process",
					names[i], n+1, e.Attempt, e.Process, before)
			}
			known[call{e.Process, e.Attempt}] = fmt.Sprintf("%s, line %d", names[i], n+1)
		}
	}
	return nil
}

// untimed says which grants in the histories lack the time of their call of Lock, or returns "".
func untimed(names []string, logs []*history.Log) (text string) {
	for i, log := range logs {
		grants := production.Untimed(log.Events())
		if len(grants) == 0 {
			continue
		}
		first := &log.Events()[grants[0]]
		text += fmt.Sprintf("%s: line %d: the lock-return of attempt %d needs a lock-call with a "+
			"time before its node-created; monotonic-token and linearizable do not judge when "+
			"such attempts began: %s\n", names[i], grants[0]+1, first.Attempt,
			counted(len(grants), "attempt"))
	}
	return text
}

// statusOf returns the error with which the program ends, nil for status 0. A violation counts more
// than an unknown verdict.
func statusOf(judgements []judgement) error {
	var outcome error
	for _, j := range judgements {
		switch j.Verdict {
		case report.Violated:
			return exit.With(exit.Violation, nil)
		case report.Unknown:
			outcome = errUnknownVerdict
		}
	}
	return outcome
}

func printJudgements(w io.Writer, log *history.Log, processes *production.Processes,
	judgements []judgement,
) error {
	fmt.Fprintf(w, "%d events, trace hash %016x\n", log.Len(), log.Hash())
	var violations []*history.Violation
	for _, j := range judgements {
		if v := j.violation; v != nil {
			violations = append(violations, v)
			fmt.Fprintf(w, "  %-25s%s at event %d: %s\n", j.Name, report.Violated, v.Event,
				v.Reason)
			if j.Guarantee != "" {
				fmt.Fprintf(w, "  %-25s%s\n", "", j.Guarantee)
			}
			if len(j.Violations) > 1 {
				fmt.Fprintf(w, "  %-25s%d violations:\n", "", len(j.Violations))
				j.list(w)
			}
			continue
		}
		fmt.Fprintf(w, "  %-25s%s\n", j.Name, verdictLine(j.Verdict, j.Exercised))
		if j.Verdict == report.OutOfContract {
			j.list(w)
		}
	}
	printNames(w, processes, judgements)
	if violations != nil {
		fmt.Fprintln(w)
		explained := explain.NewReport("", timeline.Lock, log.Events(), violations)
		fitTerminal(explained, w)
		for _, why := range explained.Whys {
			explained.Why(w, why)
			fmt.Fprintln(w)
		}
		if err := explained.Decisive(w); err != nil {
			return exit.With(exit.Internal, err)
		}
	}
	return statusOf(judgements)
}

// printNames prints the names of the processes of all violations.
func printNames(w io.Writer, processes *production.Processes, judgements []judgement) {
	var numbers []int32
	for i := range judgements {
		for _, v := range judgements[i].all {
			for _, number := range [...]int32{v.Evidence.Process, v.Evidence.Other} {
				process, _ := history.ProcessOf(number)
				if processes.Name(process) != "" && !slices.Contains(numbers, process) {
					numbers = append(numbers, process)
				}
			}
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		fmt.Fprintf(w, "%s is %s\n", history.ProcessName(number), processes.Name(number))
	}
}

func parseProperties(names []string) ([]history.Property, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(check.Properties(), func(p history.Property) bool {
			return p == history.Margin // A history does not say what the lock promises.
		}), nil
	}
	properties := make([]history.Property, len(names))
	for i, name := range names {
		var err error
		if properties[i], err = check.ParseProperty(name); err != nil {
			return nil, fmt.Errorf("--property: %w", err)
		}
	}
	return properties, nil
}
