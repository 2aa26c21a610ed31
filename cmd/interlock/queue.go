package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/cmd/internal/workqueue"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/shard"
	"github.com/interlock-sim/interlock/scenarios"
)

// queueFlags holds the flags of a check whose schedules workers run.
type queueFlags struct {
	natsFlags
	rangeSchedules int
	ackWait        time.Duration
	discardQueue   bool
}

// natsFlags are the flags of a queue, which check and worker have.
type natsFlags struct{ nats, queue, creds, ca string }

// define defines the flags.
func (f *natsFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.nats, "nats", "", "`URL` of a NATS server with JetStream, for many machines")
	flags.StringVar(&f.queue, "queue", "default", "nats: `name` of the queue")
	flags.StringVar(&f.creds, "creds", "", "nats: `file` with the credentials of a user")
	flags.StringVar(&f.ca, "ca", "", "nats: `file` with the authorities' certificates, for TLS")
}

// dial connects to the queue, or returns the error with which the program ends.
func (f *natsFlags) dial(ctx context.Context, stderr io.Writer) (*workqueue.Queue, error) {
	queue, err := workqueue.Dial(ctx,
		workqueue.Server{URL: f.nats, Credentials: f.creds, CA: f.ca}, f.queue, warnings(stderr))
	if err != nil {
		err = fmt.Errorf("--nats: %w", err)
		if workqueue.Unreachable(err) {
			err = exit.With(exit.Unreachable, err)
		}
	}
	return queue, err
}

// queueFailed returns the error with which the program ends after one of the queue.
func queueFailed(err error) error {
	if workqueue.Unreachable(err) {
		return exit.With(exit.Unreachable, err)
	}
	return exit.With(exit.Internal, err)
}

// ackWaitMin bounds --ack-wait: a worker reports three times in that time.
const ackWaitMin = 100 * time.Millisecond

// validQueue are names that NATS allows in the names of streams and subjects.
var validQueue = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// validateQueue returns an error that names a wrong flag, or nil.
func (f *checkFlags) validateQueue(client scenarios.ClientKind, given func(string) bool) error {
	if !given("nats") {
		for _, flag := range []string{
			"queue", "creds", "ca", "range-schedules", "ack-wait", "discard-queue",
		} {
			if given(flag) {
				return fmt.Errorf("--%s needs --nats", flag)
			}
		}
		return nil
	}
	if err := f.divisible("nats", given); err != nil {
		return err
	}
	switch {
	case client == scenarios.Real:
		return errors.New("--nats needs --client model: the goroutines of a worker's connection " +
			"disturb the real client; use --shard")
	case given("shard"):
		return errors.New("--nats cannot be combined with --shard: the workers share the schedules")
	case given("workers"):
		return errors.New("--nats cannot be combined with --workers, a flag of interlock worker")
	case given(schedulerFlag):
		return fmt.Errorf("--nats cannot be combined with --%s", schedulerFlag)
	case f.rangeSchedules < 1:
		return fmt.Errorf("--range-schedules must be at least 1, not %d", f.rangeSchedules)
	case f.ackWait < ackWaitMin:
		return fmt.Errorf("--ack-wait must be at least %v, not %v", ackWaitMin, f.ackWait)
	}
	return f.validateServer(given)
}

// validateServer returns an error that names a wrong flag, or nil.
func (f *natsFlags) validateServer(given func(string) bool) error {
	switch {
	case f.nats == "":
		return errors.New("--nats needs the URL of a NATS server")
	case given("creds") && f.creds == "":
		return errors.New("--creds needs a file")
	case given("ca") && f.ca == "":
		return errors.New("--ca needs a file")
	case !validQueue.MatchString(f.queue):
		return fmt.Errorf("--queue must have 1 to 64 letters, digits, - and _, not %q", f.queue)
	}
	return nil
}

// checkByQueue lets workers run the campaign, and reports it.
func (f *checkFlags) checkByQueue(ctx context.Context, t *testing.T, c *campaign.Campaign,
	stdout, stderr io.Writer,
) error {
	defer ignorePipe()()
	build, err := shard.Build()
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	o, err := f.openOutputs(stdout, stderr)
	if err != nil {
		return err
	}
	queue, err := f.dial(ctx, stderr)
	if err != nil {
		return err
	}
	defer queue.Close()
	plan := &workqueue.Plan{
		Build: build, Campaign: shard.Describe(c), RangeSchedules: f.rangeSchedules,
	}
	if _, err := fmt.Fprintf(o.text, "checking %v, seed %d, %s in queue %s at %s\n", c, c.Seed,
		counted(plan.Ranges(), "range"), f.queue, queue.Server()); unwritable(err) {
		return exit.With(exit.Internal, err)
	}
	records, err := f.coordinate(ctx, queue, plan, o.progress)
	if err != nil {
		return err
	}
	whole, report, err := mergeRecords(ctx, t, records, nil)
	if err != nil {
		return err
	}
	return o.present(ctx, t, whole, report, nil)
}

// coordinate returns the records of the ranges, or the error with which the program ends.
func (f *checkFlags) coordinate(ctx context.Context, queue *workqueue.Queue, plan *workqueue.Plan,
	progress *judge.Progress,
) ([]*shard.Record, error) {
	began := time.Now()
	var last workqueue.Progress
	records, err := queue.Coordinate(ctx, plan, workqueue.Options{
		AckWait: f.ackWait, Discard: f.discardQueue,
		Show: func(p workqueue.Progress) {
			last = p
			showQueue(progress, p, time.Since(began))
		},
	})
	progress.Clear()
	var busy *workqueue.BusyError
	switch {
	case err == nil:
		return records, nil
	case ctx.Err() != nil:
		return nil, exit.With(exit.Partial, fmt.Errorf("interrupted: %d of %s stored, %d of "+
			"them with a violation; the same command continues", last.Stored,
			counted(plan.Ranges(), "range"), last.Failed))
	case errors.As(err, &busy):
		return nil, fmt.Errorf("%w; give another --queue, or --discard-queue", err)
	}
	return nil, queueFailed(err)
}

// showQueue shows how far the workers are.
func showQueue(p *judge.Progress, now workqueue.Progress, elapsed time.Duration) {
	if !p.Terminal && !p.Due(elapsed) {
		return
	}
	line := fmt.Sprintf("%s, %d of %d schedules, %.0f/s, %d of %s stored",
		counted(now.Workers, "worker"), now.Schedules, now.Planned, now.PerSecond, now.Stored,
		counted(now.Ranges, "range"))
	if now.Failed > 0 {
		line += fmt.Sprintf(", %d with a violation", now.Failed)
	}
	if left := now.Planned - now.Schedules; now.PerSecond > 0 && left > 0 {
		line += fmt.Sprintf(", %v left",
			time.Duration(float64(left)/now.PerSecond*float64(time.Second)).Round(time.Second))
	}
	p.Print(line)
}

// warnings returns a function that prints a line about the connection.
func warnings(stderr io.Writer) func(string) {
	return func(line string) { fmt.Fprintf(stderr, "interlock: %s\n", line) }
}
