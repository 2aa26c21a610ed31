package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk"
)

// What a check does that is given no bounds.
const (
	defaultSchedules = 100_000
	defaultBudget    = 30 * time.Second
	workersMax       = 256
)

// checkFlags is the command line of check as it was given.
type checkFlags struct {
	lock, client, strategy, faults, seed string
	clients, cycles, servers             int
	schedules, states, workers           int
	idleTicks, maxDeviations             int
	symmetry, fairSuffixes               bool
	budget                               time.Duration
	json, out, checkpoint                string
	severity                             faults.Severity
	requireCoverage                      string
}

func newCheck(t *testing.T) *cobra.Command {
	var f checkFlags
	command := &cobra.Command{
		Use:   "check",
		Short: "Search the schedules of a lock for one that breaks a property",
		Long: "Check runs a lock under many schedules: who is served when, who hears of what " +
			"when, how " +
			"time passes, and\n" +
			"which faults strike. It checks every property that the lock claims, and ends at the " +
			"first " +
			"violation with a\n" +
			"shortened counterexample.\n\n" +
			"Unless --schedules or --budget is given it ends after " +
			strconv.Itoa(defaultSchedules) +
			" schedules or " +
			defaultBudget.String() + ", whichever comes first.\n\n" + strategyHelp + "\n" +
			faultsHelp() +
			"\nExit status: 0 nothing found, 1 a violation, a goal that was never reached, or " +
			"a\nrequired " +
			"place where no fault has landed, 2 bad usage, 3 nondeterminism, an unknown verdict, " +
			"something that\ncould not be written, or an internal error.",
		Example: "  interlock check\n  interlock check --lock no-recheck\n" +
			"  interlock check --clients 4 --faults expire=1,cut=2 --schedules 20000 --seed 7 " +
			"--json " +
			"report.json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			campaign, err := f.campaign(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return runCheck(cmd.Context(), t, campaign, &f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.lock, "lock", "mutex", "the lock to check; interlock locks lists them")
	flags.IntVar(&f.clients, "clients", 3, "how many processes contend")
	flags.IntVar(&f.cycles, "cycles", 2, "how often each process takes the lock")
	flags.IntVar(&f.servers, "servers", 1,
		"how many servers the ensemble has, up to 7; those that "+
			"do not lead apply what is agreed when the schedule says")
	flags.StringVar(&f.client, "client", "model", "the ZooKeeper client: model, or real for "+
		"go-zookeeper/zk itself, which takes ten times as long")
	flags.StringVar(&f.strategy, "strategy", scenarios.PortfolioStrategy,
		"how schedules are chosen: "+
			strings.Join(strategies(), ", "))
	flags.BoolVar(&f.symmetry, "symmetry", false,
		"of an exhaustive search: take processes to which "+
			"nothing has happened yet for alike")
	flags.BoolVar(&f.fairSuffixes, "fair-suffixes", false,
		"of an exhaustive search: in every state, try too that no faults strike from there on "+
			"and the "+
			"order is fair, "+
			"as what must happen in the end is judged from then on")
	flags.StringVar(&f.checkpoint, "checkpoint", "",
		"of an exhaustive search: go on from this file if it exists, as this same program has "+
			"written "+
			"it, and note in it how far the search is, "+
			"once a minute and when --budget, --schedules, --states or Ctrl-C ends it")
	flags.IntVar(&f.idleTicks, "idle-ticks", 0, "of an exhaustive search: how often time may pass "+
		"in a schedule where nothing waits for it")
	flags.IntVar(&f.maxDeviations, "max-deviations", 0,
		"of an exhaustive search: try only schedules that deviate from the default policy at "+
			"most so "+
			"often, "+
			"those with fewer deviations first; 0 for all schedules")
	flags.IntVar(&f.schedules, "schedules", defaultSchedules, "end after so many schedules")
	flags.DurationVar(&f.budget, "budget", defaultBudget, "end after so much time")
	flags.IntVar(&f.states, "states", 0, "end, if nothing else has before, once so many distinct "+
		"states have been counted, or stored in an exhaustive search, whose memory this bounds; "+
		"0 for "+
		"no such bound")
	flags.StringVar(&f.faults, "faults", "default",
		"what may go wrong in a schedule: none, default (any=2), or a list such as "+
			"expire=1,cut=2,kill-server:leader@hold=1")
	flags.DurationVar(&f.severity.Pause, "max-pause", faults.DefaultSeverity().Pause,
		"for how long a process is paused at most")
	flags.IntVar(&f.severity.Drift, "clock-drift", faults.DefaultSeverity().Drift,
		"by how many percent a clock goes too fast or too slowly")
	flags.StringVar(&f.requireCoverage, "require-coverage", "",
		"fail unless faults have landed in these `places`: a list of kinds, or of kind@phase, or "+
			"all")
	flags.StringVar(&f.seed, "seed", "1", "where chance comes from: a number, or random for a "+
		"fresh "+
		"one")
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0),
		"how many schedules run at the same time; always 1 with the real client and of an "+
			"exhaustive "+
			"search")
	flags.StringVar(&f.json, "json", "", "write the report as JSON to this `file`, or to standard "+
		"output if it is -")
	flags.StringVar(&f.out, "out", "interlock-failures",
		"the `directory` below which counterexamples are written")
	return command
}

