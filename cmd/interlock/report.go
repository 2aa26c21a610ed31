package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

func coverageTotal(r *scenarios.Report) int {
	total := 0
	for kind := range faults.Kinds {
		total += r.Coverage.Total(kind)
	}
	return total
}

// The verdicts on a property.
const (
	verdictHolds         = "holds" // in every schedule that was run
	verdictViolated      = "violated"
	verdictNotClaimed    = "not claimed"
	verdictOutOfContract = "violated, out of contract"
	verdictUnknown       = "unknown"       // the checker reached its limits
	verdictNotExercised  = "not exercised" // no schedule put it to the test
)

// verdict judges a property by the run that failed and by its shortened form, which may break more
// than the first did.
func verdict(campaign *scenarios.Campaign, report *scenarios.Report, f *finding,
	p history.Property,
) string {
	if !campaign.Scenario.Subject.Claimed(p) {
		return verdictNotClaimed
	}
	if report.Schedules == 0 {
		return verdictNotExercised
	}
	if failure := failureOf(report); failure != nil {
		if judged := judge(failure, f, p); judged != verdictHolds {
			return judged
		}
	}
	if p == history.Linearizable && report.Totals.Unknown > 0 {
		return verdictUnknown
	}
	if exercised(report, p) == 0 && !(report.Exhaustive && report.Granted) {
		return verdictNotExercised
	}
	return verdictHolds
}

// exercised returns how often the schedules have put the property to the test. What every run tests
// is tested by each.
func exercised(r *scenarios.Report, p history.Property) int {
	if p == scenarios.NoPanic || p == scenarios.NoGoroutineLeak ||
		p == history.ZooKeeperConsistency {
		return r.Schedules
	}
	return r.Totals.Vacuity.Of(p)
}

// judge judges a property by a failure and by its counterexample alone, of which there may be none.
// What either breaks without an excuse is violated.
func judge(failure *scenarios.Failure, f *finding, p history.Property) string {
	judged := verdictHolds
	for _, v := range failure.Violations {
		switch {
		case v.Property != p:
		case !slices.Contains(failure.OutOfContract, v):
			return verdictViolated
		default:
			judged = verdictOutOfContract
		}
	}
	if f == nil {
		return judged
	}
	for _, v := range f.counterexample.Result.Violations {
		switch {
		case v.Property != p:
		case !f.counterexample.Scenario.OutOfContract(f.counterexample.Result, v):
			return verdictViolated
		default:
			judged = verdictOutOfContract
		}
	}
	return judged
}

// verdictLine returns a verdict, with how often the property was tested where that supports it.
func verdictLine(verdict string, times int) string {
	if verdict == verdictHolds && times > 0 {
		return fmt.Sprintf("%s  exercised %d times", verdict, times)
	}
	return verdict
}

// searchVerdict returns a verdict of a campaign, or of an exhaustive search with its reach.
func searchVerdict(r *scenarios.Report, verdict string, p history.Property) string {
	if r.Exhaustive && verdict == verdictHolds {
		return fmt.Sprintf("%s  %s", verdict, r.Reach(p))
	}
	return verdictLine(verdict, exercised(r, p))
}

// writeOutOfContract says of a violation that the lock does not promise to prevent it, if that is
// so.
func writeOutOfContract(w io.Writer, s *scenarios.Scenario, r *scenarios.Result,
	v *history.Violation,
) {
	if s.OutOfContract(r, v) {
		fmt.Fprintf(w, "  This is a stated limit: %s promises it for %v, and the scenario goes "+
			"beyond.\n"+
			"  Whoever uses the lock's fencing tokens is safe beyond that too: see fencing.\n",
			s.Subject.Name, s.DescribeContract())
	}
}

