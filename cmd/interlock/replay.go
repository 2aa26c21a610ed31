package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk"
)

func newReplay(t *testing.T) *cobra.Command {
	var full bool
	var times int
	command := &cobra.Command{
		Use:   "replay PATH",
		Short: "Run a recorded schedule again and show what it breaks",
		Long: "Replay runs the schedule in a counterexample's directory, or in a schedule file, and shows the decisive part\n" +
			"of its timeline. A recorded step that cannot happen any more is skipped and named, so that a schedule can be\n" +
			"replayed after the lock was changed.\n\n" +
			"Exit status: 1 the recorded violation, or another, occurs; 0 none does; 2 the file cannot be used; 3 the\n" +
			"schedule does not run the same way every time.",
		Example: "  interlock replay interlock-failures/no-recheck-fifo-0123456789abcdef --full",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return fmt.Errorf("replay takes one path, a counterexample's directory or a schedule file, not %d", len(arguments))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if times < 1 {
				return fmt.Errorf("--times must be at least 1, not %d", times)
			}
			return runReplay(cmd.Context(), t, arguments[0], full, times, cmd.OutOrStdout())
		},
	}
	command.Flags().BoolVar(&full, "full", false, "show the whole timeline")
	command.Flags().IntVar(&times, "times", 2, "run the schedule so many times and compare the trace hashes")
	return command
}

func runReplay(ctx context.Context, t *testing.T, path string, full bool, times int, w io.Writer) error {
	recording, err := scenarios.ReadRecording(path)
	if err != nil {
		return err
	}
	subject, err := subjects.Named(recording.Lock)
	if err != nil {
		return fmt.Errorf("%s: %w; a lock of your own is replayed by the test that found it: see %q in report.json", path, err, "replay")
	}
	scenario, err := recording.Scenario(subject)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if scenario.Client == scenarios.Real && simzk.RaceDetector {
		return errRealUnderRace
	}
	fmt.Fprintf(w, "replaying %v, %d deviations from the default policy\n", scenario, len(recording.Deviations))
	runner := scenarios.NewRunner(t)
	strategy := &scenarios.Replay{Deviations: recording.Deviations}
	result := runner.Run(scenario, strategy)
	for i := range times - 1 {
		if ctx.Err() != nil {
			fmt.Fprintf(w, "interrupted: the schedule was run %d times until then\n", i+1)
			break
		}
		if hash := result.TraceHash; runner.Run(scenario, strategy).TraceHash != hash {
			return &statusError{statusInternal, errors.New("the schedule did not run the same way twice")}
		}
	}
	return judgeReplay(runner, scenario, strategy, recording, full, w)
}

// judgeReplay shows a last run of the schedule, and says how it compares with the recorded one.
func judgeReplay(runner *scenarios.Runner, scenario *scenarios.Scenario, strategy *scenarios.Replay, recording *scenarios.Recording, full bool, w io.Writer) error {
	counterexample := runner.NewCounterexample(*scenario, recording.Deviations, recording.Signature, recording.Seed, recording.Schedule)
	result := counterexample.Result
	for _, d := range strategy.Skipped {
		fmt.Fprintf(w, "skipped: step %d, %v, cannot happen there any more\n", d.Index, d.Step)
	}
	for _, d := range strategy.Unreached() {
		fmt.Fprintf(w, "skipped: step %d, %v, is never reached\n", d.Index, d.Step)
	}
	timeline := counterexample.Timeline()
	if len(result.Violations) == 0 {
		if full {
			if err := timeline.Write(w); err != nil {
				return &statusError{statusInternal, err}
			}
		}
		fmt.Fprintf(w, "no violation: the recorded one, %s, does not occur any more\ntrace hash %v, recorded %v\n",
			recording.Signature, counterexample.Recording.TraceHash, recording.TraceHash)
		return nil
	}
	for _, v := range result.Violations {
		fmt.Fprintf(w, "\nVIOLATION %s\n  %s\n", v.Signature(), v.Detail)
		writeExcuse(w, scenario, result, v)
	}
	fmt.Fprintln(w)
	show := func() error { return timeline.Decisive(w, 0) }
	if full {
		show = func() error { return timeline.Write(w) }
	}
	if err := show(); err != nil {
		return &statusError{statusInternal, err}
	}
	fmt.Fprintf(w, "\ntrace hash %v, %s\n", counterexample.Recording.TraceHash, comparison(counterexample, recording))
	return &statusError{statusViolation, nil}
}

func comparison(now *scenarios.Counterexample, then *scenarios.Recording) string {
	switch {
	case now.Recording.TraceHash == then.TraceHash:
		return "as recorded"
	case now.Recording.Signature == then.Signature:
		return fmt.Sprintf("recorded %v: the same violation by another way", then.TraceHash)
	}
	return fmt.Sprintf("recorded %v for %s: another violation", then.TraceHash, then.Signature)
}
