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
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/report"
)

// coverageTotal returns the number of faults that struck.
func coverageTotal(r *report.Report) int {
	total := 0
	for kind := range faults.Kinds {
		total += r.Coverage.Total(kind)
	}
	return total
}

// The verdicts on a property.
const (
	verdictHolds         = "holds" // in every schedule run
	verdictViolated      = "violated"
	verdictNotClaimed    = "not claimed"
	verdictOutOfContract = "violated, out of contract"
	verdictUnknown       = "unknown"       // a checker reached its limit
	verdictNotExercised  = "not exercised" // no schedule tested it
)

// verdict returns the verdict on a property. It counts the violations of the failed run and those
// of its shrunk schedule, which may violate other properties.
func verdict(campaign *campaign.Campaign, report *report.Report, found []*finding,
	p history.Property,
) string {
	if !campaign.Scenario.Subject.Claimed(p) {
		return verdictNotClaimed
	}
	if report.Schedules == 0 {
		return verdictNotExercised
	}
	if judged := judge(report, found, p); judged != verdictHolds {
		return judged
	}
	if p == history.Linearizable && report.Totals.Unknown > 0 {
		return verdictUnknown
	}
	if exercised(report, p) == 0 && !(report.Exhaustive && report.Granted) {
		return verdictNotExercised
	}
	return verdictHolds
}

// exercised returns how often the schedules tested the property. Every run tests no-panic,
// no-goroutine-leak and zookeeper-consistency.
func exercised(r *report.Report, p history.Property) int {
	if p == engine.NoPanic || p == engine.NoGoroutineLeak ||
		p == history.ZooKeeperConsistency {
		return r.Schedules
	}
	return r.Totals.Vacuity.Of(p)
}

// judge returns the verdict on a property from the failures and their counterexamples alone. A
// violation within the contract counts more than one outside.
func judge(r *report.Report, found []*finding, p history.Property) string {
	judged := verdictHolds
	weigh := func(v *history.Violation, outOfContract bool) {
		switch {
		case v.Property != p || judged == verdictViolated:
		case outOfContract:
			judged = verdictOutOfContract
		default:
			judged = verdictViolated
		}
	}
	if failure := failureOf(r); failure != nil {
		for _, v := range failure.Violations {
			weigh(v, slices.Contains(failure.OutOfContract, v))
		}
	}
	for _, d := range r.Distinct {
		weigh(&history.Violation{Property: d.Property}, false)
	}
	for _, f := range found {
		for _, v := range f.counterexample.Result.Violations {
			weigh(v, f.counterexample.Scenario.OutOfContract(f.counterexample.Result, v))
		}
	}
	return judged
}

// verdictLine returns the verdict, and how often the property was tested if it holds.
func verdictLine(verdict string, times int) string {
	if verdict == verdictHolds && times > 0 {
		return fmt.Sprintf("%s  exercised %s", verdict, counted(times, "time"))
	}
	return verdict
}

// searchVerdict returns the verdict line of a campaign, or the verdict of an exhaustive search with
// its reach.
func searchVerdict(r *report.Report, verdict string, p history.Property) string {
	if r.Exhaustive && verdict == verdictHolds {
		return fmt.Sprintf("%s  %s", verdict, r.Reach(p))
	}
	return verdictLine(verdict, exercised(r, p))
}

// writeOutOfContract explains a violation that is out of contract. It writes nothing of others.
func writeOutOfContract(w io.Writer, s *engine.Scenario, r *engine.Result,
	v *history.Violation,
) {
	if s.OutOfContract(r, v) {
		fmt.Fprintf(w, "  Out of contract: %s guarantees this for %v, and the scenario exceeds "+
			"that.\n"+
			"  Fencing tokens protect the resource even then: see the property fencing.\n",
			s.Subject.Name, s.DescribeContract())
	}
}