// writeCost says what locks and releases have cost.
func writeCost(w io.Writer, c *history.Cost) {
	if c.Releases == 0 && c.Acquires == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nwhat it cost, where nothing disturbed it")
	fmt.Fprintln(table, "\ttimes\tmean\tmost\t")
	fmt.Fprintf(table, "  processes woken by a release\t%d\t%.2f\t%d\t\n", c.Releases,
		mean(c.WakeUps, c.Releases), c.WakeUpsMax)
	fmt.Fprintf(table, "  requests for an acquire\t%d\t%.2f\t%d\t\n", c.Acquires,
		mean(c.Requests, c.Acquires), c.RequestsMax)
	if c.Bytes > 0 {
		fmt.Fprintf(table, "  bytes for an acquire\t%d\t%.0f\t%d\t\n", c.Acquires,
			mean(c.Bytes, c.Acquires), c.BytesMax)
	}
	table.Flush()
}

func mean(sum, times int) float64 {
	if times == 0 {
		return 0
	}
	return float64(sum) / float64(times)
}

// writeSometimes says how many schedules have reached each goal.
func writeSometimes(w io.Writer, campaign *scenarios.Campaign, r *scenarios.Report) {
	goals := campaign.SometimesCounts(r)
	if len(goals) == 0 || r.Exhaustive {
		return
	}
	fmt.Fprintln(w, "\nsometimes conditions, and how many schedules reached them")
	for _, g := range goals {
		count := fmt.Sprint(g.Schedules)
		if !g.Applicable {
			count = "-"
		}
		fmt.Fprintf(w, "  %8s  %s\n", count, g.Name)
	}
}

// writeReport says what was run, which faults struck when, and what became of each property.
func writeReport(w io.Writer, campaign *scenarios.Campaign, r *scenarios.Report, f *finding) {
	states := fmt.Sprintf("%d distinct states", r.States)
	switch {
	case r.StatesCapped:
		states = "more than " + states
	case r.Exhaustive:
		states = fmt.Sprintf("%d states stored", r.States)
	}
	fmt.Fprintf(w, "ran %d schedules: %d steps, %s, in %.1f s (%.0f schedules/s)\n", r.Schedules,
		r.Steps,
		states, r.Elapsed.Seconds(), float64(r.Schedules)/r.Elapsed.Seconds())
	if r.Exhaustive && r.Schedules > 0 {
		writeCoverage(w, r)
	}
	if len(r.Strategies) > 1 {
		writeStrategies(w, r)
	}
	if r.Unsettled > 0 {
		fmt.Fprintf(w, "%d schedules ended, by a bound of time or steps, while requests were "+
			"still "+
			"under way\n", r.Unsettled)
	}
	if r.Interrupted {
		fmt.Fprintln(w, "interrupted: this is what was found until then")
	}
	fmt.Fprintf(w, "trace digest %016x\n", r.Digest)
	writeFaultCoverage(w, campaign.Scenario.FaultKinds(), &r.Coverage)
	writeMissingCoverage(w, campaign, r)
	if r.Exhaustive {
		fmt.Fprintln(w, "\nproperties")
	} else {
		fmt.Fprintln(w, "\nproperties, in the schedules that were run")
	}
	for _, p := range scenarios.Properties() {
		fmt.Fprintf(w, "  %-25s%s\n", p, searchVerdict(r, verdict(campaign, r, f, p), p))
	}
	writeCost(w, &r.Totals.Cost)
	writeSometimes(w, campaign, r)
	if r.Effort.Running > 0 {
		fmt.Fprintf(w, "checks took %.1f %% of the time of the schedules\n",
			100*r.Effort.CheckingShare())
	}
	switch {
	case r.Schedules == 0:
		fmt.Fprintln(w, "\nno schedule was run")
	case len(campaign.NeverReached(r)) > 0:
		fmt.Fprintf(w, "\nno violation found, but a sometimes condition was never reached, so "+
			"this "+
			"says too little about the lock: %s\n", strings.Join(campaign.NeverReached(r), "; "))
	case len(campaign.MissingCoverage(r)) > 0:
		fmt.Fprintln(w, "\nno violation found, but required fault coverage is missing, so this "+
			"says "+
			"too little about the lock")
	case r.OutOfContractSchedules > 0 && r.Failure == nil:
		fmt.Fprintf(w, "\nno violation found of what the lock promises; %d schedules broke %s "+
			"beyond "+
			"%v\n", r.OutOfContractSchedules, r.OutOfContract.OutOfContract[0].Property,
			campaign.Scenario.DescribeContract())
	case r.Failure == nil && r.Totals.Unknown > 0:
		fmt.Fprintf(w, "\nno violation found, but of %d schedules it is unknown whether they are "+
			"linearizable\n", r.Totals.Unknown)
	case r.Failure == nil && r.Nondeterministic == nil && r.Unsettled > 0:
		fmt.Fprintf(w, "\nno violation found, but %d schedules did not come to rest, so it is "+
			"unknown "+
			"how they go on\n", r.Unsettled)
	case r.Failure == nil && r.Nondeterministic == nil:
		fmt.Fprintln(w, "\nno violation found")
	}
}

