package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/likelihood"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// replayFlags holds the flags of replay as they were given.
type replayFlags struct {
	full, run, step bool
	scheduler       bool
	times           int
	timesGiven      bool
	json            string
}

func newReplay(t *testing.T) *cobra.Command {
	var f replayFlags
	command := &cobra.Command{
		Use:   "replay PATH",
		Short: "Run a recorded schedule and show what it violates",
		Long: `Replay runs the schedule of a counterexample directory, or of a schedule file,
and shows the decisive part of its timeline. A recorded step that is no longer
enabled is skipped and named, so that a schedule can be replayed after the lock
has changed. With --step it shows the schedule in a terminal, step by step, with
the state of the processes and of ZooKeeper, Redis or the database.

The schedule of a lock of your own is replayed by the test that found it.
Replay shows what was recorded, with the status of that, and the command of the
test. --run and --step run the test: go test executes code of the directory, and
a counterexample may come from someone else. They run only the command that the
test writes, in the package where the test wrote it or, if interlock test ran it
without --glue, in a package of the current directory's module.

Exit status:
  0  no violation, or --step
  1  the recorded violation, or another one
  2  bad usage, or an unusable file
  3  nondeterminism, a failed write or an internal error
  130  a signal ended --run`,
		Example: "  interlock replay interlock-failures/no-recheck-fifo-0123456789abcdef --full",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return fmt.Errorf("replay takes one path, a counterexample directory or a "+
					"schedule file, not %d", len(arguments))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			f.timesGiven = cmd.Flags().Changed("times")
			switch {
			case f.times < 1:
				return fmt.Errorf("--times must be at least 1, not %d", f.times)
			case cmd.Flags().Changed("json") && f.json == "":
				return file.ErrNoJSON
			case f.step && (f.full || f.json != "" || f.timesGiven):
				return errors.New("--step cannot be combined with --full, --json or --times")
			}
			if err := f.validateRun(cmd); err != nil {
				return err
			}
			if f.scheduler {
				if ran, err := withScheduler(cmd, arguments); ran {
					return err
				}
			}
			if f.step {
				return runStep(cmd.Context(), t, arguments[0], cmd.ErrOrStderr())
			}
			return runReplay(cmd.Context(), t, arguments[0], &f, cmd.OutOrStdout(),
				cmd.ErrOrStderr())
		},
	}
	command.Flags().BoolVar(&f.full, "full", false, "show the whole timeline")
	command.Flags().BoolVar(&f.run, "run", false, "run the test of a lock of your own")
	command.Flags().BoolVar(&f.step, "step", false, "go through the schedule step by step")
	command.Flags().IntVar(&f.times, "times", 2, "runs, whose trace hashes must be equal")
	command.Flags().BoolVar(&f.scheduler, schedulerFlag, false, schedulerUsage)
	command.Flags().StringVar(&f.json, "json", "", file.JSONUsage)
	return command
}

// A replayer replays a recorded schedule and keeps the outcome.
type replayer struct {
	path      string
	recording *recording.Recording
	scenario  *scenarios.Scenario

	runs        int // runs with equal trace hashes
	interrupted bool
	skipped     []engine.Deviation     // not enabled in the last run
	unreached   []engine.Deviation     // not reached in the last run
	often       recording.Reproduction // if two runs differed
	last        *engine.Result         // nil if two runs differed, and none was kept
	explained   *explain.Report        // of the last run
}

// newReplayer reads the recording at the path.
func newReplayer(path string) (*replayer, error) {
	recorded, err := recording.Read(path)
	if err != nil {
		return nil, err
	}
	subject, err := bundled.Named(recorded.Lock)
	if err != nil {
		return nil, &notBundled{path, recorded, err}
	}
	scenario, err := recorded.Scenario(subject)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if scenario.Client == scenarios.Real && real.RaceDetector {
		return nil, errRealUnderRace
	}
	return &replayer{path: path, recording: recorded, scenario: scenario}, nil
}

// runReplay replays a schedule and reports the outcome. As check does, it writes the JSON report
// before it prints any text.
func runReplay(ctx context.Context, t *testing.T, path string, f *replayFlags, stdout,
	stderr io.Writer,
) error {
	r, err := newReplayer(path)
	if f.json != "" && f.json != "-" && isPartOf(f.json, path) {
		return fmt.Errorf("--json: %s is part of the counterexample", f.json)
	}
	own := (*notBundled)(nil)
	switch {
	case errors.As(err, &own):
		return own.replay(ctx, f, stdout, stderr)
	case err != nil:
		return err
	case f.run:
		return fmt.Errorf("--run: %s is a schedule of the bundled lock %s, which needs no test",
			path, r.recording.Lock)
	}
	defer ignorePipe()()
	text, reportOut, err := file.OpenJSON(f.json, stdout, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(text, "replaying %v, %s from the default policy\n", r.scenario,
		counted(len(r.recording.Deviations), "deviation"))
	outcome := r.run(ctx, engine.NewRunner(t), f.times)
	r.estimate(ctx, engine.NewRunner(t))
	err = reportOut.Write(func(w io.Writer) error { return file.EncodeJSON(w, r.report(outcome)) })
	if shown := r.explain(text, f.full); unwritable(shown) {
		return exit.With(exit.Internal, shown)
	}
	if err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the report: %w", err))
	}
	return outcome
}

