package interlock

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// searchSettings are the variables that decide what a search of a seed finds, besides the seed and
// the number of schedules.
var searchSettings = []recording.Setting{
	{Variable: strategyVariable, Flag: "strategy"},
	{Variable: faultsVariable, Flag: "faults"},
	{Variable: claimsVariable, Flag: "claims"},
	{Variable: keepGoingVariable, Flag: "keep-going"},
	{Variable: inProcessVariable},
	{Variable: stallVariable},
	{Variable: memoryVariable},
}

// searchCommand returns the command that runs the search of a test again, up to a schedule. It
// finds the failure without the counterexample's directory, which often stays on a machine of CI.
func searchCommand(test string, seed uint64, schedule int) string {
	command := &recording.GoTest{Name: test, By: recording.Command()}
	settings := []recording.Setting{
		{Variable: seedVariable, Flag: "seed", Value: strconv.FormatUint(seed, 10)},
		{Variable: schedulesVariable, Flag: "schedules", Value: strconv.Itoa(schedule + 1)},
	}
	for _, s := range searchSettings {
		s.Value = os.Getenv(s.Variable)
		// The command of interlock test has the claims already.
		if s.Value == "" || command.By != "" && s.Variable == claimsVariable {
			continue
		}
		settings = append(settings, s)
	}
	return withScheduler(command.SearchCommand(settings, testedPackage()), command.By)
}

// withScheduler returns a command of go test with the goroutine scheduler if this program has it.
// The command interlock test has a flag for it.
func withScheduler(command, by string) string {
	if scheduler.Enabled && by == "" {
		return `GOFLAGS="$(interlock scheduler)" ` + command
	}
	return command
}

// searchAgain returns the [searchCommand] that finds a failure of the campaign, or "" if it may not
// find it: an exhaustive search does not number its schedules, and if runs of a schedule differ,
// the next search may take another course.
func searchAgain(test string, c *campaign.Campaign, r *report.Runs, f *report.Failure) string {
	if c.Strategy == strategy.ExhaustiveName || f.Unstable || r.Differing > 0 {
		return ""
	}
	return searchCommand(test, c.Seed, f.Schedule)
}

// testedPackage returns the import path of the package that this program tests, or the current
// directory if it is not known.
func testedPackage() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "" {
		return "."
	}
	path, ok := strings.CutSuffix(info.Path, ".test")
	if !ok {
		return "."
	}
	return path
}
