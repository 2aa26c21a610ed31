package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
)

// verdict returns the verdict on a property. It counts the violations of the failed run and those
// of its shrunk schedule, which may violate other properties.
func (r *result) verdict(p history.Property) report.Verdict {
	runs := r.Common()
	e := report.Evidence{
		Claimed: r.Scenario.Subject.Claimed(p), Schedules: runs.Schedules,
		Undecided: p == history.Linearizable && runs.Unknown > 0, Exercised: r.Exercised(p) > 0,
	}
	if exhaustive, ok := r.Report.(*report.Exhaustive); ok && exhaustive.Granted {
		e.Exercised = true
	}
	weigh := func(v *history.Violation, outOfContract bool) {
		if v.Property == p {
			e.OutOfContract = e.OutOfContract || outOfContract
			e.Violated = e.Violated || !outOfContract
		}
	}
	if failure := judge.Failure(runs); failure != nil {
		for _, v := range failure.Violations {
			weigh(v, slices.Contains(failure.OutOfContract, v))
		}
	}
	for _, d := range runs.Distinct {
		weigh(&history.Violation{Property: d.Property}, false)
	}
	for _, f := range r.found {
		for _, v := range f.Counterexample.Result.Violations {
			weigh(v, f.Counterexample.Result.OutOfContract(&f.Counterexample.Scenario, v))
		}
	}
	return e.Verdict()
}

// verdictLine returns the verdict, and how often the property was tested if it holds.
func verdictLine(verdict report.Verdict, times int) string {
	if verdict == report.Holds && times > 0 {
		return fmt.Sprintf("%s  exercised %s", verdict, counted(times, "time"))
	}
	return string(verdict)
}

// verdictOn returns the verdict line of a campaign, or the verdict of an exhaustive search with its
// reach.
func (r *result) verdictOn(p history.Property) string {
	verdict := r.verdict(p)
	if exhaustive, ok := r.Report.(*report.Exhaustive); ok && verdict == report.Holds {
		return fmt.Sprintf("%s  %s", verdict, exhaustive.Reach(p))
	}
	return verdictLine(verdict, r.Exercised(p))
}

// writeOutOfContract explains a violation that is out of contract. It writes nothing of others.
func writeOutOfContract(w io.Writer, s *scenarios.Scenario, r *engine.Result,
	v *history.Violation,
) {
	if r.OutOfContract(s, v) {
		fmt.Fprintf(w, "  Out of contract: %s guarantees this for %v, and the scenario exceeds "+
			"that.\n", s.Subject.Name, s.DescribeContract())
		if slices.Contains(s.Subject.Claims, history.Fencing) {
			fmt.Fprintln(w, "  Its fencing tokens protect the resource even then.")
		} else {
			fmt.Fprintln(w, "  Only fencing tokens would protect the resource even then.")
		}
	}
}