// isPartOf reports whether the file of a name is the one at the path, or in the directory there.
func isPartOf(name, path string) bool {
	named, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, part := range []string{name, filepath.Dir(name)} {
		if info, err := os.Stat(part); err == nil && os.SameFile(info, named) {
			return true
		}
	}
	return false
}

// run runs the schedule the given number of times, and once more to keep the result. It returns the
// error with which the program ends, nil for status 0.
func (r *replayer) run(ctx context.Context, runner *engine.Runner, times int) error {
	strategy := &engine.Replay{Deviations: r.recording.Deviations}
	hash := runner.Run(r.scenario, strategy).TraceHash
	for r.runs = 1; r.runs < times; r.runs++ {
		if r.interrupted = ctx.Err() != nil; r.interrupted {
			break
		}
		if runner.Run(r.scenario, strategy).TraceHash != hash {
			return r.runUnstable(runner, strategy)
		}
	}
	r.keep(runner, strategy)
	if len(r.last.Violations) > 0 {
		return exit.With(exit.Violation, nil)
	}
	return nil
}

// keep runs the schedule once more, and keeps the result.
func (r *replayer) keep(runner *engine.Runner, strategy *engine.Replay) {
	runner.GatherFacts(true)
	r.last = runner.Run(r.scenario, strategy)
	r.skipped, r.unreached = strategy.Skipped, strategy.Unreached()
	r.last.Lead(r.scenario, r.recording.Signature)
	r.explained = r.last.Explain(r.scenario)
}

// runUnstable runs a schedule whose runs differ several times, and keeps a run with the recorded
// violation.
func (r *replayer) runUnstable(runner *engine.Runner, strategy *engine.Replay) error {
	r.often = recording.Reproduce(runner, r.scenario, strategy.Deviations, r.recording.Signature)
	for n := 0; r.often.Failures > 0 && n < recording.ReproductionRuns; n++ {
		if r.keep(runner, strategy); reproduces(r.last, r.recording) &&
			len(r.last.Violations) > 0 {
			return exit.With(exit.Violation, nil)
		}
	}
	r.last = nil
	return exit.With(exit.Internal, fmt.Errorf("nondeterminism: two runs of the schedule "+
		"differ; the violation %v", r.often))
}

// estimate estimates the likelihood of the first violation. The runner must be another one than
// that of the last run.
func (r *replayer) estimate(ctx context.Context, runner *engine.Runner) {
	if r.last != nil && len(r.last.Violations) > 0 {
		r.explained.Likelihood = likelihood.Of(ctx, runner, r.scenario, r.last.Deviations,
			r.last.Violations[0].Signature())
	}
}

// explain prints the last run of the schedule and compares it with the recorded one.
func (r *replayer) explain(w io.Writer, full bool) error {
	if r.interrupted {
		fmt.Fprintf(w, "interrupted after %s\n", counted(r.runs, "run"))
	}
	if r.last == nil {
		return nil
	}
	if r.often.Runs > 0 {
		fmt.Fprintf(w, "runs of this schedule differ: the violation %v\n", r.often)
	}
	for _, d := range r.skipped {
		fmt.Fprintf(w, "skipped: step %d, %v, is not enabled\n", d.Index, d.Step)
	}
	for _, d := range r.unreached {
		fmt.Fprintf(w, "skipped: step %d, %v, is not reached\n", d.Index, d.Step)
	}
	result, explained, hash := r.last, r.explained, engine.TraceHash(r.last.TraceHash)
	fitTerminal(explained, w)
	fmt.Fprint(w, recording.ListDeviations(result, result.Deviations))
	if len(result.Violations) == 0 {
		if full {
			if err := explained.Timeline.Write(w); err != nil {
				return err
			}
		}
		if r.recording.Violates() {
			fmt.Fprintf(w, "no violation; the recorded one no longer occurs: %s\ntrace hash %v, "+
				"recorded %v\n", r.recording.Signature, hash, r.recording.TraceHash)
		} else {
			fmt.Fprintf(w, "no violation\ntrace hash %v, %s\n", hash,
				comparison(result, r.recording))
		}
		return nil
	}
	for n := range explained.Whys {
		writeWhy(w, explained, n, r.scenario, result)
	}
	fmt.Fprintln(w)
	if err := writeTimeline(w, explained, full); err != nil {
		return err
	}
	explained.WriteLikelihood(w)
	fmt.Fprintf(w, "\ntrace hash %v, %s\n", hash, comparison(result, r.recording))
	return nil
}

