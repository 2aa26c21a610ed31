package main

import (
	"context"
	"errors"
	"os"
	"testing"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/explore"
	"github.com/interlock-sim/interlock/internal/explore/terminal"
)

// runStep shows a recorded schedule step by step in the terminal.
func runStep(ctx context.Context, t *testing.T, path string) error {
	r, err := newReplayer(path)
	if err != nil {
		return err
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return errors.New("--step needs a terminal; interlock explore --schedule shows a page")
	}
	explorer := explore.New(engine.NewRunner(t), *r.scenario)
	model, err := terminal.New(ctx, explorer, r.recording.Deviations)
	if err != nil {
		return &statusError{statusInternal, err}
	}
	// The context ends with a signal.
	_, err = tea.NewProgram(model, tea.WithContext(ctx), tea.WithoutSignalHandler()).Run()
	if err != nil && ctx.Err() == nil {
		return &statusError{statusInternal, err}
	}
	return nil
}