// strategies returns the names that --strategy knows.
func strategies() []string {
	return append(scenarios.StrategyNames(),
		scenarios.ExhaustiveStrategy)
}

const strategyHelp = `Strategies:
  random      every step that can happen has its chance
  pct         threads have priorities, which change at 2 places (depth 3); pct10 has depth 10
  pos         every step has a priority, drawn anew when another step has raced with it
  urw         all interleavings have about the same chance
  surw        all orders in which the server handles requests have about the same chance
  delay       the default policy, with 2 steps put off; delay5 puts off 5
  portfolio   the ones above in turn
  exhaustive  all schedules within the bounds that docs/exploration.md gives; it has no other bound unless --schedules,
              --budget or --states sets one, uses one processor, and takes a few kilobytes of memory for each state.
              It ends before it has taken what the machine has, or GOMEMLIMIT allows
`

const faultNameWidth = len("partition-inbound")

func faultsHelp() string {
	var text strings.Builder
	text.WriteString("Faults, each of which strikes one client, one server, or one link:\n")
	for kind := range faults.Kinds {
		fmt.Fprintf(&text, "  %-*s  %s\n", faultNameWidth, kind, kind.Meaning())
	}
	fmt.Fprintf(&text, "  %-*s  one of these, but for restart and those that follow it\n",
		faultNameWidth, "any")
	fmt.Fprintf(&text, "Behind an at sign a phase of the lock can stand in which it is to strike, "+
		"as in cut@hold=1: %s.\n",
		strings.Join(faults.PhaseKeys(), ", "))
	text.WriteString(`Behind a colon a target can stand that it is to strike, before the phase: a client (cut:c1=1), a server, the leader or a
follower (kill-server:s2=1, kill-server:leader@hold=1), and of a link one end or both (partition-link:leader=1, partition-link-oneway:s1-s3=1,
unreachable:c1-leader=1).
`)
	return text.String()
}

// scenario turns the flags into a scenario, or returns what is wrong with them.
func (f *checkFlags) scenario(given func(string) bool) (*scenarios.Scenario, error) {
	subject, err := subjects.Named(f.lock)
	if err != nil {
		return nil, fmt.Errorf("--lock: %w", err)
	}
	plan, err := faults.Parse(f.faults)
	if err != nil {
		return nil, fmt.Errorf("--faults: %w", err)
	}
	client, err := scenarios.ParseClientKind(f.client)
	if err != nil {
		return nil, fmt.Errorf("--client: %w", err)
	}
	if err := f.validateNumbers(given); err != nil {
		return nil, err
	}
	if subject.Real && !given("client") {
		client = scenarios.Real
	}
	s := &scenarios.Scenario{
		Subject: subject, Clients: f.clients, Cycles: f.cycles, Faults: plan,
		Client: client, Severity: f.severity,
	}
	if f.servers > 1 {
		s.Servers = f.servers
	}
	return s, s.Validate()
}

// campaign turns the flags into a campaign, or returns what is wrong with them.
func (f *checkFlags) campaign(given func(string) bool) (*scenarios.Campaign, error) {
	scenario, err := f.scenario(given)
	if err != nil {
		return nil, err
	}
	seed, err := scenarios.ParseSeed(f.seed)
	if err != nil {
		return nil, fmt.Errorf("--seed: %w", err)
	}
	if err := f.validateStrategy(); err != nil {
		return nil, err
	}
	c := &scenarios.Campaign{
		Scenario: *scenario, Seed: seed, Schedules: f.schedules, Budget: f.budget, States: f.states,
		Workers:  f.workers,
		Strategy: f.strategy,
	}
	if f.strategy == scenarios.ExhaustiveStrategy {
		if err := f.validateExhaustive(c); err != nil {
			return nil, err
		}
	}
	f.dropUnsetBounds(c, given)
	if err := f.limitWorkers(c, given); err != nil {
		return nil, err
	}
	if given("require-coverage") {
		if c.RequiredCoverage, err = faults.ParseCoverageCells(f.requireCoverage,
			scenario.FaultKinds()); err != nil {
			return nil, fmt.Errorf("--require-coverage: %w", err)
		}
	}
	return c, nil
}