// writeMissingCoverage says which faults were planned and have not landed, and which have not where
// they were required to.
func writeMissingCoverage(w io.Writer, campaign *scenarios.Campaign, r *scenarios.Report) {
	if never := campaign.NeverCovered(r); len(never) > 0 {
		fmt.Fprintf(w, "planned, never covered: %s\n", strings.Join(never, ", "))
	}
	if lacking := campaign.MissingCoverage(r); len(lacking) > 0 {
		fmt.Fprintf(w, "required, never covered: %s\n", joinStrings(lacking))
	}
}

// joinStrings puts what can describe itself into a list.
func joinStrings[T fmt.Stringer](things []T) string {
	texts := make([]string, len(things))
	for i, thing := range things {
		texts[i] = thing.String()
	}
	return strings.Join(texts, ", ")
}

// writeCoverage says how much of all schedules an exhaustive search has seen.
func writeCoverage(w io.Writer, r *scenarios.Report) {
	fmt.Fprintf(w, "%d transitions between states, the longest schedule has %d decisions\n",
		r.Transitions, r.Depth)
	if r.LocalHistories > 0 {
		fmt.Fprintf(w, "%d local histories, %d schedules validated with live processes\n",
			r.LocalHistories, r.Validated)
	}
	if r.Complete {
		fmt.Fprintf(w, "complete: %s\n", r.Scope)
		if !r.FairSuffixes {
			fmt.Fprintln(w, "what must happen in the end was judged at the end of schedules only; "+
				"--fair-suffixes judges it from every state")
		}
		return
	}
	if r.Deviations > 0 && r.CutOff+r.Unsettled == 0 {
		fmt.Fprintf(w, "complete for schedules that deviate from the default policy at most %d "+
			"times\n",
			r.Deviations)
	}
	fmt.Fprintf(w, "not complete: in the states of the last schedule %d more steps can be tried",
		r.Untried)
	if r.CutOff > 0 {
		fmt.Fprintf(w, "; %d schedules were too long to be followed to their end", r.CutOff)
	}
	if r.Unsettled > 0 {
		fmt.Fprintf(w, "; %d schedules did not come to rest", r.Unsettled)
	}
	fmt.Fprintln(w)
	if r.MemoryExhausted {
		fmt.Fprintln(w, "ended because it holds as much memory as it may; GOMEMLIMIT=20GiB in the "+
			"environment would allow 20 GiB, and --checkpoint takes less")
	}
}

// writeStrategies says which strategy has run how many of the schedules, and which one found the
// violation.
func writeStrategies(w io.Writer, r *scenarios.Report) {
	fmt.Fprint(w, "schedules by strategy:")
	for i, share := range r.Strategies {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, " %s %d with %d new behaviours", share.Strategy, share.Schedules,
			share.Behaviours)
		if share.Failed {
			fmt.Fprint(w, " (found it)")
		}
	}
	fmt.Fprintln(w)
}

func writeFaultCoverage(w io.Writer, planned []faults.Kind, landed *scenarios.FaultCoverage) {
	if len(planned) == 0 {
		fmt.Fprintln(w, "\nno faults were planned")
		return
	}
	fmt.Fprintln(w, "\nfault coverage, by what the process was doing")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\t")
	for phase := range faults.Phases {
		fmt.Fprintf(table, "%v\t", phase)
	}
	fmt.Fprintln(table, "total\t")
	for kind := range faults.Kinds {
		if landed.Total(kind) == 0 && !slices.Contains(planned, kind) {
			continue
		}
		fmt.Fprintf(table, "  %v\t", kind)
		for phase := range faults.Phases {
			fmt.Fprintf(table, "%d\t", landed[kind][phase])
		}
		fmt.Fprintf(table, "%d\t\n", landed.Total(kind))
	}
	table.Flush()
}

