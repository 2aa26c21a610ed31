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

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
)

// verifyFlags is the command line of verify as it was given.
type verifyFlags struct {
	properties, models []string
	clocks             string
	pause              time.Duration
	limit              time.Duration
	json               bool
}

func newVerify() *cobra.Command {
	var f verifyFlags
	command := &cobra.Command{
		Use:   "verify HISTORY...",
		Short: "Check a recorded history for the properties of a lock",
		Long: "Verify reads a history, such as the trace.jsonl of a counterexample, or standard " +
			"input " +
			"if it is -, and says\n" +
			"of each property whether it holds, and how often the history puts it to the test. " +
			"It runs " +
			"nothing. The history\n" +
			"must be a whole one: of one that was cut short, progress, no-leaked-nodes and watch " +
			"speak " +
			"too soon.\n\n" +
			"With --clocks it takes the histories of several processes, whose times are of " +
			"clocks that " +
			"may be off by so much,\n" +
			"and reports what is wrong whatever the clocks really said. That is for logs of " +
			"services in " +
			"production.\n\n" +
			"It judges each of several locks by itself. With --clocks, a holder that was paused\n" +
			"for longer than --max-pause is out of contract.\n\n" +
			"Exit status: 0 all hold, 1 one is violated, 2 a history or a flag is wrong, 3 " +
			"nothing is " +
			"violated, but a check\n" +
			"reached its limit and its verdict is unknown.",
		Example: "  interlock verify " +
			"interlock-failures/no-recheck-fifo-0123456789abcdef/trace.jsonl " +
			"--property fifo,progress\n" +
			"  interlock verify --clocks 50ms,c3=200ms billing-1.jsonl billing-2.jsonl " +
			"billing-3.jsonl",
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if len(arguments) == 0 || len(arguments) > 1 && f.clocks == "" {
				return fmt.Errorf("verify takes one history, a file or - for standard input, not "+
					"%d; with "+
					"--clocks it takes several", len(arguments))
			}
			signal.Reset(os.Interrupt, syscall.SIGTERM) // There is nothing to be kept.
			if f.clocks == "" && cmd.Flags().Changed("max-pause") {
				return errors.New("--max-pause is for --clocks only")
			}
			return f.run(arguments, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.properties, "property", nil,
		"check only these `properties`, separated by commas")
	flags.StringSliceVar(&f.models, "model", nil, "check against these `models` of porcupine too: "+
		strings.Join(modelNames(), ", "))
	flags.StringVar(&f.clocks, "clocks", "", "how far the clocks of the processes may be off: "+
		"50ms, "+
		"or 50ms,c3=200ms")
	flags.DurationVar(&f.pause, "max-pause", faults.DefaultSeverity().Pause,
		"with --clocks: the longest pause of a process that the lock stands")
	flags.DurationVar(&f.limit, "time-limit", time.Minute,
		"how long a model may be searched; after that its verdict is unknown")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return command
}

func modelNames() []string {
	var names []string
	for _, m := range history.Models() {
		names = append(names, m.Name)
	}
	return names
}

func (f *verifyFlags) run(paths []string, stdin io.Reader, stdout, stderr io.Writer) error {
	properties, err := parseProperties(f.properties)
	if err != nil {
		return err
	}
	if f.pause < 0 {
		return fmt.Errorf("--max-pause must not be negative, as %v is", f.pause)
	}
	if f.limit <= 0 {
		return fmt.Errorf("--time-limit must be more than nothing, not %v", f.limit)
	}
	for _, name := range f.models {
		if !slices.Contains(modelNames(), name) {
			return fmt.Errorf("--model: unknown model %q, want one of %v", name, modelNames())
		}
	}
	if f.clocks != "" && len(f.models) > 0 {
		return errors.New("--clocks and --model do not go together: models go by the order of " +
			"the events")
	}
	var clocks *history.Clocks
	if f.clocks != "" {
		parsed, err := history.ParseClocks(f.clocks)
		if err != nil {
			return fmt.Errorf("--clocks: %w", err)
		}
		parsed.Pause = f.pause
		clocks = &parsed
	}
	var logs []*history.Log
	for _, path := range paths {
		log, err := readHistory(path, stdin)
		if err != nil {
			return err
		}
		logs = append(logs, log)
	}
	log := logs[0]
	if clocks != nil {
		if err := checkAttempts(paths, logs); err != nil {
			return err
		}
		log = history.Merge(logs...)
	} else if !opensSession(log.Events()) {
		fmt.Fprintln(stderr, "no session is opened in this history: if it is that of a service "+
			"and not "+
			"of an ensemble, judge it with --clocks")
	}
	if locks, nameless := history.Locks(log.Events()); nameless > 0 {
		fmt.Fprintf(stderr, "attempts that name none of the locks and are not judged: %d; "+
			"the locks are %s\n", nameless, strings.Join(locks, ", "))
	}
	judgements := f.judge(log.Events(), properties, clocks)
	if f.json {
		if err := encodeJSON(stdout, judgements); err != nil {
			return &statusError{statusInternal, err}
		}
		return statusOf(judgements)
	}
	return printJudgements(stdout, log, judgements)
}

// checkAttempts returns an error if two calls of Lock in the histories of several processes have
// the same numbers, or one has none: what one process does would be taken for what another does.
func checkAttempts(paths []string, logs []*history.Log) error {
	type call struct{ process, attempt int32 }
	known := make(map[call]string)
	for i, log := range logs {
		for n, e := range log.Events() {
			switch {
			case e.Kind != history.LockCall:
				continue
			case e.Process == 0:
				return fmt.Errorf("%s: line %d: a process that calls Lock has a number from 1 on",
					paths[i],
					n+1)
			}
			if before, ok := known[call{e.Process, e.Attempt}]; ok {
				return fmt.Errorf("%s: line %d: process %d calls Lock for attempt %d, as it does "+
					"in %s: each "+
					"process needs a number of its own, "+
					"and each of its calls too", paths[i], n+1, e.Process, e.Attempt, before)
			}
			known[call{e.Process, e.Attempt}] = fmt.Sprintf("%s, line %d", paths[i], n+1)
		}
	}
	return nil
}

func statusOf(judgements []judgement) error {
	status := 0
	for _, j := range judgements {
		switch j.Verdict {
		case verdictViolated:
			return &statusError{statusViolation, nil}
		case verdictUnknown:
			status = statusInternal
		}
	}
	if status != 0 {
		return &statusError{status, errors.New("a check has reached its limit: its verdict is " +
			"unknown")}
	}
	return nil
}

func printJudgements(w io.Writer, log *history.Log, judgements []judgement) error {
	fmt.Fprintf(w, "%d events, trace hash %016x\n", log.Len(), log.Hash())
	var violations []*history.Violation
	for _, j := range judgements {
		if v := j.violation; v != nil {
			violations = append(violations, v)
			fmt.Fprintf(w, "  %-25s%s at event %d: %s\n", j.Name, verdictViolated, v.Event,
				v.Reason)
			if j.Guarantee != "" {
				fmt.Fprintf(w, "  %-25s%s\n", "", j.Guarantee)
			}
			continue
		}
		fmt.Fprintf(w, "  %-25s%s\n", j.Name, verdictLine(j.Verdict, j.Exercised))
		if j.Verdict == verdictOutOfContract {
			fmt.Fprintf(w, "  %-25sat event %d: %s\n", "", *j.Event, j.Detail)
		}
	}
	if violations != nil {
		fmt.Fprintln(w)
		timeline := &history.Timeline{Events: log.Events(), Violations: violations}
		if err := timeline.Decisive(w, 0); err != nil {
			return &statusError{statusInternal, err}
		}
	}
	return statusOf(judgements)
}

func parseProperties(names []string) ([]history.Property, error) {
	if len(names) == 0 {
		return history.Properties(), nil
	}
	properties := make([]history.Property, len(names))
	for i, name := range names {
		var err error
		if properties[i], err = history.ParseProperty(name); err != nil {
			return nil, fmt.Errorf("--property: %w", err)
		}
	}
	return properties, nil
}

// readHistory reads the history in a file, or from standard input if the path is -.
func readHistory(path string, stdin io.Reader) (*history.Log, error) {
	name, from := "standard input", stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		name, from = path, file
	}
	log, err := history.Read(from)
	if err == nil && log.Len() == 0 {
		err = errors.New("the history is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return log, nil
}
