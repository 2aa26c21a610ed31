package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/show/explore/site"
	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// exploreFlags holds the flags of explore as they were given.
type exploreFlags struct {
	lock, client, plan       string
	clients, cycles, servers int
	listen, schedule         string
	testFlags                // of a test in a user's module
}

// scenarioFlags are the flags that --schedule replaces.
var scenarioFlags = []string{"lock", "client", "faults", "clients", "cycles", "servers"}

func newExplore(t *testing.T) *cobra.Command {
	var f exploreFlags
	command := &cobra.Command{
		Use:   "explore [DIR]",
		Short: "Choose the schedule of a lock step by step, on a page",
		Long: `Explore runs the code of a lock and lets you choose what happens next: which
message arrives, whether time passes, which fault strikes. It prints the URL of
a page that shows the enabled steps, the events so far, the state of the
processes and of ZooKeeper, Redis or the database, and each property as soon as
it is broken. You can go back, try another branch, and save the schedule for
interlock replay.

A lock of your own runs in its test, which explore starts. --schedule names a
counterexample of the test; schedules are saved where the test keeps those,
unless --out is given. With DIR, the package of the test, and --run, its name,
or --schedule, the test is built as by interlock test.

The server accepts connections from this machine only, and the URL contains a
secret. It runs until it is interrupted. Port 0 of --listen is any free port.

Exit status:
  0  interrupted
  2  bad usage, an unusable schedule or test, or an unavailable address
  3  an internal error`,
		Example: `  interlock explore --lock no-recheck --faults cut=1
  interlock explore --schedule interlock-failures/no-recheck-fifo-0123456789abcdef
  interlock explore ./lease --run TestLease`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 1 || strings.HasSuffix(strings.Join(arguments, ""), "...") {
				return fmt.Errorf("explore takes the directory of one package, not %q", arguments)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return f.runExplore(cmd, t, arguments)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.lock, "lock", "mutex", "lock to explore (see interlock locks)")
	flags.IntVar(&f.clients, "clients", 3, "processes that contend for the lock")
	flags.IntVar(&f.cycles, "cycles", 1, "acquisitions per process")
	flags.IntVar(&f.servers, "servers", 1,
		fmt.Sprintf("servers of the ensemble, at most %d", sim.ServersMax))
	flags.StringVar(&f.client, "client", "model", "ZooKeeper client: model or real")
	flags.StringVar(&f.plan, "faults", "default", "fault plan (see interlock help faults)")
	flags.StringVar(&f.schedule, "schedule", "",
		"`path` of a counterexample or schedule to begin with")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "loopback `address` of the page")
	flags.StringVar(&f.out, "out", defaultOut, "`directory` for saved schedules")
	f.defineBuild(flags)
	return command
}

// scenario returns the scenario that the flags describe, or an error that names a wrong flag.
func (f *exploreFlags) scenario(given func(string) bool) (*scenarios.Scenario, error) {
	s, err := scenarioNamed(f.lock, f.plan, f.client, given)
	if err != nil {
		return nil, err
	}
	s.Clients, s.Cycles = f.clients, f.cycles
	if s.Client == scenarios.Real && real.RaceDetector {
		return nil, errRealUnderRace
	}
	if f.servers < 1 {
		return nil, fmt.Errorf("--servers must be from 1 to %d, not %d", sim.ServersMax, f.servers)
	}
	if given("servers") {
		s.Servers = f.servers
	}
	return &s, inFlags(s.Validate())
}

// explored returns what the flags ask to explore, or an error that names a wrong flag.
func (f *exploreFlags) explored(ctx context.Context, t *testing.T, given func(string) bool,
	directories []string, stderr io.Writer,
) (*explored, error) {
	inTest := len(directories) > 0 || given("run")
	for _, flag := range buildFlags {
		if given(flag) && !inTest {
			return nil, fmt.Errorf("--%s needs the directory of a package, or --run", flag)
		}
	}
	for _, flag := range scenarioFlags {
		switch {
		case given(flag) && given("schedule"):
			return nil, fmt.Errorf("--%s cannot be combined with --schedule, which records it",
				flag)
		case given(flag) && inTest:
			return nil, fmt.Errorf("--%s cannot be combined with a test, which says it", flag)
		}
	}
	out := f.out
	switch {
	case inTest && f.run == "" && !given("schedule"):
		return nil, errors.New("--run must name the test to explore; to explore a " +
			"counterexample, give its directory by --schedule")
	case inTest:
		f.replay = f.schedule
		return f.exploreBuilt(ctx, append(directories, ".")[0], stderr)
	case given("schedule"):
		if !given("out") {
			out = ""
		}
		e, err := exploreRecorded(ctx, t, f.schedule, out, stderr)
		if err != nil {
			return nil, fmt.Errorf("--schedule: %w", err)
		}
		return e, nil
	}
	scenario, err := f.scenario(given)
	if err != nil {
		return nil, err
	}
	save := explore.Below(out, replayCommand)
	return &explored{runs: explore.NewLocal(engine.NewRunner(t), *scenario, save)}, nil
}

// start returns the server that begins with the recorded schedule, if there is one.
func (f *exploreFlags) start(ctx context.Context, e *explored) (*site.Server, error) {
	s := &site.Server{Explorer: explore.New(e.runs)}
	if f.schedule == "" {
		return s, nil
	}
	var skipped []engine.Deviation
	var err error
	s.Start, skipped, err = s.Explorer.Load(ctx, e.recorded)
	if err == nil && len(skipped) > 0 {
		err = fmt.Errorf("step %d, %v, is not possible any more", skipped[0].Index, skipped[0].Step)
	}
	if err != nil {
		return nil, fmt.Errorf("--schedule: %s: %w", f.schedule, err)
	}
	return s, nil
}

// validate returns an error that names a flag of the server or the output that is wrong.
func (f *exploreFlags) validate() error {
	if err := localhttp.CheckAddress(f.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if f.out == "" {
		return errors.New("--out needs a directory")
	}
	if err := checkWritable(f.out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// runExplore serves the page until the context ends.
func (f *exploreFlags) runExplore(cmd *cobra.Command, t *testing.T, directories []string) error {
	if err := f.validate(); err != nil {
		return err
	}
	ctx := cmd.Context()
	e, err := f.explored(ctx, t, cmd.Flags().Changed, directories, cmd.ErrOrStderr())
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	defer e.close()
	server, err := f.start(ctx, e)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer listener.Close()
	pages := server.Site()
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "exploring %s at\n%s\n",
		server.Explorer.Scenario().Text, pages.URL(listener)); err != nil {
		return exit.With(exit.Internal, err)
	}
	if err := pages.Serve(ctx, listener); err != nil {
		return exit.With(exit.Internal, err)
	}
	return nil
}
