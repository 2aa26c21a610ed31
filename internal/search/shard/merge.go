package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Lock returns the lock of a name.
type Lock func(name string) (scenarios.Subject, error)

// A FailedError says that a shard, or the merge itself, has shown that the results cannot be
// trusted: a schedule did not run the same way twice. Other errors of [Merge] say that the records
// do not belong together.
type FailedError struct{ text string }

func (e *FailedError) Error() string { return e.text }

// Merge returns the whole campaign of which the records, in any order, have the shards, and its
// report. That is the report of a single machine: if a shard has ended the campaign, later
// schedules do not count, and may be missing. The times are sums over the shards.
//
// Merge runs the failed schedules again, because records do not have their histories. So build,
// the name of this program, must be that of all records. If the context ends meanwhile, Merge
// returns its error.
func Merge(ctx context.Context, t *testing.T, build string, lock Lock, records []*Record,
) (*campaign.Campaign, *report.Campaign, error) {
	if len(records) == 0 {
		return nil, nil, errors.New("no reports")
	}
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Range.From, b.Range.From),
			cmp.Compare(a.Range.To, b.Range.To), strings.Compare(a.path, b.path))
	})
	headers := make([]*header, len(records))
	for i, s := range records {
		headers[i] = &s.header
	}
	if err := belongTogether(build, headers); err != nil {
		return nil, nil, err
	}
	first := records[0]
	c, err := first.Campaign.Make(lock)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", first.path, err)
	}
	if err := overlap(records); err != nil {
		return nil, nil, err
	}
	records = counting(records)
	if err := missing(first.Campaign.Schedules, records); err != nil {
		return nil, nil, err
	}
	r := &report.Campaign{Runs: report.Runs{KeptGoing: c.KeepGoing}, Seen: new(report.Seen)}
	recorded := make(recordedSignatures)
	for _, s := range records {
		if len(s.Reached) != len(c.Scenario.Subject.Sometimes) {
			return nil, nil, fmt.Errorf("%s: the shard is damaged: %d sometimes conditions, and "+
				"the lock has %d", s.path, len(s.Reached), len(c.Scenario.Subject.Sometimes))
		}
		recorded.add(&s.runs, 0)
		r.Append(s.report())
		r.Seen.Merge(s.Seen)
	}
	r.CountSeen()
	return c, r, restore(ctx, t, c, &r.Runs, recorded)
}

// belongTogether returns in what a record differs from this program or from the first record, or
// nil.
func belongTogether(build string, records []*header) error {
	for _, s := range records {
		if first := records[0]; s.Build != first.Build {
			return fmt.Errorf("%s was written by another build than %s: %s, not %s; "+
				"run all shards with one program", s.path, first.path, s.Build, first.Build)
		}
		if different := s.Campaign.Difference(&records[0].Campaign); different != "" {
			return fmt.Errorf("%s is of another campaign than %s: %s", s.path, records[0].path,
				different)
		}
	}
	if records[0].Build != build {
		return fmt.Errorf("%s was written by another build than this program: %s, not %s; "+
			"merge with the program that ran the shards", records[0].path, records[0].Build, build)
	}
	return nil
}

// overlap returns which records have the same schedules, or nil. The records are in order.
func overlap(records []*Record) error {
	last := records[0] // of the records so far, the one that reaches farthest
	for _, s := range records[1:] {
		if s.Range.From < last.Range.To {
			both := report.Range{From: s.Range.From, To: min(s.Range.To, last.Range.To)}
			return fmt.Errorf("%s and %s overlap: both have %v", last.path, s.path, both)
		}
		last = s
	}
	return nil
}

// counting returns the records up to the first that ends the campaign.
func counting(records []*Record) []*Record {
	end := slices.IndexFunc(records, (*Record).Ended)
	return records[:cmp.Or(end+1, len(records))]
}

// missing returns which schedules were not run, or nil. The records are in order and do not
// overlap, and those after the end of the campaign are left out.
func missing(schedules int, records []*Record) error {
	var gaps []string
	reached := 0
	gap := func(to int) {
		if reached < to {
			gaps = append(gaps, report.Range{From: reached, To: to}.String())
		}
	}
	for _, s := range records {
		if gap(s.Range.From); s.Interrupted {
			return fmt.Errorf("%s was interrupted: run the shard of %v again", s.path, s.Range)
		}
		reached = s.Range.To
	}
	if last := records[len(records)-1]; !last.Ended() {
		gap(schedules)
	}
	if len(gaps) > 0 {
		return fmt.Errorf("no report has %s", strings.Join(gaps, ", "))
	}
	return nil
}

// report returns the report of the shard without what it has seen. Failures have no violations.
func (s *Record) report() *report.Campaign {
	return &report.Campaign{
		Runs:       s.runs.report(s.path, 0),
		Strategies: s.Strategies, Configurations: s.Configurations,
		Totals: report.Totals{
			Vacuity: *s.Vacuity, Cost: s.Cost, Margins: s.Margins, Reached: s.Reached,
		},
		Effort: report.Effort{Running: s.Running, Checking: s.Checking},
	}
}

// recordedSignatures are the signatures of failed schedules in records, by number of the schedule.
type recordedSignatures map[int][]string

// add adds those of a record's runs, whose numbers are higher by an offset.
func (s recordedSignatures) add(r *runs, offset int) {
	for _, f := range r.failures() {
		s[f.Schedule+offset] = f.Signatures
	}
}

// restore runs the failed schedules of a report again, and adds their violations. Failures of the
// same schedule become one.
func restore(ctx context.Context, t *testing.T, c *campaign.Campaign, r *report.Runs,
	recorded recordedSignatures,
) error {
	restored := make(map[int]*report.Failure)
	failures := []**report.Failure{&r.Failure, &r.OutOfContract}
	for i := range r.Distinct {
		failures = append(failures, &r.Distinct[i].First)
		for j := range r.Distinct[i].Candidates {
			failures = append(failures, &r.Distinct[i].Candidates[j].Failure)
		}
	}
	for _, f := range failures {
		if *f == nil {
			continue
		}
		if known := restored[(*f).Schedule]; known != nil {
			*f = known
			continue
		}
		scenario := c.ScenarioOf(*f)
		result := engine.NewRunner(t).RunWithin(ctx, &scenario,
			&engine.Replay{Deviations: (*f).Deviations})
		if err := ctx.Err(); err != nil {
			return err
		}
		(*f).Violations = result.Violations
		(*f).OutOfContract = result.OutOfContractViolations(&scenario)
		restored[(*f).Schedule] = *f
		want, got := recorded[(*f).Schedule], signatures(result.Violations)
		if !slices.Equal(want, got) {
			return &FailedError{fmt.Sprintf("schedule %d violated %q, and %q when it is run "+
				"again\n%s", (*f).Schedule, want, got, engine.LikelyCauses)}
		}
	}
	return nil
}
