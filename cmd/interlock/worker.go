package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/workqueue"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/shard"
)

// workerFlags holds the flags of worker as they were given.
type workerFlags struct {
	natsFlags
	json    string
	workers int
	quiet   bool
}

func newWorker(t *testing.T) *cobra.Command {
	var f workerFlags
	command := &cobra.Command{
		Use:   "worker",
		Short: "Run schedules for a check on another machine",
		Long: `Worker takes ranges of schedules from a queue on a NATS server, which interlock
check --nats fills, runs them and stores what they show. It must be the same
build of interlock as that check. If it dies or hangs, another worker gets its
range. When a check is complete, it waits for the next one.

It runs until it is interrupted, and then gives its range back.

Exit status:
  0  interrupted
  2  bad usage, refused credentials, or a check of another build
  3  the server refused a request, or an internal error
  5  the server cannot be reached, or is not ready`,
		Example: `  interlock worker --nats nats://localhost:4222
  interlock check --nats nats://localhost:4222 --schedules 1000000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(cmd.Flags().Changed); err != nil {
				return err
			}
			return f.run(cmd.Context(), t, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	f.natsFlags.define(flags)
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0),
		"parallel schedules")
	flags.StringVar(&f.json, "json", "", "`file` for a summary as JSON, - for standard output")
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return command
}

func (f *workerFlags) validate(given func(string) bool) error {
	switch {
	case given("json") && f.json == "":
		return file.ErrNoJSON
	case f.workers < 1 || f.workers > workersMax:
		return fmt.Errorf("--workers must be from 1 to %d, not %d", workersMax, f.workers)
	}
	return f.validateServer(given)
}

// A workerSummary is what a worker has done.
type workerSummary struct {
	Worker string `json:"worker"`
	Queue  string `json:"queue"`
	// Ranges counts the ranges by what became of them.
	Stored   int `json:"stored"`
	Late     int `json:"late"`
	Dropped  int `json:"dropped"`
	Returned int `json:"returned"`
}

// run works until the context ends.
func (f *workerFlags) run(ctx context.Context, t *testing.T, stdout, stderr io.Writer) error {
	build, err := shard.Build()
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	host, err := os.Hostname()
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	text, report, err := file.OpenJSON(f.json, stdout, stderr)
	if err != nil {
		return err
	}
	queue, err := f.dial(ctx, stderr)
	if err != nil {
		return err
	}
	defer queue.Close()
	progress := (&reportFlags{quiet: f.quiet}).progressTo(stderr)
	summary := workerSummary{Worker: fmt.Sprintf("%s-%d", host, os.Getpid()), Queue: f.queue}
	worker := &workqueue.Worker{
		Queue: queue, T: t, Name: summary.Worker, Build: build, Lock: lockNamed,
		Parallel: f.workers,
		Started: func(c *campaign.Campaign) {
			fmt.Fprintf(progress, "%s, seed %d, %v: running\n", c.Scenario.Subject.Name, c.Seed,
				c.Range)
		},
		Ended: func(c *campaign.Campaign, outcome workqueue.Outcome) {
			summary.count(outcome)
			fmt.Fprintf(progress, "%s, seed %d, %v: %s\n", c.Scenario.Subject.Name, c.Seed, c.Range,
				outcome)
		},
	}
	if _, err := fmt.Fprintf(text, "worker %s takes schedules from queue %s at %s\n",
		summary.Worker, f.queue, queue.Server()); err != nil {
		return exit.With(exit.Internal, err)
	}
	err = worker.Work(ctx)
	if failed := report.WriteJSON(&summary); failed != nil && err == nil {
		err = fmt.Errorf("writing the summary: %w", failed)
	}
	var refused *workqueue.RefusedError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return queueFailed(err)
}

// count counts a range.
func (s *workerSummary) count(outcome workqueue.Outcome) {
	switch outcome {
	case workqueue.Stored:
		s.Stored++
	case workqueue.Late:
		s.Late++
	case workqueue.Dropped:
		s.Dropped++
	case workqueue.Returned:
		s.Returned++
	}
}