// A report is what --json writes. Readers should ignore fields that they do not know.
type report struct {
	Version   int         `json:"version"`
	Status    int         `json:"status"` // with which the program ends
	Lock      string      `json:"lock"`
	Clients   int         `json:"clients"`
	Cycles    int         `json:"cycles"`
	Servers   int         `json:"servers"`
	Client    string      `json:"client"`
	Strategy  string      `json:"strategy"`
	Faults    faults.Plan `json:"faults"`
	Seed      uint64      `json:"seed"`
	Schedules int         `json:"schedules"`
	Steps     int         `json:"steps"`
	States    int         `json:"states"`
	// states were counted no further
	StatesCapped bool `json:"states_capped"`
	// every schedule was run; only an exhaustive search says so
	Complete bool `json:"complete"`
	// of a complete search: every schedule of what
	Scope       string `json:"scope,omitempty"`
	Transitions int    `json:"transitions,omitempty"`
	Depth       int    `json:"depth,omitempty"`
	// of processes that an exhaustive search has met
	LocalHistories int `json:"local_histories,omitempty"`
	// schedules that it performed with the processes' code
	Validated int `json:"validated,omitempty"`
	// steps in the states of the last schedule that were not tried
	Untried int `json:"untried,omitempty"`
	// schedules that were too long
	CutOff int `json:"cut_off,omitempty"`
	// schedules that ended at a bound while requests were under way
	Unsettled  int                       `json:"unsettled,omitempty"`
	Strategies []scenarios.StrategyStats `json:"strategies,omitempty"`
	// an exhaustive search ended because it held as much memory as it may
	MemoryExhausted bool    `json:"memory_exhausted,omitempty"`
	Interrupted     bool    `json:"interrupted"`
	Seconds         float64 `json:"seconds"`
	TraceDigest     string  `json:"trace_digest"`
	// by kind and phase
	Coverage map[string]map[string]int `json:"fault_coverage"`
	// though they were planned
	NeverCovered []string `json:"faults_never_covered,omitempty"`
	// for which the campaign is not green
	MissingCoverage []faults.CoverageCell `json:"missing_coverage,omitempty"`
	// of pauses and clocks
	Severity faults.Severity `json:"severity"`
	// schedules that broke what the lock does not promise there
	OutOfContract int              `json:"out_of_contract"`
	Properties    []propertyReport `json:"properties"`
	// of which it was not found out whether they are linearizable
	Unknown   int                        `json:"unknown_schedules"`
	Cost      costReport                 `json:"cost"`
	Sometimes []scenarios.SometimesCount `json:"sometimes,omitempty"`
	// for which the campaign is not green
	NeverReached []string `json:"sometimes_never,omitempty"`
	// of the time of the schedules, from 0 to 1
	CheckShare float64           `json:"checking_share,omitempty"`
	Violations []violationReport `json:"violations"`
	Problem    string            `json:"nondeterminism,omitempty"`
	Error      string            `json:"error,omitempty"` // with which the program ends
}

type propertyReport struct {
	Name    history.Property `json:"name"`
	Claimed bool             `json:"claimed"`
	Verdict string           `json:"verdict"`
	Times   int              `json:"exercised"` // how often it was put to the test
	// of an exhaustive search, if the property holds
	Reach scenarios.Reach `json:"reach,omitempty"`
}

type costReport struct {
	Releases    int `json:"releases"`
	WakeUps     int `json:"wake_ups"`
	WakeUpsMax  int `json:"wake_ups_max"` // by one release
	Acquires    int `json:"acquires"`     // that nothing disturbed
	Requests    int `json:"requests"`
	RequestsMax int `json:"requests_max"` // for one acquire
	Bytes       int `json:"bytes"`
	BytesMax    int `json:"bytes_max"`
}