// dropUnsetBounds takes out the default of a bound that is not given where the other one is: whoever sets
// one means that one. A bound by states takes out none, as there may never be so many.
func (f *checkFlags) dropUnsetBounds(c *scenarios.Campaign, given func(string) bool) {
	bounded := given("schedules") || given("budget") || f.strategy == scenarios.ExhaustiveStrategy
	if bounded && !given("budget") {
		c.Budget = 0
	}
	if bounded && !given("schedules") {
		c.Schedules = 0
	}
}

func (f *checkFlags) validateNumbers(given func(string) bool) error {
	switch {
	case f.clients < 1 || f.clients > scenarios.ClientsMax:
		return fmt.Errorf("--clients must be from 1 to %d, not %d", scenarios.ClientsMax, f.clients)
	case f.cycles < 1 || f.cycles > scenarios.CyclesMax:
		return fmt.Errorf("--cycles must be from 1 to %d, not %d", scenarios.CyclesMax, f.cycles)
	case f.servers < 1 || f.servers > scenarios.ServersMax:
		return fmt.Errorf("--servers must be from 1 to %d, not %d", scenarios.ServersMax, f.servers)
	case f.schedules < 1:
		return fmt.Errorf("--schedules must be at least 1, not %d", f.schedules)
	case f.budget <= 0:
		return fmt.Errorf("--budget must be more than nothing, not %v", f.budget)
	case f.states < 0 || f.states > scenarios.StatesMax &&
		f.strategy != scenarios.ExhaustiveStrategy:
		return fmt.Errorf("--states must be from 0 to %d, not %d; with --strategy exhaustive it "+
			"can be "+
			"more", scenarios.StatesMax, f.states)
	case f.workers < 1 || f.workers > workersMax:
		return fmt.Errorf("--workers must be from 1 to %d, not %d", workersMax, f.workers)
	case given("json") && f.json == "":
		return errNoReport
	case f.severity.Validate() != nil:
		return fmt.Errorf("--max-pause, --clock-drift: %w", f.severity.Validate())
	case f.idleTicks < 0:
		return fmt.Errorf("--idle-ticks must be at least 0, not %d", f.idleTicks)
	case f.maxDeviations < 0:
		return fmt.Errorf("--max-deviations must be at least 0, not %d", f.maxDeviations)
	case f.maxDeviations > 0 && (f.idleTicks > 0 || f.checkpoint != ""):
		return errors.New("--max-deviations goes with neither --idle-ticks nor --checkpoint")
	case f.out == "":
		return errors.New("--out needs the name of a directory")
	}
	return nil
}

// validateStrategy returns what is wrong with the strategy and its flags.
func (f *checkFlags) validateStrategy() error {
	if f.strategy == scenarios.ExhaustiveStrategy {
		return nil
	}
	if f.symmetry || f.fairSuffixes || f.idleTicks > 0 || f.checkpoint != "" ||
		f.maxDeviations > 0 {
		return errors.New("--symmetry, --fair-suffixes, --idle-ticks, --max-deviations and " +
			"--checkpoint are for --strategy exhaustive only")
	}
	if _, err := scenarios.ParseStrategy(f.strategy); err != nil {
		return fmt.Errorf("--strategy: %w, %s", err, scenarios.ExhaustiveStrategy)
	}
	return nil
}

// validateExhaustive returns what is wrong with the flags of an validateExhaustive search.
func (f *checkFlags) validateExhaustive(c *scenarios.Campaign) error {
	if c.Scenario.Client != scenarios.Model {
		return errors.New("--strategy exhaustive works with --client model only: nothing tells " +
			"what " +
			"state the real client is in")
	}
	if f.servers > 1 && f.symmetry {
		return errors.New("--symmetry works with --servers 1 only: processes that are connected " +
			"to " +
			"different servers are not alike")
	}
	return nil
}

// limitWorkers leaves a campaign one worker where there can be no more, and returns an error if more
// were asked for.
func (f *checkFlags) limitWorkers(c *scenarios.Campaign, given func(string) bool) error {
	real, exhaustive := c.Scenario.Client == scenarios.Real,
		f.strategy == scenarios.ExhaustiveStrategy
	switch {
	case !real && !exhaustive:
		return nil
	case real && simzk.RaceDetector:
		return errRealUnderRace
	case given("workers") && f.workers > 1 && real:
		return fmt.Errorf("--workers must be 1, not %d, with the real client: what it does is "+
			"only "+
			"decided on one processor", f.workers)
	case given("workers") && f.workers > 1:
		return fmt.Errorf("--workers must be 1, not %d, with --strategy exhaustive", f.workers)
	}
	c.Workers = 1
	return nil
}

