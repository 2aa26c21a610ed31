package main

import (
	"errors"
	"slices"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
)

// reportVersion is the version of the form of the JSON reports of check.
const reportVersion = 4

// A checkReport is the JSON report of check. Readers should ignore unknown fields.
type checkReport struct {
	Version        int                   `json:"version"`
	Status         int                   `json:"status"` // the exit status
	Lock           string                `json:"lock"`
	Threads        int                   `json:"threads,omitempty"`
	Client         string                `json:"client"`
	Strategy       string                `json:"strategy"`
	Configurations []configurationReport `json:"configurations"`
	Seed           uint64                `json:"seed"`
	Schedules      int                   `json:"schedules"`
	Steps          int                   `json:"steps"`
	States         int                   `json:"states"`
	Depth          int                   `json:"depth"` // steps of the longest schedule
	// schedules that ended at a bound with requests in flight
	Unsettled   int     `json:"unsettled,omitempty"`
	Interrupted bool    `json:"interrupted"`
	Seconds     float64 `json:"seconds"`
	TraceDigest string  `json:"trace_digest"`
	*CampaignReport
	*ExhaustiveReport
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
	Unknown    int               `json:"unknown_schedules"`
	Violations []violationReport `json:"violations"`
	Problem    string            `json:"nondeterminism,omitempty"`

	Differing      int      `json:"differing,omitempty"`
	RunTwice       int      `json:"run_twice,omitempty"` // if any differed
	DifferingLines []string `json:"differing_lines,omitempty"`
	Error          string   `json:"error,omitempty"` // the error message of the program
	// of a shard: the record that interlock merge reads
	Shard any `json:"shard,omitempty"`
}

// A CampaignReport is the part of the JSON report that only a campaign has. It is exported, as is
// [ExhaustiveReport], because encoding/json cannot read into an embedded pointer otherwise.
type CampaignReport struct {
	// counting stopped at [report.StatesMax]
	StatesCapped bool `json:"states_capped"`
	// distinct histories, counted up to [report.HistoriesMax]
	Histories  int                    `json:"histories"`
	Strategies []report.StrategyStats `json:"strategies"`
	Cost       costReport             `json:"cost"`
	// by name; only margins that were measured
	Margins   map[string]check.Margin   `json:"margins"`
	Sometimes []campaign.SometimesCount `json:"sometimes,omitempty"`
	// sometimes conditions never reached; the status is then 1
	NeverReached []string        `json:"sometimes_never,omitempty"`
	Strength     report.Strength `json:"strength"`
	// the share of the run time that property checks took, from 0 to 1
	CheckShare float64 `json:"checking_share"`
}

// An ExhaustiveReport is the part of the JSON report that only an exhaustive search has.
type ExhaustiveReport struct {
	// the search has covered its scope
	Complete bool `json:"complete"`
	// the scope of a complete search
	Scope       string `json:"scope,omitempty"`
	Transitions int    `json:"transitions"`
	// workers that shared the search; counts depend on their speed then, and there is no digest
	Workers  int             `json:"workers,omitempty"`
	Bitstate *bitstateReport `json:"bitstate,omitempty"` // of a search with --bitstate
	// distinct local histories of processes
	LocalHistories int `json:"local_histories,omitempty"`
	// schedules that were also run with live processes
	Validated int `json:"validated,omitempty"`
	// untried steps in the states of the last schedule
	Untried int `json:"untried,omitempty"`
	// schedules that exceeded the maximum length
	CutOff int `json:"cut_off,omitempty"`
	// the search stopped at its memory limit
	MemoryExhausted bool `json:"memory_exhausted,omitempty"`
}

// A bitstateReport says how many states bitstate hashing is expected to have omitted.
type bitstateReport struct {
	Bytes     int     `json:"bytes"`
	Omissions float64 `json:"expected_omissions"`   // of reached states
	Omits     float64 `json:"omission_probability"` // that at least one was omitted
}

