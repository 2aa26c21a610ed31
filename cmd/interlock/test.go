package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/internal/run/gobuild"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// testFlags are the flags of the command test.
type testFlags struct {
	reportFlags

	run       string
	glue      []string
	schedules int
	seed      string
	faults    string
	claims    string
	strategy  string
	keepGoing bool
	replay    string
	step      bool
	tags      string
	timeout   time.Duration
	verbose   bool
	interlock string
	scheduler bool
}

func newTest() *cobra.Command {
	var f testFlags
	command := &cobra.Command{
		Use:   "test [DIR | DIR/...]",
		Short: "Test a lock in a module of your own, unchanged",
		Long: `Test runs go test on the package in DIR, by default the current directory.
Tests there call interlock.Check; those with Client: scenarios.Dialed run code
that opens its own client at Process.Address, of go-zookeeper/zk or of its
forks samuel/go-zookeeper and z-division/go-zookeeper.

Nothing in the module changes: the go command gets a copy of go.mod that
requires Interlock, and a copy of the module's version of the client library in
which a few lines lead to the simulated servers. Vendored packages are not
used. --glue adds test files to the package from elsewhere. The flags of the
search have the same meaning as for interlock check.

A test that fails leaves a counterexample below --out, and prints the command
that replays it. --junit has a suite for each search, --sarif a result for each
violation at its line of the lock's code. With -v, the faults that struck and
the smallest margins follow the tests.

Exit status:
  0  nothing found
  1  a violation, or a test failed
  2  bad usage, or the package does not build
  3  nondeterminism, an unknown verdict, a failed write or an internal error
  130  a signal ended it`,
		Example: `  interlock test ./lease -run TestLease
  interlock test ./lease --glue /tmp/lease_interlock_test.go --faults expire=1`,
		// Flags of go test have one dash. The command accepts its own so, too.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			flags := cmd.Flags()
			if err := flags.Parse(twoDashes(flags, arguments)); err != nil {
				return cmd.FlagErrorFunc()(cmd, err)
			}
			if help, _ := flags.GetBool("help"); help {
				return cmd.Help()
			}
			if flags.NArg() > 1 {
				return fmt.Errorf("test takes one directory, not %q", flags.Args())
			}
			if err := f.reportFlags.validate(flags.Changed); err != nil {
				return err
			}
			directory := append(flags.Args(), ".")[0]
			if _, err := os.Stat(directory); err != nil && strings.HasPrefix(directory, "Test") {
				return fmt.Errorf("%w: did you mean --run %s?", err, directory)
			}
			return f.runTest(cmd.Context(), directory, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.define(command.Flags())
	f.reportFlags.define(command)
	return command
}

// buildFlags are the flags of [testFlags.defineBuild].
var buildFlags = []string{"run", "glue", schedulerFlag, "claims", "tags", "interlock"}

const keepGoingUsage = "gather a failure of each signature and cause"

// defineBuild defines the flags that say which tests are built, and how.
func (f *testFlags) defineBuild(flags *pflag.FlagSet) {
	flags.StringVar(&f.run, "run", "", "run only tests that match the `regexp`")
	flags.StringArrayVar(&f.glue, "glue", nil, "test `file` to add to the package; may be repeated")
	flags.BoolVar(&f.scheduler, schedulerFlag, false, "decide the order of goroutines too")
	flags.StringVar(&f.claims, "claims", "", "properties to judge instead of the locks' claims")
	flags.StringVar(&f.tags, "tags", "", "build tags of the package, separated by commas")
	flags.StringVar(&f.interlock, "interlock", "",
		"`directory` of Interlock's source (default: this version)")
}

// define defines the flags.
func (f *testFlags) define(flags *pflag.FlagSet) {
	f.defineBuild(flags)
	flags.IntVar(&f.schedules, "schedules", 2000, "schedules of each test")
	flags.StringVar(&f.seed, "seed", "", "a number, or random (default: from the test's name)")
	flags.StringVar(&f.faults, "faults", "", "fault plan, instead of that of the scenarios")
	flags.StringVar(&f.strategy, "strategy", "",
		"search strategy (see interlock help strategies)")
	flags.BoolVar(&f.keepGoing, "keep-going", false,
		keepGoingUsage)
	flags.StringVar(&f.replay, "replay", "", "only replay the counterexample in `DIR`")
	flags.BoolVar(&f.step, "step", false, "with --replay, go through the schedule step by step")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "time limit of a package's tests")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print what passing tests have run")
}

// twoDashes returns the arguments with two dashes before each long flag that has one.
func twoDashes(flags *pflag.FlagSet, arguments []string) []string {
	long := slices.Clone(arguments)
	for i, argument := range arguments {
		name, _, _ := strings.Cut(strings.TrimPrefix(argument, "-"), "=")
		if argument == "--" {
			break
		}
		if strings.HasPrefix(argument, "-") && len(name) > 1 && flags.Lookup(name) != nil {
			long[i] = "-" + argument
		}
	}
	return long
}

// validate returns an error that names a wrong flag.
func (f *testFlags) validate() error {
	if f.schedules < 1 {
		return fmt.Errorf("--schedules must be at least 1, not %d", f.schedules)
	}
	if f.faults != "" {
		if _, err := faults.Parse(f.faults); err != nil {
			return fmt.Errorf("--faults: %w", err)
		}
	}
	if f.claims != "" {
		if _, err := check.ParseProperties(f.claims); err != nil {
			return fmt.Errorf("--claims: %w", err)
		}
	}
	if f.seed != "" {
		if _, err := strategy.ParseSeed(f.seed); err != nil {
			return fmt.Errorf("--seed: %w", err)
		}
	}
	if f.strategy != "" && f.strategy != strategy.ExhaustiveName {
		if _, err := strategy.Parse(f.strategy); err != nil {
			return fmt.Errorf("--strategy: %w", unknown.Name("strategy", f.strategy,
				append(strategy.Names(), strategy.ExhaustiveName)))
		}
	}
	switch {
	case f.step && f.replay == "":
		return errors.New("--step needs --replay")
	case f.step && f.json+f.junit+f.sarif != "":
		return errors.New("--step cannot be combined with --json, --junit or --sarif")
	}
	if f.replay != "" {
		if _, err := recording.Read(f.replay); err != nil {
			return fmt.Errorf("--replay: %w", err)
		}
	}
	return nil
}

// runTest runs the tests and reports their outcome.
func (f *testFlags) runTest(ctx context.Context, pattern string, stdout, stderr io.Writer) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.step {
		return stepThrough(ctx, func() (*explored, error) {
			return f.exploreBuilt(ctx, pattern, stderr)
		})
	}
	o, err := f.openOutputs(stdout, stderr)
	if err != nil {
		return err
	}
	output := watch(o, pattern)
	outcome, ended := f.perform(ctx, pattern, output, o.warnings)
	output.end()
	if ctx.Err() != nil {
		ended = exit.With(exit.Interrupted, errors.New("interrupted"))
	}
	outcome.Status, outcome.Error = exitStatus(ended)
	if err := outcome.write(o, pattern); err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the report: %w", err))
	}
	for _, text := range outcome.dropped {
		fmt.Fprintln(o.text, text)
	}
	if f.verbose {
		outcome.writeCoverage(o.text)
	} else {
		outcome.writeSearched(o.text)
	}
	return ended
}