// writeCost writes the cost of acquisitions and releases.
func writeCost(w io.Writer, c *check.Cost) {
	if c.Releases == 0 && c.Acquires == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\ncost of undisturbed acquisitions")
	fmt.Fprintln(table, "\tcount\tmean\tmax\t")
	fmt.Fprintf(table, "  processes woken per release\t%d\t%.2f\t%d\t\n", c.Releases,
		mean(c.WakeUps, c.Releases), c.WakeUpsMax)
	fmt.Fprintf(table, "  requests per acquisition\t%d\t%.2f\t%d\t\n", c.Acquires,
		mean(c.Requests, c.Acquires), c.RequestsMax)
	if c.Bytes > 0 {
		fmt.Fprintf(table, "  bytes per acquisition\t%d\t%.0f\t%d\t\n", c.Acquires,
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

// writeSometimes writes how many schedules reached each sometimes condition.
func writeSometimes(w io.Writer, campaign *campaign.Campaign, r *report.Report) {
	conditions := campaign.SometimesCounts(r)
	if len(conditions) == 0 || r.Exhaustive {
		return
	}
	fmt.Fprintln(w, "\nschedules that reached each sometimes condition")
	for _, c := range conditions {
		count := fmt.Sprint(c.Schedules)
		if !c.Applicable {
			count = "-"
		}
		fmt.Fprintf(w, "  %8s  %s\n", count, c.Name)
	}
}

// writeReport writes the size of the search, the fault coverage, the verdicts, the costs and the
// conclusion.
func writeReport(w io.Writer, campaign *campaign.Campaign, r *report.Report, found []*finding) {
	writeSize(w, r)
	fmt.Fprintf(w, "trace digest %016x\n", r.Digest)
	writeFaultCoverage(w, campaign.Scenario.FaultKinds(), &r.Coverage)
	writeMissingCoverage(w, campaign, r)
	if r.Exhaustive {
		fmt.Fprintln(w, "\nproperties")
	} else {
		fmt.Fprintln(w, "\nproperties, in the schedules run")
	}
	for _, p := range engine.Properties() {
		fmt.Fprintf(w, "  %-25s%s\n", p, searchVerdict(r, verdict(campaign, r, found, p), p))
	}
	writeCost(w, &r.Totals.Cost)
	writeSometimes(w, campaign, r)
	if r.Effort.Running > 0 {
		fmt.Fprintf(w, "property checks took %.1f %% of the run time\n",
			100*r.Effort.CheckingShare())
	}
	if text := conclusion(campaign, r); text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
}

// writeSize writes how much was run, and why the search ended early if it did.
func writeSize(w io.Writer, r *report.Report) {
	states := fmt.Sprintf("%d distinct states", r.States)
	switch {
	case r.StatesCapped:
		states = "more than " + states
	case r.Exhaustive:
		states = fmt.Sprintf("%d states stored", r.States)
	}
	fmt.Fprintf(w, "ran %s: %d steps, %s, in %.1f s (%.0f schedules/s)\n",
		counted(r.Schedules, "schedule"), r.Steps, states, r.Elapsed.Seconds(),
		float64(r.Schedules)/r.Elapsed.Seconds())
	if r.Exhaustive && r.Schedules > 0 {
		writeCompleteness(w, r)
	}
	if len(r.Strategies) > 1 {
		writeStrategies(w, r)
	}
	if r.Unsettled > 0 {
		fmt.Fprintf(w, "%s ended at a time or step bound with requests in flight\n",
			counted(r.Unsettled, "schedule"))
	}
	if r.Interrupted {
		fmt.Fprintln(w, "interrupted: the results are partial")
	}
}

// conclusion returns the last line of a report, empty if the violation says it all.
func conclusion(campaign *campaign.Campaign, r *report.Report) string {
	const inconclusive = "no violation found, but the result is inconclusive: "
	missed := campaign.NeverReached(r)
	switch {
	case r.Schedules == 0:
		return "no schedule was run"
	case r.Failure != nil:
		return ""
	case len(missed) > 0:
		return inconclusive + "sometimes conditions never reached: " + strings.Join(missed, "; ")
	case len(campaign.MissingCoverage(r)) > 0:
		return inconclusive + "required fault coverage is missing"
	case r.OutOfContractSchedules > 0:
		return fmt.Sprintf("no violation found within the contract (%v); %s violated %s out of "+
			"contract", campaign.Scenario.DescribeContract(),
			counted(r.OutOfContractSchedules, "schedule"),
			r.OutOfContract.OutOfContract[0].Property)
	case r.Totals.Unknown > 0:
		return fmt.Sprintf("no violation found, but linearizability is unknown for %s",
			counted(r.Totals.Unknown, "schedule"))
	case r.Nondeterministic == nil && r.Unsettled > 0:
		return fmt.Sprintf("no violation found, but %s did not quiesce, so what follows is unknown",
			counted(r.Unsettled, "schedule"))
	case r.Nondeterministic == nil:
		return "no violation found"
	}
	return ""
}

// writeMissingCoverage writes which planned faults never struck, and which required coverage is
// missing.
func writeMissingCoverage(w io.Writer, campaign *campaign.Campaign, r *report.Report) {
	if never := campaign.NeverCovered(r); len(never) > 0 {
		fmt.Fprintf(w, "planned, but never struck: %s\n", strings.Join(never, ", "))
	}
	if missing := campaign.MissingCoverage(r); len(missing) > 0 {
		fmt.Fprintf(w, "required, but never struck: %s\n", joinStrings(missing))
	}
}

// joinStrings joins the descriptions of things by commas.
func joinStrings[T fmt.Stringer](things []T) string {
	texts := make([]string, len(things))
	for i, thing := range things {
		texts[i] = thing.String()
	}
	return strings.Join(texts, ", ")
}

// writeCompleteness writes how much of its scope an exhaustive search has covered.
func writeCompleteness(w io.Writer, r *report.Report) {
	fmt.Fprintf(w, "%s, depth %d\n", counted(r.Transitions, "transition"), r.Depth)
	if r.LocalHistories > 0 {
		fmt.Fprintf(w, "%d local histories, %s validated with live processes\n", r.LocalHistories,
			counted(r.Validated, "schedule"))
	}
	if r.Complete {
		fmt.Fprintf(w, "complete: %s\n", r.Scope)
		if !r.FairSuffixes {
			fmt.Fprintln(w, "liveness was checked at the end of schedules only; --fair-suffixes "+
				"checks it from every state")
		}
		return
	}
	if r.Deviations > 0 && r.CutOff+r.Unsettled == 0 {
		fmt.Fprintf(w, "complete up to %s from the default policy\n",
			counted(r.Deviations, "deviation"))
	}
	fmt.Fprintf(w, "incomplete: %s in the states of the last schedule",
		counted(r.Untried, "untried step"))
	if r.CutOff > 0 {
		fmt.Fprintf(w, "; %s exceeded the maximum length", counted(r.CutOff, "schedule"))
	}
	if r.Unsettled > 0 {
		fmt.Fprintf(w, "; %s did not quiesce", counted(r.Unsettled, "schedule"))
	}
	fmt.Fprintln(w)
	if r.MemoryExhausted {
		fmt.Fprintln(w, "stopped at the memory limit; GOMEMLIMIT=20GiB in the environment allows "+
			"20 GiB, and --checkpoint needs less memory per state")
	}
}

// writeStrategies writes how many schedules each strategy ran, and which one found the violation.
func writeStrategies(w io.Writer, r *report.Report) {
	fmt.Fprint(w, "schedules by strategy:")
	for i, share := range r.Strategies {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		found := ""
		if share.Failed {
			found = ", found the violation"
			if r.KeptGoing {
				found = ", found the first violation"
			}
		}
		fmt.Fprintf(w, " %s %d (%s%s)", share.Strategy, share.Schedules,
			counted(share.Behaviours, "new behaviour"), found)
	}
	fmt.Fprintln(w)
}

// writeFaultCoverage writes the table of faults that struck, with a row for each planned kind.
func writeFaultCoverage(w io.Writer, planned []faults.Kind, coverage *engine.FaultCoverage) {
	if len(planned) == 0 {
		fmt.Fprintln(w, "\nno faults planned")
		return
	}
	fmt.Fprintln(w, "\nfault coverage, by phase of the process")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\t")
	for phase := range faults.Phases {
		fmt.Fprintf(table, "%v\t", phase)
	}
	fmt.Fprintln(table, "total\t")
	for kind := range faults.Kinds {
		if coverage.Total(kind) == 0 && !slices.Contains(planned, kind) {
			continue
		}
		fmt.Fprintf(table, "  %v\t", kind)
		for phase := range faults.Phases {
			fmt.Fprintf(table, "%d\t", coverage[kind][phase])
		}
		fmt.Fprintf(table, "%d\t\n", coverage.Total(kind))
	}
	table.Flush()
}

// A checkReport is the JSON report of check. Readers should ignore unknown fields.
type checkReport struct {
	Version   int         `json:"version"`
	Status    int         `json:"status"` // the exit status
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
	// counting stopped at [report.StatesMax]
	StatesCapped bool `json:"states_capped"`
	// an exhaustive search has covered its scope
	Complete bool `json:"complete"`
	// the scope of a complete search
	Scope       string `json:"scope,omitempty"`
	Transitions int    `json:"transitions,omitempty"`
	Depth       int    `json:"depth,omitempty"`
	// distinct local histories of processes, in an exhaustive search
	LocalHistories int `json:"local_histories,omitempty"`
	// schedules that it also ran with live processes
	Validated int `json:"validated,omitempty"`
	// untried steps in the states of the last schedule
	Untried int `json:"untried,omitempty"`
	// schedules that exceeded the maximum length
	CutOff int `json:"cut_off,omitempty"`
	// schedules that ended at a bound with requests in flight
	Unsettled  int                    `json:"unsettled,omitempty"`
	Strategies []report.StrategyStats `json:"strategies,omitempty"`
	// an exhaustive search stopped at its memory limit
	MemoryExhausted bool    `json:"memory_exhausted,omitempty"`
	Interrupted     bool    `json:"interrupted"`
	Seconds         float64 `json:"seconds"`
	TraceDigest     string  `json:"trace_digest"`
	// by kind and phase
	Coverage map[string]map[string]int `json:"fault_coverage"`
	// planned faults that never struck
	NeverCovered []string `json:"faults_never_covered,omitempty"`
	// required coverage that is missing; the status is then 1
	MissingCoverage []faults.CoverageCell `json:"missing_coverage,omitempty"`
	// of pauses and clock faults
	Severity faults.Severity `json:"severity"`
	// schedules with violations out of contract
	OutOfContract int              `json:"out_of_contract"`
	Properties    []propertyReport `json:"properties"`
	// schedules whose linearizability is unknown
	Unknown   int                       `json:"unknown_schedules"`
	Cost      costReport                `json:"cost"`
	Sometimes []campaign.SometimesCount `json:"sometimes,omitempty"`
	// sometimes conditions never reached; the status is then 1
	NeverReached []string `json:"sometimes_never,omitempty"`
	// the share of the run time that property checks took, from 0 to 1
	CheckShare float64           `json:"checking_share,omitempty"`
	Violations []violationReport `json:"violations"`
	Problem    string            `json:"nondeterminism,omitempty"`
	Error      string            `json:"error,omitempty"` // the error message of the program
}

type propertyReport struct {
	Name    history.Property `json:"name"`
	Claimed bool             `json:"claimed"`
	Verdict string           `json:"verdict"`
	Times   int              `json:"exercised"` // how often it was tested
	// in an exhaustive search, if the property holds
	Reach report.Reach `json:"reach,omitempty"`
}

type costReport struct {
	Releases    int `json:"releases"`
	WakeUps     int `json:"wake_ups"`
	WakeUpsMax  int `json:"wake_ups_max"` // by one release
	Acquires    int `json:"acquires"`     // undisturbed ones
	Requests    int `json:"requests"`
	RequestsMax int `json:"requests_max"` // of one acquisition
	Bytes       int `json:"bytes"`
	BytesMax    int `json:"bytes_max"`
}

type violationReport struct {
	Property      history.Property    `json:"property"`
	Signature     string              `json:"signature"`
	Detail        string              `json:"detail"`
	Evidence      history.Evidence    `json:"evidence,omitzero"`
	Why           string              `json:"why,omitempty"` // in words
	Schedule      int                 `json:"schedule"`
	Artifact      string              `json:"artifact"`
	Replay        string              `json:"replay"`
	OutOfContract bool                `json:"out_of_contract"`
	Likelihood    *explain.Likelihood `json:"likelihood,omitempty"` // of the first violation
	// with --keep-going: how many schedules violate the property with this signature
	Count int `json:"count,omitempty"`
}

func jsonReport(c *campaign.Campaign, r *report.Report, found []*finding,
	outcome error,
) *checkReport {
	out := &checkReport{
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
	for _, p := range engine.Properties() {
		judged := propertyReport{
			Name: p, Claimed: c.Scenario.Subject.Claimed(p),
			Verdict: verdict(c, r, found, p), Times: exercised(r, p),
		}
		if r.Exhaustive && judged.Verdict == verdictHolds {
			judged.Reach = r.Reach(p)
		}
		out.Properties = append(out.Properties, judged)
	}
	out.Violations = append(out.Violations, violationReports(r, found)...)
	if r.Nondeterministic != nil {
		out.Problem = r.Nondeterministic.Error()
	}
	out.Status, out.Error = exitStatus(outcome)
	return out
}

// violationReports returns the violations of the counterexample, or those of the failure if there
// is no counterexample. Of a search that kept going it returns the distinct failures.
func violationReports(r *report.Report, found []*finding) (all []violationReport) {
	if len(r.Distinct) > 0 {
		for i := range r.Distinct {
			all = append(all, distinctReport(&r.Distinct[i], found))
		}
		return all
	}
	failure := failureOf(r)
	if failure != nil && len(found) == 0 {
		for _, v := range failure.Violations {
			all = append(all, violationReport{
				Property: v.Property, Signature: v.Signature(), Detail: v.Detail,
				Evidence: v.Evidence, Schedule: failure.Schedule,
				OutOfContract: slices.Contains(failure.OutOfContract, v),
			})
		}
	}
	for _, f := range found {
		c := f.counterexample
		for n, why := range c.Explain().Whys {
			v := why.Violation
			one := violationReport{
				Property: v.Property, Signature: v.Signature(), Detail: v.Detail, Why: why.Text,
				Evidence: v.Evidence,
				Schedule: f.failure.Schedule, Artifact: f.directory, Replay: f.replay,
				OutOfContract: c.Scenario.OutOfContract(c.Result, v),
			}
			if n == 0 {
				one.Likelihood = c.Likelihood
			}
			all = append(all, one)
		}
	}
	return all
}

// distinctReport returns a distinct failure with the counterexample that shows it. The detail is
// that of the counterexample or, without one, of the first schedule.
func distinctReport(d *report.DistinctFailure, found []*finding) violationReport {
	out := violationReport{
		Property: d.Property, Signature: d.Signature, Schedule: d.First.Schedule,
		Count: d.Schedules,
	}
	violations := d.First.Violations
	for _, f := range found {
		if slices.Contains(f.distinct, d) {
			out.Artifact, out.Replay = f.directory, f.replay
			violations = f.counterexample.Result.Violations
		}
	}
	for _, v := range violations {
		if v.Signature() == d.Signature {
			out.Detail, out.Evidence = v.Detail, v.Evidence
		}
	}
	return out
}

// exitStatus returns the exit status and the error message for an outcome.
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
