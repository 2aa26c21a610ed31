package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// The bounds of a check whose flags give none.
const (
	defaultSchedules = 100_000
	defaultBudget    = 30 * time.Second
	workersMax       = 256
	bitstateMax      = 1 << 20 // MiB
)

// checkFlags holds the flags of check as they were given.
type checkFlags struct {
	lock, client, strategy, faults, seed string
	clients, cycles, threads, servers    int
	schedules, states, workers           int
	idleTicks, maxDeviations, bitstate   int
	symmetry, fairSuffixes, keepGoing    bool
	scheduler                            bool
	budget                               time.Duration
	checkpoint, shard, requireCoverage   string
	part                                 report.Shard // of an exhaustive search
	severity                             faults.Severity
	queueFlags
	reportFlags
}

func newCheck(t *testing.T) *cobra.Command {
	var f checkFlags
	command := &cobra.Command{
		Use:   "check",
		Short: "Search the schedules of a bundled lock for a violation",
		Long: fmt.Sprintf(`Check runs a bundled lock under many schedules and checks every property
that it claims; for a lock of your own see interlock test and
docs/tutorial.md. A schedule decides the order of messages, when servers
apply transactions, the passing of time and the faults. Check ends at the
first violation and shrinks its schedule to a minimal counterexample. With
--keep-going it runs to its limits and shrinks a schedule of each distinct
failure: of each signature and each cause.

The schedules are shared among configurations with different numbers of
clients, cycles and servers and different faults. --clients, --cycles,
--servers and --faults each fix what they name.

Without --schedules and --budget it ends after %d schedules or %v,
whichever comes first. See interlock help strategies for --strategy and the
flags of an exhaustive search, and interlock help faults for --faults.

With --shard I/N it runs one of N parts of the schedules, for example on one of
N machines; interlock merge makes the report of all from those of the parts.
With --nats URL it hands the schedules out to interlock worker, through a NATS
server with JetStream, and reports what the workers found.

Exit status:
  0  nothing found
  1  a violation, a sometimes condition never reached, required fault coverage
     missing, or nothing found by chance in a lock that is known to be broken
  2  bad usage
  3  nondeterminism, an unknown verdict, no schedule run, a failed write or an
     internal error
  4  a signal ended it before it found anything
  5  the server of --nats cannot be reached`, defaultSchedules, defaultBudget),
		Example: `  interlock check
  interlock check --lock no-recheck
  interlock check --clients 4 --faults expire=1,cut=2 --seed 7 --json report.json`,
		Args: func(cmd *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				if err := notOwn(arguments[0]); err != nil {
					return err
				}
			}
			return cobra.NoArgs(cmd, arguments)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.lock == allLocks {
				return f.checkAll(cmd.Context(), t, subjects.Correct(), cmd.Flags().Changed,
					cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			c, err := f.campaign(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("nats") {
				return f.checkByQueue(cmd.Context(), t, c, cmd.OutOrStdout(),
					cmd.ErrOrStderr())
			}
			if f.scheduler {
				if ran, err := withScheduler(cmd, nil); ran {
					return err
				}
			}
			return runCheck(cmd.Context(), t, c, &f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.defineFlags(command)
	return command
}

// defineFlags defines the flags of check. The help of a flag has at most ten words; the help topics
// have the rest.
func (f *checkFlags) defineFlags(command *cobra.Command) {
	flags, severity := command.Flags(), faults.DefaultSeverity()
	flags.StringVar(&f.lock, "lock", "mutex", "lock (see interlock locks), or all correct ones")
	flags.IntVar(&f.clients, "clients", 3, "processes that contend for the lock")
	flags.IntVar(&f.cycles, "cycles", 2, "acquisitions per process")
	flags.IntVar(&f.threads, "threads", 1, "threads of a process that share its handle")
	flags.IntVar(&f.servers, "servers", 1,
		fmt.Sprintf("servers of the ensemble, at most %d", sim.ServersMax))
	flags.StringVar(&f.client, "client", "model",
		"ZooKeeper client: model, or real (go-zookeeper/zk; ten times slower)")
	flags.StringVar(&f.strategy, "strategy", strategy.PortfolioName,
		"search strategy (see interlock help strategies)")
	flags.BoolVar(&f.symmetry, "symmetry", false,
		"exhaustive: treat processes that sent only syncs as interchangeable")
	flags.BoolVar(&f.fairSuffixes, "fair-suffixes", false,
		"exhaustive: check liveness from every state")
	flags.StringVar(&f.checkpoint, "checkpoint", "",
		"exhaustive: `file` to resume from and to save progress to")
	flags.IntVar(&f.bitstate, "bitstate", 0,
		"exhaustive: `MiB` for states, of which it may omit some")
	flags.IntVar(&f.idleTicks, "idle-ticks", 0,
		"exhaustive: time steps that nothing waits for; Redis, SQL: 1")
	flags.IntVar(&f.maxDeviations, "max-deviations", 0,
		"exhaustive: most deviations from the default policy, 0 for unlimited")
	flags.IntVar(&f.schedules, "schedules", defaultSchedules, "maximum number of schedules")
	flags.DurationVar(&f.budget, "budget", defaultBudget, "maximum running time")
	flags.IntVar(&f.states, "states", 0, "maximum number of distinct states, 0 for unlimited")
	flags.StringVar(&f.faults, "faults", "default", "fault plan (see interlock help faults)")
	flags.DurationVar(&f.severity.Pause, "max-pause", severity.Pause, "longest pause of a process")
	flags.IntVar(&f.severity.Drift, "clock-drift", severity.Drift,
		"drift of faulty clocks in percent")
	flags.DurationVar(&f.severity.Latency, "link-latency", 0,
		fmt.Sprintf("latency of slow links (default %v)", faults.DefaultLatency))
	flags.BoolVar(&f.keepGoing, "keep-going", false,
		keepGoingUsage)
	flags.StringVar(&f.requireCoverage, "require-coverage", "",
		"`cells` where faults must strike: all, kinds or kind@phase")
	flags.StringVar(&f.seed, "seed", "1", "random seed: a number, or random")
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0),
		"parallel workers; 1 with the real client")
	flags.BoolVar(&f.scheduler, schedulerFlag, false, schedulerUsage)
	flags.StringVar(&f.shard, "shard", "",
		"run part `I/N` of the schedules, from 0/N to (N-1)/N")
	f.natsFlags.define(flags)
	flags.IntVar(&f.rangeSchedules, "range-schedules", 2000,
		"nats: schedules that a worker takes at a time")
	flags.DurationVar(&f.ackWait, "ack-wait", 30*time.Second,
		"nats: silence after which a worker's range goes to another")
	flags.BoolVar(&f.discardQueue, "discard-queue", false,
		"nats: first discard the queue's plan and results")
	f.reportFlags.define(command)
	showConfigurations(flags)
}

// configurations returns the configurations that the flags describe, or an error that names a wrong
// flag. It leaves out default configurations that the lock or the flags do not fit; if none is
// left, it returns the error of the first.
func (f *checkFlags) configurations(given func(string) bool) ([]campaign.Configuration, error) {
	named, err := scenarioNamed(f.lock, f.faults, f.client, given)
	if err != nil {
		return nil, err
	}
	if err := f.validateNumbers(given); err != nil {
		return nil, err
	}
	var fitting []campaign.Configuration
	var wrong error
	for _, c := range f.rows(named.Faults, given) {
		c.Subject, c.Client = named.Subject, named.Client
		if given("max-pause") || given("clock-drift") || given("link-latency") || !c.Expires() {
			c.Severity = f.severity
		}
		c.Threads = f.threads
		if !given("servers") {
			c.Servers = max(c.Servers, c.Subject.Servers)
		}
		err := inFlags(c.Validate())
		switch {
		case err == nil:
			c.Scenario = c.Resolved()
			fitting = append(fitting, c)
		case wrong == nil:
			wrong = err
		}
	}
	if len(fitting) == 0 {
		return nil, wrong
	}
	return distinctConfigurations(fitting), nil
}

// scenarioNamed returns a scenario with the lock, the faults and the client that flags name, or an
// error that names a wrong flag.
func scenarioNamed(lock, plan, client string, given func(string) bool) (
	s scenarios.Scenario, err error,
) {
	if s.Subject, err = bundled.Named(lock); err != nil {
		return s, fmt.Errorf("--lock: %w", cmp.Or(notOwn(lock),
			fmt.Errorf("%w (interlock test runs a lock of your own)", err)))
	}
	if s.Faults, err = faults.Parse(plan); err != nil {
		return s, fmt.Errorf("--faults: %w", err)
	}
	if s.Client, err = scenarios.ParseClientKind(client); err != nil {
		return s, fmt.Errorf("--client: %w", err)
	}
	if s.Subject.Real && !given("client") {
		s.Client = scenarios.Real
	}
	return s, nil
}

// notOwn returns an error that names interlock test if a lock is the name of a directory.
func notOwn(lock string) error {
	if info, err := os.Stat(lock); err != nil || !info.IsDir() {
		return nil
	}
	return fmt.Errorf("%[1]s is a directory and no bundled lock: interlock test %[1]s runs the "+
		"tests of a lock of your own", shellQuote(lock))
}

// campaign returns the campaign that the flags describe, or an error that names a wrong flag.
func (f *checkFlags) campaign(given func(string) bool) (*campaign.Campaign, error) {
	if (given("shard") || given("nats")) && !given("strategy") {
		f.strategy = strategy.RoundRobinName
	}
	configurations, err := f.configurations(given)
	if err != nil {
		return nil, err
	}
	seed, err := strategy.ParseSeed(f.seed)
	if err != nil {
		return nil, fmt.Errorf("--seed: %w", err)
	}
	if err := f.validateStrategy(); err != nil {
		return nil, err
	}
	c := &campaign.Campaign{
		Scenario: configurations[0].Scenario, Seed: seed, Schedules: f.schedules,
		Budget: f.budget, States: f.states,
		Workers: f.workers, Strategy: f.strategy, KeepGoing: f.keepGoing,
	}
	if len(configurations) > 1 {
		c.Configurations = configurations
	}
	if f.strategy == strategy.ExhaustiveName {
		if err := f.validateExhaustive(c); err != nil {
			return nil, err
		}
		if !given("idle-ticks") && f.maxDeviations == 0 {
			f.idleTicks = exhaustive.DefaultIdleTicks(&c.Scenario)
		}
	}
	f.dropUnsetBounds(c, given)
	if err := f.limitWorkers(c, given); err != nil {
		return nil, err
	}
	if given("shard") {
		if err := f.setShard(c, given); err != nil {
			return nil, err
		}
	}
	if err := f.validateQueue(c.Scenario.Client, given); err != nil {
		return nil, err
	}
	if given("require-coverage") {
		if c.RequiredCoverage, err = faults.ParseCoverageCells(f.requireCoverage,
			c.FaultKinds()); err != nil {
			return nil, fmt.Errorf("--require-coverage: %w", err)
		}
	}
	return c, nil
}

// dropUnsetBounds drops the default budget if only --schedules is given, and the other way round.
// An exhaustive search has neither default. A bound by states drops nothing, because a search may
// never reach it.
func (f *checkFlags) dropUnsetBounds(c *campaign.Campaign, given func(string) bool) {
	bounded := given("schedules") || given("budget") || f.strategy == strategy.ExhaustiveName
	if bounded && !given("budget") {
		c.Budget = 0
	}
	if bounded && !given("schedules") {
		c.Schedules = 0
	}
}

func (f *checkFlags) validateNumbers(given func(string) bool) error {
	switch {
	case f.clients < 1 || f.clients > sim.ClientsMax:
		return fmt.Errorf("--clients must be from 1 to %d, not %d", sim.ClientsMax, f.clients)
	case f.threads < 1 || f.threads > history.ThreadsMax:
		return fmt.Errorf("--threads must be from 1 to %d, not %d", history.ThreadsMax, f.threads)
	case f.cycles < 1 || f.cycles > scenarios.CyclesMax:
		return fmt.Errorf("--cycles must be from 1 to %d, not %d", scenarios.CyclesMax, f.cycles)
	case f.servers < 1 || f.servers > sim.ServersMax:
		return fmt.Errorf("--servers must be from 1 to %d, not %d", sim.ServersMax, f.servers)
	case f.schedules < 1:
		return fmt.Errorf("--schedules must be at least 1, not %d", f.schedules)
	case f.budget <= 0:
		return fmt.Errorf("--budget must be positive, not %v", f.budget)
	case f.states < 0 || f.states > report.StatesMax &&
		f.strategy != strategy.ExhaustiveName:
		return fmt.Errorf("--states must be from 0 to %d, not %d; only --strategy exhaustive "+
			"allows more", report.StatesMax, f.states)
	case f.workers < 1 || f.workers > workersMax:
		return fmt.Errorf("--workers must be from 1 to %d, not %d", workersMax, f.workers)
	case f.severity.Validate() != nil:
		return fmt.Errorf("--max-pause, --clock-drift, --link-latency: %w", f.severity.Validate())
	case f.idleTicks < 0:
		return fmt.Errorf("--idle-ticks must be at least 0, not %d", f.idleTicks)
	case f.maxDeviations < 0:
		return fmt.Errorf("--max-deviations must be at least 0, not %d", f.maxDeviations)
	case f.bitstate < 0 || f.bitstate > bitstateMax:
		return fmt.Errorf("--bitstate must be from 0 to %d, not %d", bitstateMax, f.bitstate)
	case f.bitstate > 0 && (f.maxDeviations > 0 || f.checkpoint != ""):
		return errors.New("--bitstate cannot be combined with --max-deviations or --checkpoint")
	case f.maxDeviations > 0 && (f.idleTicks > 0 || f.checkpoint != ""):
		return errors.New("--max-deviations cannot be combined with --idle-ticks or --checkpoint")
	case f.symmetry && (f.maxDeviations > 0 || f.fairSuffixes):
		return errors.New("--symmetry cannot be combined with --max-deviations or " +
			"--fair-suffixes: the default policy goes by the numbers of processes")
	}
	return f.reportFlags.validate(given)
}

// validateStrategy returns an error if the strategy is unknown, or a flag needs another one.
func (f *checkFlags) validateStrategy() error {
	if f.strategy == strategy.ExhaustiveName {
		return nil
	}
	if f.symmetry || f.fairSuffixes || f.idleTicks > 0 || f.checkpoint != "" ||
		f.maxDeviations > 0 || f.bitstate > 0 {
		return errors.New("--symmetry, --fair-suffixes, --bitstate, --idle-ticks, " +
			"--max-deviations and --checkpoint require --strategy exhaustive")
	}
	if _, err := strategy.Parse(f.strategy); err != nil {
		return fmt.Errorf("--strategy: %w", unknown.Name("strategy", f.strategy,
			append(strategy.Names(), strategy.ExhaustiveName)))
	}
	return nil
}

// validateExhaustive returns an error if an exhaustive search does not support the scenario.
func (f *checkFlags) validateExhaustive(c *campaign.Campaign) error {
	if c.Scenario.Client != scenarios.Model {
		return errors.New("--strategy exhaustive requires --client model: the state of the real " +
			"client cannot be observed")
	}
	if c.Scenario.EffectiveServers() > 1 && f.symmetry {
		return errors.New("--symmetry requires --servers 1: processes that are connected to " +
			"different servers are not interchangeable")
	}
	return exhaustive.Unsupported(&c.Scenario)
}

// limitWorkers sets the number of workers to one if the campaign supports no more. It returns an
// error if the command line asks for more.
func (f *checkFlags) limitWorkers(c *campaign.Campaign, given func(string) bool) error {
	isReal, alone := c.Scenario.Client == scenarios.Real,
		f.strategy == strategy.ExhaustiveName && !f.exhaustive(c).Shares()
	switch {
	case !isReal && !alone:
		return nil
	case isReal && real.RaceDetector:
		return errRealUnderRace
	case given("workers") && f.workers > 1 && isReal:
		return fmt.Errorf("--workers must be 1, not %d, with the real client: it is "+
			"deterministic on one processor only", f.workers)
	case given("workers") && f.workers > 1:
		return fmt.Errorf("--workers must be 1, not %d, for an exhaustive search with "+
			"--schedules, --states, --max-deviations, --checkpoint or --keep-going, or with "+
			"scheduled goroutines", f.workers)
	}
	c.Workers = 1
	return nil
}

// errRealUnderRace refuses the real client in a program built with the race detector, which
// shuffles the client's goroutines.
var errRealUnderRace = errors.New("the real client is nondeterministic under the race detector: " +
	"build interlock without -race")

// search returns the search that the flags describe. If there is a checkpoint, it is read, and an
// unsuitable one is an error.
func (f *checkFlags) search(t *testing.T, c *campaign.Campaign) (*judge.Search, error) {
	s := &judge.Search{Campaign: c}
	if f.strategy != strategy.ExhaustiveName {
		return s, nil
	}
	s.Exhaustive = f.exhaustive(c)
	if f.checkpoint != "" {
		if err := s.Exhaustive.Resume(t); err != nil {
			return nil, fmt.Errorf("--checkpoint: %w", err)
		}
	}
	return s, nil
}

// exhaustive returns the exhaustive search that the flags describe.
func (f *checkFlags) exhaustive(c *campaign.Campaign) *exhaustive.Search {
	return &exhaustive.Search{
		Scenario: c.Scenario, Symmetry: f.symmetry, FairSuffixes: f.fairSuffixes,
		IdleTicks:     f.idleTicks,
		MaxDeviations: f.maxDeviations, Schedules: c.Schedules,
		Budget: c.Budget, States: c.States, MemoryLimit: exhaustive.DefaultMemoryLimit(),
		Checkpoint: f.checkpoint, KeepGoing: f.keepGoing, Workers: c.Workers,
		Bitstate: f.bitstate << 20, Shard: f.part,
	}
}

// runCheck runs the campaign and reports it.
func runCheck(ctx context.Context, t *testing.T, c *campaign.Campaign, f *checkFlags,
	stdout, stderr io.Writer,
) error {
	defer ignorePipe()()
	search, err := f.search(t, c)
	if err != nil {
		return err
	}
	o, err := f.openOutputs(stdout, stderr)
	if err != nil {
		return err
	}
	kind := f.describeShard(c)
	if scheduler.Enabled {
		kind += ", goroutines scheduled"
	}
	if _, err := fmt.Fprintf(o.text, "checking %v, seed %d%s\n", c, c.Seed,
		kind); unwritable(err) {
		return exit.With(exit.Internal, err)
	}
	o.progress.Begin(c, "")
	found := search.Run(ctx, t, o.progress)
	record, err := f.newRecord(c, found)
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	return o.present(ctx, t, c, found, record)
}

// present shrinks what a search has found and reports it, with the record of a shard if there is
// one. It returns the error with which the program ends. It writes the counterexamples and the
// report files before it prints any text, because printing can fail: the reader may have closed the
// pipe, or the disk may be full.
func (o *outputs) present(ctx context.Context, t *testing.T, c *campaign.Campaign,
	found report.Report, shard any,
) error {
	o.sayFound(found)
	r := conclude(ctx, t, c, found, o.out, o.progress)
	err := errors.Join(
		o.json.Write(func(w io.Writer) error {
			out := r.json()
			out.Shard = shard
			return file.EncodeJSON(w, out)
		}),
		o.junit.Write(func(w io.Writer) error { return encodeJUnit(w, r.junit()) }),
		o.sarif.Write(func(w io.Writer) error { return file.EncodeJSON(w, r.sarif()) }),
	)
	r.write(o.text)
	r.writeFindings(o.text)
	if err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the report: %w", err))
	}
	return r.outcome
}

// sayFound says what follows the search.
func (o *outputs) sayFound(found report.Report) {
	o.progress.Clear()
	r := found.Common()
	if e, ok := found.(*report.Exhaustive); ok && e.Unsaved != nil && e.Complete {
		fmt.Fprintf(o.warnings, "--checkpoint: %v\n", e.Unsaved)
		return
	}
	switch {
	case len(r.Distinct) > 0:
		o.progress.Say("%s found, shrinking the schedules (Ctrl-C stops early)",
			counted(len(r.Distinct), "different violation"))
	case r.Failure != nil:
		o.progress.Say("violation found, shrinking its schedule (Ctrl-C stops early)")
	case r.OutOfContract != nil:
		o.progress.Say("out-of-contract violation found, shrinking its schedule (Ctrl-C stops " +
			"early)")
	}
}