// A configurationReport is a configuration of a search. Its numbers of schedules are those of a
// campaign.
type configurationReport struct {
	scenarios.Dimensions
	*report.ConfigurationStats
}

type propertyReport struct {
	Name    history.Property `json:"name"`
	Claimed bool             `json:"claimed"`
	Verdict report.Verdict   `json:"verdict"`
	// of a campaign: how often the schedules tested it
	Times *int `json:"exercised,omitempty"`
	// of an exhaustive search, if the property holds
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
	Configuration int                 `json:"configuration"` // its index
	Artifact      string              `json:"artifact"`
	Replay        string              `json:"replay"`
	OutOfContract bool                `json:"out_of_contract"`
	Likelihood    *explain.Likelihood `json:"likelihood,omitempty"` // of the first violation
	// with --keep-going: what tells it from others with this signature, and how many schedules
	// violate the property with this signature
	Cause string `json:"cause,omitempty"`
	Count int    `json:"count,omitempty"`

	shownBy *finding // nil if there is no counterexample, or a test of a user's lock found it
	// of such a test, as source returns them
	line, function string
}

// json returns the JSON report.
func (r *result) json() *checkReport {
	runs := r.Common()
	out := &checkReport{
		Version: reportVersion, Unknown: runs.Unknown, Lock: r.Scenario.Subject.Name,
		Threads: r.Scenario.Threads, Client: r.Scenario.Client.String(), Strategy: r.Strategy,
		Configurations: r.configurations(), Seed: r.Seed,
		Schedules: runs.Schedules, Steps: runs.Steps, States: runs.States, Depth: runs.Depth,
		Unsettled: runs.Unsettled, Interrupted: runs.Interrupted,
		Seconds: runs.Elapsed.Seconds(), TraceDigest: r.traceDigest(),
		NeverCovered: r.NeverCovered(r.Report), MissingCoverage: r.MissingCoverage(r.Report),
		Severity: r.Scenario.EffectiveSeverity(), OutOfContract: runs.OutOfContractSchedules,
		Violations: []violationReport{},
	}
	switch found := r.Report.(type) {
	case *report.Campaign:
		out.CampaignReport = &CampaignReport{
			StatesCapped: found.StatesCapped, Histories: found.Histories,
			Strategies: append([]report.StrategyStats{}, found.Strategies...),
			Cost:       costReport(found.Totals.Cost),
			Margins:    found.Totals.Margins.ByName(), Sometimes: r.SometimesCounts(found),
			NeverReached: r.NeverReached(found), CheckShare: found.Effort.CheckingShare(),
			Strength: r.Strength(found),
		}
	case *report.Exhaustive:
		out.ExhaustiveReport = &ExhaustiveReport{
			Complete: found.Complete, Transitions: found.Transitions,
			Workers:        found.Workers,
			LocalHistories: found.LocalHistories, Validated: found.Validated,
			Untried: found.Untried, CutOff: found.CutOff, MemoryExhausted: found.MemoryExhausted,
		}
		if found.Complete {
			out.Scope = found.Scope.String()
		}
		if b := found.Bitstate; b != nil {
			out.Bitstate = &bitstateReport{b.Bytes, b.Omissions, b.Omits()}
		}
	}
	var kinds []faults.Kind
	for kind := range faults.Kinds {
		kinds = append(kinds, kind)
	}
	out.Coverage = runs.Coverage.ByName(kinds)
	for _, p := range check.Claimable() {
		out.Properties = append(out.Properties, r.property(p))
	}
	out.Violations = append(out.Violations, r.violations()...)
	if runs.Nondeterministic != nil {
		out.Problem = runs.Nondeterministic.Error()
		out.Differing, out.RunTwice = runs.Differing, runs.RunTwice
		out.DifferingLines = runs.DifferingLines
	}
	out.Status, out.Error = exitStatus(r.outcome)
	return out
}

