package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge/trackrecord"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// bugsFlags holds the flags of bugs as they were given.
type bugsFlags struct {
	bounds      trackrecord.Bounds
	quick, json bool
}

// The bounds of bugs --quick.
var quickBounds = trackrecord.Bounds{
	Seeds: 1, Schedules: 20_000, Budget: time.Minute, TwinSchedules: 200, Shrink: true,
}

func newBugs(t *testing.T) *cobra.Command {
	f := bugsFlags{bounds: trackrecord.Bounds{Shrink: true}}
	command := &cobra.Command{
		Use:   "bugs [NAME...]",
		Short: "Find the known defects of published locks again",
		Long: `Bugs searches for each known defect of published locks, with the
configurations and the strategy of check in one worker, and once per seed. It
prints the median of the schedules and the seconds that it took, and the size
of the counterexample after shrinking. The same lock without the defect, its
twin, must pass. At the end it prints which strategies and configurations drew
the schedules that found them. Names restrict it to some of the defects (see
interlock locks --defects).

Exit status:
  0  every defect found, and no twin flagged
  1  a defect missed, or a twin flagged
  2  bad usage
  3  nondeterminism or an internal error
  130  a signal ended it; finished defects are printed`,
		Example: `  interlock bugs --quick
  interlock bugs no-recheck search-once --seeds 3`,
		RunE: func(cmd *cobra.Command, names []string) error {
			defects, err := namedDefects(names)
			if err != nil && f.json {
				return fmt.Errorf("%w; --json takes no file: it prints to standard output", err)
			}
			if err != nil {
				return err
			}
			if err := f.validate(cmd.Flags().Changed); err != nil {
				return err
			}
			return f.run(cmd, t, defects)
		},
	}
	flags := command.Flags()
	flags.IntVar(&f.bounds.Seeds, "seeds", 10, "campaigns per defect")
	flags.IntVar(&f.bounds.Schedules, "schedules", 20_000, "maximum schedules per campaign")
	flags.DurationVar(&f.bounds.Budget, "budget", time.Minute, "maximum running time per campaign")
	flags.IntVar(&f.bounds.TwinSchedules, "twins", 2000,
		"schedules that each lock without its defect must pass")
	flags.BoolVar(&f.quick, "quick", false, "one campaign per defect, and 200 schedules per twin")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return command
}

func (f *bugsFlags) validate(given func(string) bool) error {
	if f.quick {
		for _, name := range []string{"seeds", "schedules", "budget", "twins"} {
			if given(name) {
				return fmt.Errorf("--quick sets --%s; give only one of them", name)
			}
		}
		f.bounds = quickBounds
	}
	switch b := &f.bounds; {
	case b.Seeds < 1:
		return fmt.Errorf("--seeds: must be at least 1, not %d", b.Seeds)
	case b.Schedules < 1:
		return fmt.Errorf("--schedules: must be at least 1, not %d", b.Schedules)
	case b.Budget <= 0:
		return fmt.Errorf("--budget: must be positive, not %v", b.Budget)
	case b.TwinSchedules < 0:
		return fmt.Errorf("--twins: must not be negative, not %d", b.TwinSchedules)
	}
	return nil
}

func defectNames(all []subjects.Defect) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// namedDefects returns the defects with the names, or all without a name.
func namedDefects(names []string) ([]subjects.Defect, error) {
	all := subjects.Museum()
	if len(names) == 0 {
		return all, nil
	}
	var named []subjects.Defect
	for _, name := range names {
		i := slices.IndexFunc(all, func(d subjects.Defect) bool { return d.Name == name })
		if i < 0 {
			return nil, unknown.Name("defect", name, defectNames(all))
		}
		if !slices.ContainsFunc(named, func(d subjects.Defect) bool { return d.Name == name }) {
			named = append(named, all[i])
		}
	}
	return named, nil
}