// writeTimeline prints the whole timeline, or its decisive part.
func writeTimeline(w io.Writer, explained *explain.Report, full bool) error {
	if full {
		return explained.Timeline.Write(w)
	}
	return explained.Decisive(w)
}

// comparison compares a run with the recorded one, in words.
func comparison(now *engine.Result, then *recording.Recording) string {
	switch {
	case engine.TraceHash(now.TraceHash) == then.TraceHash:
		return "as recorded"
	case !then.Violates() && reproduces(now, then):
		return fmt.Sprintf("recorded %v: different run", then.TraceHash)
	case !then.Violates():
		return fmt.Sprintf("recorded %v without a violation", then.TraceHash)
	case reproduces(now, then):
		return fmt.Sprintf("recorded %v: same violation, different run", then.TraceHash)
	}
	return fmt.Sprintf("recorded %v for %s: different violation", then.TraceHash, then.Signature)
}

// reproduces reports whether the recorded violation occurs in a run or, if none is recorded,
// whether the run violates nothing.
func reproduces(now *engine.Result, then *recording.Recording) bool {
	if !then.Violates() {
		return len(now.Violations) == 0
	}
	return slices.ContainsFunc(now.Violations,
		func(v *history.Violation) bool { return v.Signature() == then.Signature })
}

// A replayReport is the JSON report of replay. Readers should ignore unknown fields.
type replayReport struct {
	Version int    `json:"version"`
	Status  int    `json:"status"`          // the exit status
	Error   string `json:"error,omitempty"` // the error message of the program
	Path    string `json:"path"`
	Lock    string `json:"lock"`
	scenarios.Dimensions
	Client      string             `json:"client"` // also the default
	Seed        uint64             `json:"seed"`
	Schedule    int                `json:"schedule"`
	Recorded    recordedReport     `json:"recorded"`
	Runs        int                `json:"runs"` // 0 if only the recording was shown
	Interrupted bool               `json:"interrupted"`
	Reproduced  bool               `json:"reproduced"` // see reproduces
	SameTrace   bool               `json:"same_trace"` // the trace hash is the recorded one
	Steps       int                `json:"steps"`
	TraceHash   engine.TraceHash   `json:"trace_hash,omitzero"`
	Skipped     []engine.Deviation `json:"skipped"` // not enabled, or not reached
	Violations  []replayViolation  `json:"violations"`
}

// A recordedReport is the outcome of the schedule when it was recorded.
type recordedReport struct {
	Property  string           `json:"property"`
	Signature string           `json:"signature"`
	TraceHash engine.TraceHash `json:"trace_hash"`
}

type replayViolation struct {
	Property      history.Property `json:"property"`
	Signature     string           `json:"signature"`
	Detail        string           `json:"detail"`
	Evidence      history.Evidence `json:"evidence,omitzero"`
	Why           string           `json:"why"` // in words
	Event         int              `json:"event"`
	OutOfContract bool             `json:"out_of_contract"`

	Likelihood *explain.Likelihood `json:"likelihood,omitempty"` // of the first violation
}

// report returns the report of the replay. The outcome is the error with which the program ends.
func (r *replayer) report(outcome error) *replayReport {
	was, s := r.recording, r.scenario
	out := &replayReport{
		Version: 2, Path: r.path, Lock: was.Lock, Dimensions: s.Dimensions(),
		Client: s.Client.String(),
		Seed:   was.Seed, Schedule: was.Schedule,
		Recorded: recordedReport{was.Property, was.Signature, was.TraceHash},
		Runs:     r.runs, Interrupted: r.interrupted,
		Skipped:    append(append([]engine.Deviation{}, r.skipped...), r.unreached...),
		Violations: []replayViolation{},
	}
	out.Servers, out.Severity = s.EffectiveServers(), s.EffectiveSeverity()
	out.Status, out.Error = exitStatus(outcome)
	result := r.last
	if result != nil {
		out.Steps, out.TraceHash = result.Steps, engine.TraceHash(result.TraceHash)
		out.SameTrace, out.Reproduced = out.TraceHash == was.TraceHash, reproduces(result, was)
	}
	if r.explained == nil {
		return out
	}
	for n, why := range r.explained.Whys {
		v := why.Violation
		out.Violations = append(out.Violations, replayViolation{
			Property: v.Property, Signature: v.Signature(), Detail: v.Detail, Why: why.Text,
			Event: v.Event, Evidence: v.Evidence,
			OutOfContract: result != nil && result.OutOfContract(s, v),
		})
		if n == 0 {
			out.Violations[0].Likelihood = r.explained.Likelihood
		}
	}
	return out
}
