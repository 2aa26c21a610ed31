package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
)

// completions returns the values that shells complete, by the name of the flag.
var completions = map[string]func() []string{
	"lock":     lockNames,
	"strategy": func() []string { return append(strategy.Names(), strategy.ExhaustiveName) },
	"client": func() []string {
		return []string{scenarios.Model.String(), scenarios.Real.String()}
	},
	"faults":  faultNames,
	"service": services,
	"shape":   func() []string { return shapes("") },
	"ci":      workflowNames,
}

func lockNames() (names []string) {
	for _, s := range bundled.All() {
		names = append(names, s.Name)
	}
	return names
}

func faultNames() []string {
	names := []string{"none", "default"}
	for g := range faults.Groups {
		names = append(names, g.String()+"=")
	}
	for k := range faults.Kinds {
		names = append(names, k.String()+"=")
		names = append(names, "no:"+k.String())
	}
	return names
}

// completeFlags lets shells complete the values of a command's flags. In a list, they complete the
// last element.
func completeFlags(command *cobra.Command) {
	for name, values := range completions {
		if command.Flags().Lookup(name) == nil {
			continue
		}
		complete := func(_ *cobra.Command, _ []string, given string) (
			[]string, cobra.ShellCompDirective,
		) {
			list := given[:strings.LastIndex(given, ",")+1]
			last := given[len(list):]
			var found []string
			for _, value := range values() {
				if strings.HasPrefix(value, last) {
					found = append(found, list+value)
				}
			}
			return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace |
				cobra.ShellCompDirectiveKeepOrder
		}
		if err := command.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // The flag exists, and has no completion yet.
		}
	}
}
