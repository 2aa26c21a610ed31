// Command interlock searches the interleavings of a distributed lock on a simulated ZooKeeper for one that breaks it,
// and replays what it has found.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/scenarios"
)

// The exit statuses.
const (
	statusFine      = 0 // nothing found
	statusViolation = 1 // a property is violated
	statusUsage     = 2 // the command line or a file named there is wrong
	statusInternal  = 3 // a schedule did not run the same way twice, or Interlock failed

	// statusInterrupted is that of a comparison which a signal ended before its time. It is what shells make of Ctrl-C.
	statusInterrupted = 130
)

// A statusError ends the program with a status of its own. An error without one is bad usage.
type statusError struct {
	status int
	err    error // nil where all has been said
}

func (e *statusError) Error() string {
	if e.err == nil {
		return "a property is violated"
	}
	return e.err.Error()
}

func main() { scenarios.Main(run) }

// run carries out a command line and returns the exit status.
func run(t *testing.T, arguments []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second signal ends the program at once.
	return execute(ctx, t, arguments, os.Stdout, os.Stderr)
}

func execute(ctx context.Context, t *testing.T, arguments []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "interlock",
		Short: "Find the interleaving that breaks a distributed lock",
		Long: "Interlock runs real lock code against a simulated ZooKeeper, in which the order of messages, the passing\n" +
			"of time and every fault are decisions that it makes. It searches for decisions that break the lock,\n" +
			"shortens them, and replays them.\n\n" +
			"Exit status: 0 nothing found, 1 a violation, 2 bad usage, 3 nondeterminism, an unknown\nverdict or an internal error.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newCheck(t), newReplay(t), newVerify(), newLocks(), newServe(), newConform(), newControl(), newLaunch())
	root.SetArgs(arguments)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return statusFine
	}
	var status *statusError
	if !errors.As(err, &status) {
		fmt.Fprintf(stderr, "interlock: %v (see interlock --help)\n", err)
		return statusUsage
	}
	if status.err != nil {
		fmt.Fprintf(stderr, "interlock: %v\n", status.err)
	}
	return status.status
}

// version returns the version of the module that the program was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