// perform builds the tests and runs them. It returns the error with which the program ends.
func (f *testFlags) perform(ctx context.Context, pattern string, output, warnings io.Writer) (
	*testOutcome, error,
) {
	outcome := &testOutcome{Version: 1, Checks: []recording.Verdict{}}
	build, err := f.build(ctx, pattern, warnings)
	if err != nil {
		return outcome, err
	}
	defer build.Close()
	verdicts, err := os.CreateTemp("", "interlock-verdicts-")
	if err != nil {
		return outcome, exit.With(exit.Internal, err)
	}
	defer os.Remove(verdicts.Name())
	defer verdicts.Close()
	environment, err := f.environment(pattern, verdicts.Name())
	if err != nil {
		return outcome, exit.With(exit.Internal, err)
	}
	var printed bytes.Buffer
	command := build.Command(ctx)
	command.Env = append(command.Env, environment...)
	command.Stdout, command.Stderr = io.MultiWriter(output, &printed), warnings
	ended := command.Run()
	checks, err := recording.ReadVerdicts(verdicts)
	if err != nil {
		return outcome, exit.With(exit.Internal, err)
	}
	outcome.Checks = checks
	outcome.unexplained = outcome.failuresIn(printed.String())
	if ctx.Err() != nil {
		outcome.dropped = outcome.notIn(printed.String())
	}
	return outcome, outcome.status(ended, printed.String())
}

