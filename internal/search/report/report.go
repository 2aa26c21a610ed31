// Package report is what searches report: how much was run, what it exercised, and what failed.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// A Report is what a search has found: a [Campaign], or the report of an [Exhaustive] search.
type Report interface {
	// Common returns the part that searches of both kinds report.
	Common() *Runs
	// Exercised returns how often the runs tested a property. An exhaustive search does not count
	// tests of most properties.
	Exercised(history.Property) int
}

// Runs are what searches of both kinds report of their runs.
type Runs struct {
	Schedules int
	Steps     int
	States    int    // distinct state keys; in an exhaustive search, those stored
	Depth     int    // decisions of the longest schedule
	Digest    Digest // over the trace hashes of all schedules in order
	Coverage  engine.FaultCoverage
	Targeted  engine.TargetCoverage
	Elapsed   time.Duration

	Unknown int // schedules whose linearizability is unknown
	// Unsettled is how many schedules reached a bound of time or steps with requests in flight; see
	// [engine.Result].
	Unsettled   int
	Interrupted bool // the context ended before the bounds were reached

	Failure *Failure // the first schedule that violates a property

	RunTwice int // schedules that were run a second time
	// Differing is how many of these differed then, and Nondeterministic the first of them.
	Differing        int
	Nondeterministic *engine.Nondeterminism
	DifferingLines   []string // where they began to differ, at most [differingLinesMax] lines

	// OutOfContract is the first schedule with a violation that the lock's contract does not
	// exclude; see [engine.Result.OutOfContract].
	OutOfContract          *Failure
	OutOfContractSchedules int // number of such schedules

	KeptGoing bool             // failures did not end the search
	Distinct  DistinctFailures // all distinct failures of such a search
	// DistinctOutOfContract are the distinct violations out of contract of such a search. Neither
	// the checkpoints of exhaustive searches nor the records of shards have them.
	DistinctOutOfContract DistinctFailures
}

// A Failure is a schedule that violates a property.
type Failure struct {
	Schedule int    // its number in the campaign
	Strategy string // the name of the strategy that drew it
	// Configuration is the index of the configuration in which it ran.
	Configuration int

	Deviations []engine.Deviation
	Violations []*history.Violation
	// Unstable reports that a second run of the schedule differed.
	Unstable bool
	// OutOfContract are the violations that the lock's contract does not exclude; see
	// [engine.Result.OutOfContract].
	OutOfContract []*history.Violation
}

// Common implements [Report].
func (r *Runs) Common() *Runs { return r }

// Exercised returns how often the runs tested a property that every run tests, or 0.
func (r *Runs) Exercised(p history.Property) int {
	switch p {
	case history.NoPanic, history.NoGoroutineLeak, history.ZooKeeperConsistency:
		return r.Schedules
	}
	return 0
}

// Finished reports whether nothing cut the search short.
func (r *Runs) Finished() bool {
	return (r.Failure == nil || r.KeptGoing) && !r.Interrupted
}

// Add counts a run. The caller counts its states, and judges it.
func (r *Runs) Add(result *engine.Result) {
	r.Digest = r.Digest.Add(result.TraceHash)
	r.Schedules++
	r.Steps += result.Steps
	r.Coverage.Add(&result.Coverage)
	r.Targeted.Add(&result.Targeted)
	if result.Undecided {
		r.Unknown++
	}
	if result.Unsettled {
		r.Unsettled++
	}
}

// differingLinesMax bounds the lines that a report names.
const differingLinesMax = 8

// Differ notes that a schedule differed when it was run again.
func (r *Runs) Differ(n *engine.Nondeterminism) {
	r.Differing++
	if r.Nondeterministic == nil {
		r.Nondeterministic = n
	}
	if n.Line != "" {
		r.addLine(n.Line)
	}
}

func (r *Runs) addLine(line string) {
	if len(r.DifferingLines) < differingLinesMax && !slices.Contains(r.DifferingLines, line) {
		r.DifferingLines = append(r.DifferingLines, line)
	}
}

// DescribeDiffering says how many schedules differed when they were run twice, and where that
// began. It returns "" if none did.
func (r *Runs) DescribeDiffering() string {
	if r.Differing == 0 {
		return ""
	}
	text := fmt.Sprintf("nondeterministic: %d of %d schedules that were run twice differed",
		r.Differing, r.RunTwice)
	if r.RunTwice == 0 { // An exhaustive search comes to each state many times.
		text = fmt.Sprintf("nondeterministic: %d schedules did not run as before", r.Differing)
	}
	if len(r.DifferingLines) > 0 {
		text += ", from " + strings.Join(r.DifferingLines, ", ")
	}
	return text
}

// append adds later runs of the same search.
func (r *Runs) append(later *Runs) {
	r.Digest = r.Digest.Join(later.Digest, later.Schedules)
	r.Schedules += later.Schedules
	r.Steps += later.Steps
	r.Depth = max(r.Depth, later.Depth)
	r.Coverage.Add(&later.Coverage)
	r.Targeted.Add(&later.Targeted)
	r.Elapsed += later.Elapsed
	r.Unknown += later.Unknown
	r.Unsettled += later.Unsettled
	r.Interrupted = r.Interrupted || later.Interrupted
	if r.Failure == nil {
		r.Failure = later.Failure
	}
	r.RunTwice += later.RunTwice
	r.Differing += later.Differing
	if r.Nondeterministic == nil {
		r.Nondeterministic = later.Nondeterministic
	}
	for _, line := range later.DifferingLines {
		r.addLine(line)
	}
	if r.OutOfContract == nil {
		r.OutOfContract = later.OutOfContract
	}
	r.OutOfContractSchedules += later.OutOfContractSchedules
	r.Distinct.Merge(later.Distinct)
	r.DistinctOutOfContract.Merge(later.DistinctOutOfContract)
}