type violationReport struct {
	Property      history.Property `json:"property"`
	Signature     string           `json:"signature"`
	Detail        string           `json:"detail"`
	Schedule      int              `json:"schedule"`
	Artifact      string           `json:"artifact"`
	Replay        string           `json:"replay"`
	OutOfContract bool             `json:"out_of_contract"` // the lock does not promise it there
}

func jsonReport(c *scenarios.Campaign, r *scenarios.Report, f *finding, outcome error) *report {
	out := &report{
		Version: 2, Unknown: r.Totals.Unknown, Lock: c.Scenario.Subject.Name,
		Clients: c.Scenario.Clients,
		Cycles:  c.Scenario.Cycles, Servers: max(1, c.Scenario.Servers),
		Client: c.Scenario.Client.String(), Strategy: c.Strategy, Faults: c.Scenario.Faults,
		Seed:      c.Seed,
		Schedules: r.Schedules, Steps: r.Steps, States: r.States, StatesCapped: r.StatesCapped,
		Complete: r.Complete, Scope: r.Scope, Transitions: r.Transitions, Depth: r.Depth,
		LocalHistories: r.LocalHistories, Validated: r.Validated, Untried: r.Untried,
		CutOff:     r.CutOff,
		Unsettled:  r.Unsettled,
		Strategies: r.Strategies, MemoryExhausted: r.MemoryExhausted, Interrupted: r.Interrupted,
		Seconds: r.Elapsed.Seconds(), TraceDigest: fmt.Sprintf("%016x", r.Digest),
		NeverCovered: c.NeverCovered(r), MissingCoverage: c.MissingCoverage(r),
		Severity: c.Scenario.Severity, OutOfContract: r.OutOfContractSchedules,
		Coverage: make(map[string]map[string]int), Violations: []violationReport{},
		Cost: costReport(r.Totals.Cost), Sometimes: c.SometimesCounts(r),
		NeverReached: c.NeverReached(r),
		CheckShare:   r.Effort.CheckingShare(),
	}
	for kind := range faults.Kinds {
		phases := make(map[string]int)
		for phase := range faults.Phases {
			phases[phase.String()] = r.Coverage[kind][phase]
		}
		out.Coverage[kind.String()] = phases
	}
	for _, p := range scenarios.Properties() {
		judged := propertyReport{
			Name: p, Claimed: c.Scenario.Subject.Claimed(p),
			Verdict: verdict(c, r, f, p), Times: exercised(r, p),
		}
		if r.Exhaustive && judged.Verdict == verdictHolds {
			judged.Reach = r.Reach(p)
		}
		out.Properties = append(out.Properties, judged)
	}
	if failure := failureOf(r); failure != nil {
		out.Violations = append(out.Violations, violationReports(failure, f)...)
	}
	if r.Nondeterministic != nil {
		out.Problem = r.Nondeterministic.Error()
	}
	out.Status, out.Error = exitStatus(outcome)
	return out
}

// violationReports returns what the counterexample breaks, or what was found to be broken where
// there is no counterexample.
func violationReports(failure *scenarios.Failure, f *finding) (all []violationReport) {
	if f == nil {
		for _, v := range failure.Violations {
			all = append(all, violationReport{
				v.Property, v.Signature(), v.Detail, failure.Schedule,
				"", "", slices.Contains(failure.OutOfContract, v),
			})
		}
		return all
	}
	c := f.counterexample
	for _, v := range c.Result.Violations {
		all = append(all, violationReport{
			v.Property, v.Signature(), v.Detail, failure.Schedule,
			f.directory, f.replay, c.Scenario.OutOfContract(c.Result, v),
		})
	}
	return all
}

// exitStatus returns the status and the error with which the program ends, as reports have them.
func exitStatus(outcome error) (status int, text string) {
	var ends *statusError
	if !errors.As(outcome, &ends) {
		return statusOK, ""
	}
	if ends.err != nil {
		text = ends.err.Error()
	}
	return ends.status, text
}

func encodeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
