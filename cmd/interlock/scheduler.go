package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/base/program"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/run/scheduler/overlay"
)

// schedulerFlag is the name of the flag that builds this program with the goroutine scheduler.
const schedulerFlag = "scheduler"

const schedulerUsage = "decide the order of goroutines too (builds interlock anew)"

func newScheduler() *cobra.Command {
	return &cobra.Command{
		Use:   "scheduler",
		Short: "Print the go flags that let schedules order goroutines",
		Long: `Scheduler writes an overlay for the Go runtime and prints the flags of the go
command that build with it. In a program that is built so, the order in which
the goroutines of a process run, and the case that a select takes, are decisions
of a schedule, and a process may hold a sync.Mutex across a request. The Go
installation is not changed. The first build takes longer, because the standard
library is built again.

Exit status:
  0  the flags are printed
  3  there is no overlay for this release of Go, or it cannot be written`,
		Example: `  GOFLAGS="$(interlock scheduler)" go test ./mylock`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags, err := schedulerFlags(cmd.Context())
			if err != nil {
				return exit.With(exit.Internal, err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(flags, " "))
			return err
		},
	}
}

// schedulerFlags writes the overlay for the Go release that the go command runs, and returns the
// flags for it.
func schedulerFlags(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	file, err := overlay.Install(string(out))
	if err != nil {
		return nil, err
	}
	return []string{"-overlay=" + file, "-tags=" + overlay.Tag}, nil
}

// withScheduler runs the command in a program with the goroutine scheduler, and returns how that
// ended. It returns false if this program has the scheduler, or Go's release is unknown: then the
// command goes on.
func withScheduler(cmd *cobra.Command, arguments []string) (ran bool, err error) {
	if scheduler.Enabled {
		return false, nil
	}
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	flags, err := schedulerFlags(ctx)
	if unknown := (*overlay.UnknownRelease)(nil); errors.As(err, &unknown) {
		fmt.Fprintf(stderr, "%v; going on without\n", err)
		return false, nil
	}
	if err != nil {
		return true, exit.With(exit.Internal, err)
	}
	scheduled, err := buildScheduled(ctx, flags, stderr)
	if err != nil {
		return true, exit.With(exit.Internal, err)
	}
	defer os.RemoveAll(filepath.Dir(scheduled))
	again := []string{cmd.Name()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != schedulerFlag {
			again = append(again, "--"+f.Name+"="+f.Value.String())
		}
	})
	child := exec.CommandContext(ctx, scheduled, append(append(again, "--"), arguments...)...)
	child.Args[0] = os.Args[0] // for the commands that it prints
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, cmd.OutOrStdout(), stderr
	err = child.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() > 0 {
		return true, exit.With(failed.ExitCode(), nil) // The child has printed why.
	}
	if err != nil {
		return true, exit.With(exit.Internal, err)
	}
	return true, nil
}

// buildScheduled builds this program with the flags, in a temporary directory, from its source if
// that exists here.
func buildScheduled(ctx context.Context, flags []string, stderr io.Writer) (string, error) {
	directory, err := os.MkdirTemp("", "interlock")
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "interlock")
	const command = "github.com/interlock-sim/interlock/cmd/interlock"
	build := exec.CommandContext(ctx, "go",
		append(append([]string{"build", "-o", path}, flags...), command)...)
	if build.Dir = program.Source(); build.Dir == "" {
		build.Args = append(append([]string{"go", "install"}, flags...),
			command+"@"+program.Version())
		build.Env = append(os.Environ(), "GOBIN="+directory)
	}
	build.Stdout, build.Stderr = stderr, stderr
	if err := build.Run(); err != nil {
		os.RemoveAll(directory)
		return "", fmt.Errorf("building %s with the scheduler: %w", command, err)
	}
	return path, nil
}