// errRealUnderRace is why a program that was built with the race detector has no use for the real
// client.
var errRealUnderRace = errors.New("this program was built with -race, under which the real " +
	"client does not do the same twice: build it without")

// A search runs a campaign, or the exhaustive search that goes in its place.
type search func(context.Context) *scenarios.Report

// search returns what the flags ask for, or what is wrong with the checkpoint.
func (f *checkFlags) search(t *testing.T, c *scenarios.Campaign) (search, error) {
	if f.strategy != scenarios.ExhaustiveStrategy {
		return func(ctx context.Context) *scenarios.Report { return c.Run(ctx, t) }, nil
	}
	e := &scenarios.Exhaustive{
		Scenario: c.Scenario, Symmetry: f.symmetry, FairSuffixes: f.fairSuffixes,
		IdleTicks:     f.idleTicks,
		MaxDeviations: f.maxDeviations, Schedules: c.Schedules,
		Budget: c.Budget, States: c.States, MemoryLimit: scenarios.DefaultMemoryLimit(),
		Progress: c.Progress, Checkpoint: f.checkpoint,
	}
	if f.checkpoint != "" {
		if err := e.Resume(t); err != nil {
			return nil, fmt.Errorf("--checkpoint: %w", err)
		}
	}
	return func(ctx context.Context) *scenarios.Report {
		defer debug.SetGCPercent(debug.SetGCPercent(exhaustiveGCPercent))
		return e.Run(ctx, t)
	}, nil
}

// exhaustiveGCPercent lets the heap of an exhaustive search grow to three times what lives: hardly
// anything that a run leaves lives on, but with many states what does is gigabytes.
const exhaustiveGCPercent = 200

// runCheck runs the campaign and tells of it. What is to be kept is written down before anything is
// printed that somebody may have stopped reading, or that finds no room.
func runCheck(ctx context.Context, t *testing.T, campaign *scenarios.Campaign, f *checkFlags,
	stdout, stderr io.Writer,
) error {
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	progress := newProgress(stderr, campaign)
	campaign.Progress = progress.show
	search, err := f.search(t, campaign)
	if err != nil {
		return err
	}
	text, reportOut, err := f.openOutputs(stdout, stderr)
	if err != nil {
		return err
	}
	defer reportOut.Close()
	if _, err := fmt.Fprintf(text, "checking %v, seed %d\n", &campaign.Scenario,
		campaign.Seed); err != nil && !errors.Is(err, syscall.EPIPE) {
		return &statusError{statusInternal, err}
	}
	// A worker runs one goroutine at a time, so a processor without a worker only costs hand-overs.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(campaign.Workers, runtime.GOMAXPROCS(0))))
	report := search(ctx)
	progress.finish(report)
	found, unshown := shrink(ctx, t, campaign, report)
	if unshown == nil {
		unshown = found.write(f.out)
	}
	outcome := outcomeOf(campaign, report, found, unshown)
	if err = encodeJSON(reportOut, jsonReport(campaign, report, found, outcome)); err == nil {
		err = reportOut.Close()
	}
	writeReport(text, campaign, report, found)
	found.explain(report, text)
	if err != nil {
		return &statusError{statusInternal, fmt.Errorf("writing the report: %w", err)}
	}
	return outcome
}

// outcomeOf returns how the program ends, nil if with status 0. The error is why there is no
// counterexample of what was found, or why it could not be written.
func outcomeOf(campaign *scenarios.Campaign, report *scenarios.Report, found *finding,
	unshown error,
) error {
	switch {
	case unshown != nil:
		return &statusError{statusInternal, unshown}
	case report.Nondeterministic != nil:
		return &statusError{statusInternal, report.Nondeterministic}
	case found != nil && !found.outOfContract:
		return &statusError{statusViolation, nil}
	case report.Schedules == 0 && !report.Interrupted:
		return &statusError{statusInternal, errors.New("no schedule was run, so nothing is known " +
			"of " +
			"the lock")}
	case len(campaign.NeverReached(report)) > 0, len(campaign.MissingCoverage(report)) > 0:
		return &statusError{statusViolation, nil}
	case report.Totals.Unknown > 0:
		return &statusError{statusInternal, errors.New("a check has reached its limit: a verdict " +
			"is " +
			"unknown")}
	case report.Unsaved != nil && !report.Complete:
		return &statusError{statusInternal, fmt.Errorf("--checkpoint: %w", report.Unsaved)}
	}
	return nil
}
