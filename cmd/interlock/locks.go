package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

type lockJSON struct {
	Name    string             `json:"name"`
	Summary string             `json:"summary"`
	Claims  []history.Property `json:"claims"`
}

func newLocks() *cobra.Command {
	var asJSON, defects bool
	command := &cobra.Command{
		Use:   "locks",
		Short: "List the bundled locks and the properties that they claim",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case defects && asJSON:
				return printDefectsJSON(cmd)
			case defects:
				return printDefects(cmd)
			case asJSON:
				return printLocksJSON(cmd)
			}
			for _, s := range bundled.All() {
				fmt.Fprintf(cmd.OutOrStdout(), "%-23s%s\n%-23sclaims %s\n", s.Name, s.Summary, "",
					claimsOf(s))
			}
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	command.Flags().BoolVar(&defects, "defects", false,
		"list the broken locks and the property that each violates")
	return command
}

// claimsOf lists the claims of a lock.
func claimsOf(s scenarios.Subject) string {
	names := make([]string, len(s.Claims))
	for i, p := range s.Claims {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

func printLocksJSON(cmd *cobra.Command) error {
	all := bundled.All()
	list := make([]lockJSON, len(all))
	for i, s := range all {
		list[i] = lockJSON{s.Name, s.Summary, s.Claims}
	}
	return encodeJSON(cmd.OutOrStdout(), list)
}

type defectJSON struct {
	Name     string           `json:"name"`
	Property history.Property `json:"property"`
	Summary  string           `json:"summary"`
	Source   string           `json:"source"`
	// the name of the same lock without the defect
	Twin string `json:"twin"`
}

func printDefects(cmd *cobra.Command) error {
	for _, d := range subjects.Museum() {
		fmt.Fprintf(cmd.OutOrStdout(), "%-23s%-25s%s\n%-48sseen in: %s\n", d.Name, d.Property,
			d.Summary,
			"", d.Source)
	}
	return nil
}

func printDefectsJSON(cmd *cobra.Command) error {
	var list []defectJSON
	for _, d := range subjects.Museum() {
		list = append(list, defectJSON{d.Name, d.Property, d.Summary, d.Source, d.Fixed.Name})
	}
	return encodeJSON(cmd.OutOrStdout(), list)
}
