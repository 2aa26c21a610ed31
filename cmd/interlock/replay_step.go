package main

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/show/explore/terminal"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// runStep shows a recorded schedule step by step in the terminal.
func runStep(ctx context.Context, t *testing.T, path string, stderr io.Writer) error {
	if _, err := recording.Read(path); err != nil {
		return err
	}
	return stepThrough(ctx, func() (*explored, error) {
		return exploreRecorded(ctx, t, path, "", stderr)
	})
}

// stepThrough shows what open returns step by step in the terminal.
func stepThrough(ctx context.Context, open func() (*explored, error)) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return errors.New("--step needs a terminal; timeline.html of the counterexample, and " +
			"interlock explore --schedule, are for browsers")
	}
	e, err := open()
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	defer e.close()
	model, err := terminal.New(ctx, explore.New(e.runs), e.recorded)
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	program := tea.NewProgram(model, tea.WithoutSignalHandler())
	// A signal ends the context. Quit waits for the goroutine that reads the keys; with
	// tea.WithContext the program would close its input while that goroutine still reads.
	defer context.AfterFunc(ctx, program.Quit)()
	if _, err := program.Run(); err != nil {
		return exit.With(exit.Internal, err)
	}
	return nil
}
