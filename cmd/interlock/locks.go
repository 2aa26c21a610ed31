package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/base/file"
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
		Use:   "locks [name...]",
		Short: "List the bundled locks, or what the named ones claim",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			switch {
			case defects && len(names) > 0:
				return errors.New("--defects takes no names")
			case defects && asJSON:
				return printDefectsJSON(cmd)
			case defects:
				return printDefects(cmd)
			}
			locks := bundled.All()
			if len(names) > 0 {
				locks = nil
			}
			for _, name := range names {
				lock, err := bundled.Named(name)
				if err != nil {
					return err
				}
				locks = append(locks, lock)
			}
			switch {
			case asJSON:
				return printLocksJSON(cmd, locks)
			case len(names) > 0:
				return printClaims(cmd.OutOrStdout(), locks)
			}
			return printLocks(cmd.OutOrStdout(), locks)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) (
			[]string, cobra.ShellCompDirective,
		) {
			return lockNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	command.Flags().BoolVar(&defects, "defects", false,
		"list the locks with one defect, and what it violates")
	return command
}

// printLocks prints one line for each lock, in groups: in the order of the first lock of each. A
// line that the terminal has no room for is continued below.
func printLocks(w io.Writer, locks []scenarios.Subject) error {
	kinds := zookeeperKinds()
	var titles []string
	groups := make(map[string][]scenarios.Subject)
	for i := range locks {
		title := cmp.Or(kinds[locks[i].Name], "On "+locks[i].EffectiveService().Name()+":")
		if groups[title] == nil {
			titles = append(titles, title)
		}
		groups[title] = append(groups[title], locks[i])
	}
	for _, title := range titles {
		fmt.Fprintln(w, title)
		for _, s := range groups[title] {
			printRow(w, s.Name, s.Summary)
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintln(w, "interlock locks NAME prints what a lock claims.")
	return err
}

// zookeeperKinds returns the titles of the groups of locks on ZooKeeper, by the names of the locks.
func zookeeperKinds() map[string]string {
	kinds := make(map[string]string)
	for _, s := range subjects.All() {
		kinds[s.Name] = "Published, or for one purpose, on ZooKeeper:"
	}
	for _, s := range subjects.Correct() {
		kinds[s.Name] = "Correct, on ZooKeeper:"
	}
	for _, d := range subjects.Defects() {
		kinds[d.Broken.Name] = "Broken, on ZooKeeper, each by one defect (see --defects):"
	}
	return kinds
}

// printClaims prints what locks claim.
func printClaims(w io.Writer, locks []scenarios.Subject) error {
	var err error
	for i := range locks {
		if i > 0 {
			fmt.Fprintln(w)
		}
		_, err = fmt.Fprint(w, timeline.Wrap(locks[i].Name+": "+locks[i].Summary, rowWidth(w), ""))
		for _, claim := range locks[i].Claims {
			printRow(w, string(claim), check.Statement(claim))
		}
	}
	return err
}

// printRow prints a name, and a text in the column to its right.
func printRow(w io.Writer, name, text string) {
	const column = 26
	rows := timeline.Wrap(text, rowWidth(w), strings.Repeat(" ", column))
	fmt.Fprintf(w, "  %-*s%s", column-2, name, strings.TrimLeft(rows, " "))
}

// rowWidth returns the width of the terminal to which a text is written, or much if it is none.
func rowWidth(w io.Writer) int {
	if terminal := terminalOf(w); terminal != nil {
		if width, _, err := term.GetSize(int(terminal.Fd())); err == nil && width >= 60 {
			return width
		}
	}
	return 1000
}

func printLocksJSON(cmd *cobra.Command, locks []scenarios.Subject) error {
	list := make([]lockJSON, len(locks))
	for i, s := range locks {
		list[i] = lockJSON{s.Name, s.Summary, s.Claims}
	}
	return file.EncodeJSON(cmd.OutOrStdout(), list)
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
	return file.EncodeJSON(cmd.OutOrStdout(), list)
}