// configurations returns the configurations, with what a campaign ran in each.
func (r *result) configurations() (all []configurationReport) {
	for i, s := range r.All() {
		one := configurationReport{Dimensions: s.Dimensions()}
		one.Servers = s.EffectiveServers()
		if found, ok := r.Report.(*report.Campaign); ok {
			one.ConfigurationStats = found.Configuration(i)
		}
		all = append(all, one)
	}
	return all
}

// property returns the report on a property.
func (r *result) property(p history.Property) propertyReport {
	out := propertyReport{
		Name: p, Claimed: r.Scenario.Subject.Claimed(p), Verdict: r.verdict(p),
	}
	switch found := r.Report.(type) {
	case *report.Campaign:
		out.Times = new(found.Exercised(p))
	case *report.Exhaustive:
		if out.Verdict == report.Holds {
			out.Reach = found.Reach(p)
		}
	}
	return out
}

// violations returns the violations of the counterexample, or those of the failure if there is no
// counterexample. Of a search that kept going it returns the distinct failures.
func (r *result) violations() (all []violationReport) {
	runs := r.Common()
	if len(runs.Distinct) > 0 {
		for i := range runs.Distinct {
			all = append(all, r.violationsOf(&runs.Distinct[i])...)
		}
		return all
	}
	failure := judge.Failure(runs)
	if failure != nil && len(r.found) == 0 {
		for _, v := range failure.Violations {
			all = append(all, violationReport{
				Property: v.Property, Signature: v.Signature(), Detail: v.Detail,
				Evidence:      v.Evidence,
				Schedule:      failure.Schedule,
				Configuration: failure.Configuration,
				OutOfContract: slices.Contains(failure.OutOfContract, v),
			})
		}
	}
	for _, f := range r.found {
		c := f.Counterexample
		for n, why := range c.Explain().Whys {
			v := why.Violation
			one := violationReport{
				Property: v.Property, Signature: v.Signature(), Detail: v.Detail, Why: why.Text,
				Evidence: v.Evidence,
				Schedule: f.Schedule.Schedule, Configuration: f.Schedule.Configuration,
				Artifact: f.directory, Replay: f.replay, shownBy: f,
				OutOfContract: c.Result.OutOfContract(&c.Scenario, v),
			}
			if n == 0 {
				one.Likelihood = c.Likelihood
			}
			all = append(all, one)
		}
	}
	return all
}

// violationsOf returns the failures with a signature, each with the counterexample that shows it.
// Without any, it returns what the first schedule violates.
func (r *result) violationsOf(d *report.DistinctFailure) (all []violationReport) {
	one := func(schedule *report.Failure, violations []*history.Violation) *violationReport {
		all = append(all, violationReport{
			Property: d.Property, Signature: d.Signature, Schedule: schedule.Schedule,
			Configuration: schedule.Configuration, Count: d.Schedules,
		})
		out := &all[len(all)-1]
		for _, v := range violations {
			if v.Signature() == d.Signature {
				out.Detail, out.Evidence = v.Detail, v.Evidence
			}
		}
		return out
	}
	for _, f := range r.found {
		for _, shown := range f.Failures {
			if shown.DistinctFailure == d {
				out := one(f.Schedule, f.Counterexample.Result.Violations)
				out.Cause, out.Artifact, out.Replay = shown.Cause.String(), f.directory, f.replay
				out.shownBy = f
			}
		}
	}
	if len(all) == 0 {
		one(d.First, d.First.Violations)
	}
	return all
}

// exitStatus returns the exit status and the error message for an outcome.
func exitStatus(outcome error) (status int, text string) {
	var ends *exit.Error
	switch {
	case outcome == nil:
		return exit.OK, ""
	case !errors.As(outcome, &ends):
		return exit.Usage, outcome.Error()
	case ends.Err != nil:
		text = ends.Err.Error()
	}
	return ends.Status, text
}