// build prepares the tests.
func (f *testFlags) build(ctx context.Context, pattern string, stderr io.Writer) (*gobuild.Build,
	error,
) {
	test := &gobuild.Test{
		Pattern: pattern, Glue: f.glue, Scheduler: f.scheduler, Tags: f.tags,
		Flags: []string{"-timeout=" + f.timeout.String()},
	}
	if f.run != "" {
		test.Flags = append(test.Flags, "-run="+f.run)
	}
	if f.verbose {
		test.Flags = append(test.Flags, "-v")
	}
	if f.interlock != "" {
		var err error
		if test.Interlock, err = filepath.Abs(f.interlock); err != nil {
			return nil, err
		}
		if _, err := os.Stat(filepath.Join(test.Interlock, "go.mod")); err != nil {
			return nil, fmt.Errorf("--interlock: %w", err)
		}
	}
	build, err := gobuild.Prepare(ctx, test)
	if errors.Is(err, gobuild.ErrNoSource) {
		return nil, fmt.Errorf("%w: name it by --interlock", err)
	}
	if err == nil && build.Unscheduled != nil {
		fmt.Fprintf(stderr, "%v; going on without\n", build.Unscheduled)
	}
	return build, err
}

// environment returns the variables that tell Check what the flags say.
func (f *testFlags) environment(pattern, verdicts string) ([]string, error) {
	out, err := filepath.Abs(f.out)
	if err != nil {
		return nil, err
	}
	set := []string{
		recording.OutVariable + "=" + out,
		recording.VerdictsVariable + "=" + verdicts,
		recording.CommandVariable + "=" + f.command(pattern),
		"INTERLOCK_SCHEDULES=" + strconv.Itoa(f.schedules),
		"INTERLOCK_SEED=" + f.seed, "INTERLOCK_STRATEGY=" + f.strategy,
		recording.FaultsVariable + "=" + f.faults, recording.ClaimsVariable + "=" + f.claims,
	}
	if f.keepGoing {
		set = append(set, "INTERLOCK_KEEP_GOING=1")
	}
	replay := f.replay
	if replay != "" {
		if replay, err = filepath.Abs(replay); err != nil {
			return nil, err
		}
	}
	return append(set, recording.ReplayVariable+"="+replay), nil
}

// command returns the command that runs the same tests again, without --run.
func (f *testFlags) command(pattern string) string {
	words := []string{invocation(), "test", shellQuote(pattern)}
	if strings.HasSuffix(pattern, "...") {
		words[2] = recording.PackageWord
	}
	for _, glue := range f.glue {
		words = append(words, "--glue", shellQuote(glue))
	}
	if f.claims != "" {
		words = append(words, "--claims", shellQuote(f.claims))
	}
	if f.tags != "" {
		words = append(words, "--tags", shellQuote(f.tags))
	}
	if f.scheduler {
		words = append(words, "--"+schedulerFlag)
	}
	if f.interlock != "" {
		words = append(words, "--interlock", shellQuote(f.interlock))
	}
	return strings.Join(words, " ")
}

// A testOutcome is the report of the command test.
type testOutcome struct {
	Version int                 `json:"version"`
	Status  int                 `json:"status"`          // the exit status
	Error   string              `json:"error,omitempty"` // the error message of the program
	Checks  []recording.Verdict `json:"checks"`

	unexplained []string // tests and packages that failed, unless a check says why
	dropped     []string // what checks have found and the interrupted go command has not printed
}

// has reports whether a call of Check had the outcome.
func (o *testOutcome) has(outcome string) bool {
	return slices.ContainsFunc(o.Checks,
		func(v recording.Verdict) bool { return v.Outcome == outcome })
}

// status returns the error with the status of the program, from how go test ended and from what it
// printed.
func (o *testOutcome) status(ended error, printed string) error {
	var failed *exec.ExitError
	switch {
	case ended == nil && len(o.Checks) > 0:
		return nil
	case ended == nil:
		return exit.With(exit.Internal,
			errors.New("no schedule run: each test is skipped, or does not call interlock.Check"))
	case !errors.As(ended, &failed):
		if errors.Is(ended, fs.ErrNotExist) || errors.Is(ended, exec.ErrNotFound) {
			return fmt.Errorf("the go command: %w", ended)
		}
		return exit.With(exit.Internal, ended)
	case o.has(recording.Violation):
		return exit.With(exit.Violation, nil)
	case o.has(recording.Refused):
		return exit.With(exit.Usage, errors.New("a test is refused, as its output says"))
	case o.has(recording.Unsound), strings.Contains(printed, "panic: interlock:"):
		return exit.With(exit.Internal, nil)
	case strings.Contains(printed, "[build failed]"), strings.Contains(printed, "[setup failed]"),
		printed == "":
		return exit.With(exit.Usage, errors.New("the package does not build"))
	}
	return exit.With(exit.Violation, nil)
}
