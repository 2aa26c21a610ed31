// Command interlock searches the interleavings of a distributed lock on a simulated ZooKeeper for
// one that breaks it, and replays what it has found.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/scenarios"
)

// The exit statuses.
const (
	statusOK      = 0 // nothing found
	statusViolation = 1 // a property is violated
	statusUsage     = 2 // the command line or a file named there is wrong
	statusInternal  = 3 // a schedule did not run the same way twice, or Interlock failed

	// statusInterrupted is that of a comparison which a signal ended before its time. It is what
	// shells make of Ctrl-C.
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
		Long: "Interlock runs real lock code against a simulated ZooKeeper, in which the order " +
			"of " +
			"messages, the passing\n" +
			"of time and every fault are decisions that it makes. It searches for decisions that " +
			"break " +
			"the lock,\n" +
			"shortens them, and replays them.\n\n" +
			"Exit status: 0 nothing found, 1 a violation, 2 bad usage, 3 nondeterminism, an " +
			"unknown\nverdict or an internal error.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newCheck(t), newReplay(t), newVerify(), newLocks(), newServe(), newConform(),
		newControl(), newLaunch())
	root.SetHelpCommand(newHelp(root))
	root.SetArgs(arguments)
	out := &errorWriter{w: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	var status *statusError
	switch {
	// Whoever has stopped reading misses nothing.
	case out.err != nil && !errors.Is(out.err, syscall.EPIPE):
		fmt.Fprintf(stderr, "interlock: %v\n", out.err)
		return statusInternal
	case err == nil:
		return statusOK
	case !errors.As(err, &status):
		fmt.Fprintf(stderr, "interlock: %v (see %s --help)\n", err, command.CommandPath())
		return statusUsage
	}
	if status.err != nil {
		fmt.Fprintf(stderr, "interlock: %v\n", status.err)
	}
	return status.status
}

// unknownCommand is the error where what should be a command of the program is none, and names
// those that are like it.
func unknownCommand(cmd *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	hint := ""
	if like := cmd.SuggestionsFor(arguments[0]); len(like) > 0 {
		hint = ": did you mean " + strings.Join(like, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q%s", arguments[0], cmd.CommandPath(), hint)
}

// newHelp returns the command help, which shows the help of another.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, arguments []string) error {
			command, rest, err := root.Find(arguments)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(command, rest)
			}
			command.InitDefaultHelpFlag()
			command.InitDefaultVersionFlag()
			return command.Help()
		},
	}
}

// version returns the version of the module that the program was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
