package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// exploreFlags holds the flags of explore as they were given.
type exploreFlags struct {
	lock, client, faults     string
	clients, cycles, servers int
	listen, schedule, out    string
}

// scenarioFlags are the flags that --schedule replaces.
var scenarioFlags = []string{"lock", "client", "faults", "clients", "cycles", "servers"}

func newExplore(t *testing.T) *cobra.Command {
	var f exploreFlags
	command := &cobra.Command{
		Use:   "explore",
		Short: "Choose the schedule of a lock step by step, on a page",
		Long: `Explore runs the code of a lock and lets you choose what happens next: which
message arrives, whether time passes, which fault strikes. It prints the URL of
a page that shows the enabled steps, the events so far, the state of the
processes and of ZooKeeper, and each property as soon as it is broken. You can
go back, try another branch, and save the schedule for interlock replay.

The server accepts connections from this machine only, and the URL contains a
secret. It runs until it is interrupted. Port 0 of --listen is any free port.

Exit status:
  0  interrupted
  2  bad usage, an unusable schedule or an unavailable address
  3  an internal error`,
		Example: `  interlock explore --lock no-recheck --faults cut=1
  interlock explore --schedule interlock-failures/no-recheck-fifo-0123456789abcdef`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runExplore(cmd.Context(), t, &f, cmd.Flags().Changed, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.lock, "lock", "mutex", "lock to explore (see interlock locks)")
	flags.IntVar(&f.clients, "clients", 3, "processes that contend for the lock")
	flags.IntVar(&f.cycles, "cycles", 1, "acquisitions per process")
	flags.IntVar(&f.servers, "servers", 1,
		fmt.Sprintf("servers of the ensemble, at most %d", sim.ServersMax))
	flags.StringVar(&f.client, "client", "model", "ZooKeeper client: model or real")
	flags.StringVar(&f.faults, "faults", "default", "fault plan (see interlock help faults)")
	flags.StringVar(&f.schedule, "schedule", "",
		"`path` of a counterexample or schedule to begin with")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "loopback `address` of the page")
	flags.StringVar(&f.out, "out", "interlock-failures", "`directory` for saved schedules")
	return command
}

// scenario returns the scenario that the flags describe, or an error that names a wrong flag.
func (f *exploreFlags) scenario(given func(string) bool) (*scenarios.Scenario, error) {
	s, err := scenarioNamed(f.lock, f.faults, f.client, given)
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

// server returns the server that the flags describe, or an error that names a wrong flag.
func (f *exploreFlags) server(ctx context.Context, t *testing.T, given func(string) bool) (
	*explore.Server, error,
) {
	if err := localhttp.CheckAddress(f.listen); err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	if f.out == "" {
		return nil, errors.New("--out needs a directory")
	}
	if err := checkWritable(f.out); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	s := &explore.Server{Out: f.out, ReplayBy: replayCommand}
	if !given("schedule") {
		scenario, err := f.scenario(given)
		if err != nil {
			return nil, err
		}
		s.Explorer = explore.New(engine.NewRunner(t), *scenario)
		return s, nil
	}
	for _, flag := range scenarioFlags {
		if given(flag) {
			return nil, fmt.Errorf("--%s cannot be combined with --schedule, which records it",
				flag)
		}
	}
	r, err := newReplayer(f.schedule)
	if err != nil {
		return nil, fmt.Errorf("--schedule: %w", withoutSteps(err, "explore"))
	}
	s.Explorer = explore.New(engine.NewRunner(t), *r.scenario)
	path, skipped, err := s.Explorer.Load(ctx, r.recording.Deviations)
	if err == nil && len(skipped) > 0 {
		err = fmt.Errorf("step %d, %v, is not possible any more", skipped[0].Index, skipped[0].Step)
	}
	if err != nil {
		return nil, fmt.Errorf("--schedule: %s: %w", f.schedule, err)
	}
	s.Start = path
	return s, nil
}

// runExplore serves the page until the context ends.
func runExplore(ctx context.Context, t *testing.T, f *exploreFlags, given func(string) bool,
	stdout io.Writer,
) error {
	server, err := f.server(ctx, t, given)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer listener.Close()
	site := server.Site()
	if _, err := fmt.Fprintf(stdout, "exploring %v at\n%s\n", server.Explorer.Scenario(),
		site.URL(listener)); err != nil {
		return exit.With(exit.Internal, err)
	}
	if err := site.Serve(ctx, listener); err != nil {
		return exit.With(exit.Internal, err)
	}
	return nil
}