// writeCost writes the cost of acquisitions and releases. Only requests to ZooKeeper are counted.
func writeCost(w io.Writer, c *check.Cost) {
	if c.Releases == 0 && c.Requests == 0 {
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

// writeMargins writes how close schedules came to breaking what depends on time, and what the lock
// promises.
func writeMargins(w io.Writer, margins *check.Margins, lock *scenarios.Subject) {
	if *margins == (check.Margins{}) {
		return
	}
	fmt.Fprintln(w, "\nsmallest margins")
	for i := range margins {
		if m := &margins[i]; m.Times > 0 {
			promised := ""
			if i == check.LossToEnd && lock.Claimed(history.Margin) {
				promised = fmt.Sprintf(" of %.3f s promised", lock.Limits.Margin.Seconds())
			}
			fmt.Fprintf(w, "  %-59s%6s s%s, smallest of %d, schedule %d\n",
				check.MarginStatements[i], report.MarginSeconds(m.Smallest), promised, m.Times,
				m.Schedule)
		}
	}
}

func mean(sum, times int) float64 {
	if times == 0 {
		return 0
	}
	return float64(sum) / float64(times)
}

// writeSometimes writes how many schedules reached each sometimes condition.
func writeSometimes(w io.Writer, c *campaign.Campaign, r *report.Campaign) {
	conditions := c.SometimesCounts(r)
	if len(conditions) == 0 {
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

// write writes the size of the search, the fault coverage, the verdicts, the costs and the
// conclusion.
func (r *result) write(w io.Writer) {
	runs := r.Common()
	r.writeSize(w)
	if digest := r.traceDigest(); digest != "" {
		fmt.Fprintf(w, "trace digest %s\n", digest)
	}
	writeFaultCoverage(w, r.FaultKinds(), &runs.Coverage)
	r.writeMissingCoverage(w)
	ofCampaign, isCampaign := r.Report.(*report.Campaign)
	if isCampaign {
		fmt.Fprintln(w, "\nproperties, in the schedules run")
	} else {
		fmt.Fprintln(w, "\nproperties")
	}
	for _, p := range check.Claimable() {
		fmt.Fprintf(w, "  %-25s%s\n", p, r.verdictOn(p))
	}
	if isCampaign {
		writeCost(w, &ofCampaign.Totals.Cost)
		writeMargins(w, &ofCampaign.Totals.Margins, &r.Scenario.Subject)
		writeSometimes(w, r.Campaign, ofCampaign)
		if ofCampaign.Effort.Running > 0 {
			fmt.Fprintf(w, "property checks took %.1f %% of the run time\n",
				100*ofCampaign.Effort.CheckingShare())
		}
	}
	text := r.conclusion()
	if text == "" {
		return
	}
	fmt.Fprintln(w)
	if isCampaign && runs.Schedules > 0 {
		strength := r.Strength(ofCampaign)
		fmt.Fprintf(w, "strength: %v\n", &strength)
	}
	fmt.Fprintln(w, text)
}

// traceDigest returns the digest over the schedules of a search, or "" where it would depend on the
// speed of workers.
func (r *result) traceDigest() string {
	if exhaustive, ok := r.Report.(*report.Exhaustive); ok && exhaustive.Workers > 0 {
		return ""
	}
	return fmt.Sprintf("%016x", r.Common().Digest)
}

// writeSize writes how much was run, and why the search ended early if it did.
func (r *result) writeSize(w io.Writer) {
	runs := r.Common()
	states := fmt.Sprintf("%d distinct states", runs.States)
	switch found := r.Report.(type) {
	case *report.Campaign:
		if found.StatesCapped {
			states = "more than " + states
		}
	case *report.Exhaustive:
		states = fmt.Sprintf("%d states stored", found.States)
	}
	fmt.Fprintf(w, "ran %s: %d steps, %s, in %.1f s (%.0f schedules/s)\n",
		counted(runs.Schedules, "schedule"), runs.Steps, states, runs.Elapsed.Seconds(),
		float64(runs.Schedules)/runs.Elapsed.Seconds())
	switch found := r.Report.(type) {
	case *report.Campaign:
		if len(found.Strategies) > 1 {
			writeStrategies(w, found)
		}
		writeConfigurations(w, r.Campaign, found)
	case *report.Exhaustive:
		if found.Schedules > 0 {
			writeCompleteness(w, found)
		}
	}
	if runs.Unsettled > 0 {
		fmt.Fprintf(w, "%s ended at a time or step bound with requests in flight\n",
			counted(runs.Unsettled, "schedule"))
	}
	if text := runs.DescribeDiffering(); text != "" {
		fmt.Fprintln(w, text)
	}
	if runs.Interrupted && runs.Failure != nil {
		fmt.Fprintln(w, "interrupted: the results are partial")
	}
}

// conclusion returns the last line of a report, empty if the violation says it all.
func (r *result) conclusion() string {
	const inconclusive = "no violation found, but the result is inconclusive: "
	runs, lacks := r.Common(), r.lacking()
	switch {
	case runs.Schedules == 0 && runs.Interrupted:
		return "interrupted before it ran a schedule"
	case runs.Schedules == 0:
		return "no schedule was run"
	case runs.Failure != nil:
		return ""
	case runs.Interrupted:
		return "interrupted before it found a violation; the results are partial"
	case lacks != "":
		return inconclusive + lacks
	case runs.OutOfContractSchedules > 0:
		return fmt.Sprintf("no violation found within the contract (%v); %s violated %s out of "+
			"contract", r.Scenario.DescribeContract(),
			counted(runs.OutOfContractSchedules, "schedule"),
			runs.OutOfContract.OutOfContract[0].Property)
	case runs.Unknown > 0:
		return fmt.Sprintf("no violation found, but linearizability is unknown for %s",
			counted(runs.Unknown, "schedule"))
	case runs.Nondeterministic == nil && runs.Unsettled > 0:
		return fmt.Sprintf("no violation found, but %s did not quiesce, so what follows is unknown",
			counted(runs.Unsettled, "schedule"))
	case runs.Nondeterministic == nil:
		return "no violation found"
	}
	return inconclusive + "the lock is nondeterministic"
}

// lacking says why a search without a violation says too little about the lock, or returns "".
func (r *result) lacking() string {
	if found, ok := r.Report.(*report.Campaign); ok {
		if missed := r.NeverReached(found); len(missed) > 0 {
			return "sometimes conditions never reached: " + strings.Join(missed, "; ")
		}
	}
	exhaustive, ok := r.Report.(*report.Exhaustive)
	switch {
	case len(r.MissingCoverage(r.Report)) > 0:
		return "required fault coverage is missing"
	case !r.Partial(r.Report) && (!ok || !exhaustive.Complete):
		// A complete search says what it has shown.
		return knownBroken(r.Scenario.Subject.Name)
	}
	return ""
}

// knownBroken returns the command that shows that a lock is broken, in a sentence. It returns "" of
// a lock that is not known to be broken.
func knownBroken(lock string) string {
	flaw, broken := bundled.KnownFlaw(lock)
	if !broken {
		return ""
	}
	return fmt.Sprintf("%s is known to be broken: %s check %s shows it", lock, invocation(),
		flaw.Flags())
}

// writeMissingCoverage writes which planned faults never struck, and which required coverage is
// missing.
func (r *result) writeMissingCoverage(w io.Writer) {
	if never := r.NeverCovered(r.Report); len(never) > 0 {
		fmt.Fprintf(w, "planned, but never struck: %s\n", strings.Join(never, ", "))
	}
	if missing := r.MissingCoverage(r.Report); len(missing) > 0 {
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
func writeCompleteness(w io.Writer, r *report.Exhaustive) {
	fmt.Fprintf(w, "%s, depth %d\n", counted(r.Transitions, "transition"), r.Depth)
	if r.Workers > 0 {
		fmt.Fprintf(w, "%d workers: counts depend on their speed, verdicts do not\n", r.Workers)
	}
	if r.LocalHistories > 0 {
		fmt.Fprintf(w, "%d local histories, %s validated with live processes\n", r.LocalHistories,
			counted(r.Validated, "schedule"))
	}
	if b := r.Bitstate; b != nil {
		fmt.Fprintf(w, "bitstate hashing in %d MiB: expected number of omitted states %.2g, "+
			"probability of any %.2g\n", b.Bytes>>20, b.Omissions, b.Omits())
	}
	if r.Part != nil && r.Covered {
		fmt.Fprintf(w, "shard %v has run all of its schedules, and %d of others to find them: "+
			"interlock merge says what all shards show\n", r.Part.Shard, r.Part.Guiding)
		return
	}
	if r.Complete {
		fmt.Fprintf(w, "complete: %v\n", &r.Scope)
		if !r.Scope.FairSuffixes {
			fmt.Fprintln(w, "liveness was checked at the end of schedules only; --fair-suffixes "+
				"checks it from every state")
		}
		return
	}
	if r.Deviations > 0 && r.CutOff+r.Unsettled == 0 {
		fmt.Fprintf(w, "complete up to %s from the default policy\n",
			counted(r.Deviations, "deviation"))
	}
	fmt.Fprint(w, "incomplete: ")
	if r.Bitstate != nil && r.Untried == 0 {
		fmt.Fprint(w, "no untried step is known, but states may have been omitted")
	} else {
		fmt.Fprintf(w, "%s in the states of the last schedule", counted(r.Untried, "untried step"))
	}
	if r.CutOff > 0 {
		fmt.Fprintf(w, "; %s exceeded the maximum length", counted(r.CutOff, "schedule"))
	}
	if r.Unsettled > 0 {
		fmt.Fprintf(w, "; %s did not quiesce", counted(r.Unsettled, "schedule"))
	}
	if r.Differing > 0 {
		fmt.Fprintf(w, "; %s did not run the same way twice", counted(r.Differing, "schedule"))
	}
	fmt.Fprintln(w)
	if r.MemoryExhausted {
		fmt.Fprintln(w, "stopped at the memory limit; GOMEMLIMIT=20GiB in the environment allows "+
			"20 GiB")
	}
}

// writeStrategies writes how many schedules each strategy ran, which one found the violation, and
// of a portfolio, how many new behaviours each has shown.
func writeStrategies(w io.Writer, r *report.Campaign) {
	behaviours := slices.ContainsFunc(r.Strategies,
		func(s report.StrategyStats) bool { return s.Behaviours > 0 })
	fmt.Fprint(w, "schedules by strategy:")
	for i, share := range r.Strategies {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		var notes []string
		if behaviours {
			notes = append(notes, counted(share.Behaviours, "new behaviour"))
		}
		if share.Failed {
			notes = append(notes, foundNote(r))
		}
		fmt.Fprintf(w, " %s %d", share.Strategy, share.Schedules)
		if len(notes) > 0 {
			fmt.Fprintf(w, " (%s)", strings.Join(notes, ", "))
		}
	}
	fmt.Fprintln(w)
}

// writeConfigurations writes how the schedules were shared among several configurations, and in
// which the violation was found.
func writeConfigurations(w io.Writer, c *campaign.Campaign, r *report.Campaign) {
	if len(c.Configurations) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "clients\tcycles\tservers\tfaults\tschedules\tnew behaviours\t")
	for i := range c.Configurations {
		s, stats := &c.Configurations[i], r.Configuration(i)
		fmt.Fprintf(table, "%d\t%d\t%d\t%v\t%d\t%d\t", s.Clients, s.Cycles, s.EffectiveServers(),
			s.Faults, stats.Schedules, stats.Behaviours)
		if stats.Failed {
			fmt.Fprintf(table, " %s", foundNote(r))
		}
		fmt.Fprintln(table)
	}
	table.Flush()
}

// foundNote marks the strategy or configuration that found a violation.
func foundNote(r *report.Campaign) string {
	if r.KeptGoing {
		return "found the first violation"
	}
	return "found the violation"
}

// writeFaultCoverage writes the table of faults that struck, with a row for each planned kind.
func writeFaultCoverage(w io.Writer, planned []faults.Kind, coverage *engine.FaultCoverage) {
	if len(planned) == 0 {
		fmt.Fprintln(w, "\nno faults planned")
		return
	}
	fmt.Fprintln(w, "\nfault coverage, by phase of the process")
	table := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\t")
	for phase := range faults.Phases {
		fmt.Fprintf(table, "%s\t", phase.Key())
	}
	fmt.Fprintln(table, "total\t")
	for kind := range faults.Kinds {
		if coverage.Total(kind) == 0 && !slices.Contains(planned, kind) {
			continue
		}
		fmt.Fprintf(table, "%v\t", kind)
		for phase := range faults.Phases {
			fmt.Fprintf(table, "%d\t", coverage[kind][phase])
		}
		fmt.Fprintf(table, "%d\t\n", coverage.Total(kind))
	}
	table.Flush()
}
