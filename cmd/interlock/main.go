// Command interlock searches the schedules of a distributed lock on a simulated ZooKeeper, Redis or
// database for a violation, and replays the schedules that it has recorded.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/server"
	"github.com/interlock-sim/interlock/internal/base/program"
	"github.com/interlock-sim/interlock/internal/base/unknown"
)

func main() { runAsTest(run) }

// run executes a command line until it is done or a signal arrives, and returns the exit status.
func run(t *testing.T, arguments []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second signal kills the program.
	return execute(ctx, t, arguments, os.Stdout, os.Stderr)
}

func execute(ctx context.Context, t *testing.T, arguments []string, stdout, stderr io.Writer) int {
	root := newRoot(t)
	root.SetArgs(arguments)
	text, endText := folded(stdout)
	defer endText()
	out := &errorWriter{w: text}
	root.SetOut(out)
	root.SetErr(stderr)
	complaints, endComplaints := folded(stderr)
	defer endComplaints()
	command, err := checkTopic(root, arguments)
	if err == nil {
		command, err = root.ExecuteContextC(ctx)
	}
	var status *exit.Error
	switch {
	case unwritable(out.err):
		fmt.Fprintf(complaints, "interlock: %v\n", out.err)
		return exit.Internal
	case err == nil:
		return exit.OK
	case !errors.As(err, &status):
		fmt.Fprintf(complaints, "interlock: %v (see %s --help)\n", err, command.CommandPath())
		return exit.Usage
	}
	if status.Err != nil {
		fmt.Fprintf(complaints, "interlock: %v\n", status.Err)
	}
	return status.Status
}

// newRoot returns the program with all its commands.
func newRoot(t *testing.T) *cobra.Command {
	root := &cobra.Command{
		Use:   "interlock",
		Short: "Find the interleaving that breaks a distributed lock",
		Long: `Interlock runs real lock code against a simulated ZooKeeper, Redis or database.
It controls the order of messages, the passing of time and every fault. It
searches for a schedule that breaks the lock, shrinks the schedule, and replays
it.

Exit status:
  0  nothing found
  1  a violation
  2  bad usage
  3  nondeterminism, an unknown verdict, a failed write or an internal error
  4  a signal ended check or certify before it found anything
  5  a NATS server cannot be reached (check, worker)
  130  a signal ended bugs, conform, control, merge, replay --run, report-card
       or test`,
		Version:       program.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(suggestFlag)
	addGroup(root, "Search for violations:", newCheck(t), newInit(), newTest(), newHunt(t),
		newMerge(t), newWorker(t))
	addGroup(root, "Examine a schedule or a history:", newReplay(t), newRegress(), newExplore(t),
		newVerify())
	addGroup(root, "Judge locks:", newLocks(), newReportCard(t), newCertify(t))
	addGroup(root, "Use the simulated server:", server.NewServe(), server.NewControl())
	addGroup(root, "Less often needed:", newBugs(t), server.NewConform(), server.NewLaunch(),
		newScheduler())
	root.AddCommand(newDoctor(), newStrategiesTopic(), newFaultsTopic())
	for _, command := range root.Commands() {
		completeFlags(command)
	}
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.HasSubCommands() && !command.Runnable() {
			command.Args, command.RunE = unknownCommand, root.RunE
		}
	}
	return root
}

// suggestFlag adds the most similar flags to the error of an unknown flag, and says which flag
// needs a number.
func suggestFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && errors.Is(err, strconv.ErrSyntax) &&
		invalid.GetFlag().Value.Type() != "bool" {
		return fmt.Errorf("--%s needs a number, not %q", invalid.GetFlag().Name,
			invalid.GetValue())
	}
	var absent *pflag.NotExistError
	if !errors.As(err, &absent) {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if like := unknown.Alike(absent.GetSpecifiedName(), known); like != nil {
		return fmt.Errorf("%w: did you mean --%s?", err, strings.Join(like, " or --"))
	}
	return err
}

// addGroup adds commands that the help shows together.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, command := range commands {
		command.GroupID = title
	}
	root.AddCommand(commands...)
}

// unknownCommand returns an error if there are arguments. The first is not a command; the error
// suggests similar ones.
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
