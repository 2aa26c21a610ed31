package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/history"
)

func newVerify() *cobra.Command {
	var names []string
	command := &cobra.Command{
		Use:   "verify HISTORY",
		Short: "Check a recorded history for the properties of a lock",
		Long: "Verify reads a history, such as the trace.jsonl of a counterexample, or standard input if it is -, and says\n" +
			"of each property whether it holds. It runs nothing. The history must be a whole one: of one that was cut short,\n" +
			"progress, no-orphan and watch speak too soon.\n\n" +
			"Exit status: 0 all hold, 1 one is violated, 2 the history or a flag is wrong.",
		Example: "  interlock verify interlock-failures/no-recheck-fifo-0123456789abcdef/trace.jsonl --property fifo,progress",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return fmt.Errorf("verify takes one history, a file or - for standard input, not %d", len(arguments))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			properties, err := parseProperties(names)
			if err != nil {
				return err
			}
			log, err := readHistory(arguments[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			return runVerify(log, properties, cmd.OutOrStdout())
		},
	}
	command.Flags().StringSliceVar(&names, "property", nil, "check only these `properties`, separated by commas")
	return command
}

func parseProperties(names []string) ([]history.Property, error) {
	if len(names) == 0 {
		return history.Properties(), nil
	}
	properties := make([]history.Property, len(names))
	for i, name := range names {
		var err error
		if properties[i], err = history.ParseProperty(name); err != nil {
			return nil, fmt.Errorf("--property: %w", err)
		}
	}
	return properties, nil
}

// readHistory reads the history in a file, or from standard input if the path is -.
func readHistory(path string, stdin io.Reader) (*history.Log, error) {
	name, from := "standard input", stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		name, from = path, file
	}
	log, err := history.Read(from)
	if err == nil && log.Len() == 0 {
		err = errors.New("the history is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return log, nil
}

func runVerify(log *history.Log, properties []history.Property, w io.Writer) error {
	fmt.Fprintf(w, "%d events, trace hash %016x\n", log.Len(), log.Hash())
	var checker history.Checker
	var violations []*history.Violation
	for _, property := range properties {
		v := checker.Check(property, log.Events())
		if v == nil {
			fmt.Fprintf(w, "  %-18s%s\n", property, holds)
			continue
		}
		violations = append(violations, v)
		fmt.Fprintf(w, "  %-18s%s at event %d: %s\n", property, violated, v.Event, v.Reason)
	}
	if violations == nil {
		return nil
	}
	fmt.Fprintln(w)
	timeline := &history.Timeline{Events: log.Events(), Violations: violations}
	if err := timeline.Decisive(w, 0); err != nil {
		return &statusError{statusInternal, err}
	}
	return &statusError{statusViolation, nil}
}