// run measures the defects, with a line of progress for each.
func (f *bugsFlags) run(cmd *cobra.Command, t *testing.T, defects []subjects.Defect) error {
	entries := []*trackrecord.Entry{}
	missed, interrupted := 0, false
	for i := range defects {
		e, err := trackrecord.Measure(cmd.Context(), t, &defects[i], f.bounds)
		if cmd.Context().Err() != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "interrupted after %d of %d defects\n", i, len(defects))
			interrupted = true
			break
		}
		if err != nil {
			return exit.With(exit.Internal, fmt.Errorf("%s: %w", defects[i].Name, err))
		}
		entries = append(entries, e)
		verdict := fmt.Sprintf("found by schedule %d, %.2f s", e.Schedules, e.Seconds)
		if e.Missed() {
			missed++
			verdict = missedText(e)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d  %s: %s\n", i+1, len(defects), e.Name, verdict)
	}
	f.print(cmd.OutOrStdout(), entries)
	if interrupted {
		return exit.With(exit.Interrupted, nil)
	}
	if missed > 0 {
		return exit.With(exit.Violation, nil)
	}
	return nil
}

// missedText says what went wrong with a defect.
func missedText(e *trackrecord.Entry) string {
	var parts []string
	if e.Found < e.Seeds {
		parts = append(parts, fmt.Sprintf("MISSED by %d of %d campaigns", e.Seeds-e.Found, e.Seeds))
	}
	if e.Twin.Violation != "" {
		parts = append(parts, "TWIN FLAGGED: "+e.Twin.Violation)
	}
	return strings.Join(parts, "; ")
}

func (f *bugsFlags) print(w io.Writer, entries []*trackrecord.Entry) {
	if f.json {
		file.EncodeJSON(w, entries)
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table,
		"defect\tviolates\tfound\tschedules\tseconds\tsmallest counterexample\ttwin")
	for _, e := range entries {
		twin := fmt.Sprintf("passed %d", e.Twin.Schedules)
		switch {
		case e.Twin.Violation != "":
			twin = "flagged"
		case e.Twin.Undecided > 0:
			twin += fmt.Sprintf(", %d undecided", e.Twin.Undecided)
		case e.Twin.Schedules == 0:
			twin = "not run"
		}
		violates := string(e.Property)
		for _, other := range e.Others {
			violates += ", " + string(other)
		}
		fmt.Fprintf(table, "%s\t%s\t%d of %d\t%d\t%.2f\t%s\t%s\n", e.Name, violates, e.Found,
			e.Seeds, e.Schedules, e.Seconds, shrunkText(e.Shrunk), twin)
	}
	table.Flush()
	printShares(w, entries)
}

// printShares prints in how many campaigns a violation was found, how long the slowest took, and
// each strategy's and configuration's share of the finds.
func printShares(w io.Writer, entries []*trackrecord.Entry) {
	strategies, configurations := map[string]int{}, map[string]int{}
	campaigns, found, slowest := 0, 0, 0.0
	for _, e := range entries {
		campaigns += e.Seeds
		found += e.Found
		slowest = max(slowest, e.Slowest)
		for _, by := range e.FoundBy {
			strategies[by.Strategy]++
			configurations[by.Configuration]++
		}
	}
	fmt.Fprintf(w, "\n%d of %d campaigns found a violation; the slowest took %.2f s\n", found,
		campaigns, slowest)
	if found > 0 {
		printFinds(w, "strategy", strategies, found)
		printFinds(w, "configuration", configurations, found)
	}
}

// printFinds prints the shares of the named parts of the search, the largest first.
func printFinds(w io.Writer, heading string, finds map[string]int, all int) {
	names := slices.SortedFunc(maps.Keys(finds), func(a, b string) int {
		return cmp.Or(finds[b]-finds[a], strings.Compare(a, b))
	})
	fmt.Fprintf(w, "\nshare  %s\n", heading)
	for _, name := range names {
		fmt.Fprintf(w, "%3.0f %%  %s\n", 100*float64(finds[name])/float64(all), name)
	}
}

func shrunkText(s *trackrecord.Shrunk) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%d×%d, faults %d, deviations %d", s.Processes, s.Cycles, s.Faults,
		s.Decisions)
}
