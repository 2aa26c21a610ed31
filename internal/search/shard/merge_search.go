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
	"github.com/interlock-sim/interlock/internal/search/stateset"
)

// MergeSearch returns the whole exhaustive search of which the records, in any order, have the
// shards, and its report. That is the report of a single machine, which runs the schedules with a
// bound on deviations before those with the next: if a shard has found a violation that ends the
// search, later schedules do not count, and may be missing. The search is complete only if all
// shards are. The time is the sum over the shards.
//
// MergeSearch returns a [FailedError] if the shards do not join, because runs of the same schedule
// had different steps. See [Merge] for all else.
func MergeSearch(ctx context.Context, t *testing.T, build string, lock Lock,
	records []*SearchRecord,
) (*campaign.Campaign, *report.Exhaustive, error) {
	if len(records) == 0 {
		return nil, nil, errors.New("no reports")
	}
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b *SearchRecord) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), strings.Compare(a.path, b.path))
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
	shards := make([]*SearchRecord, first.Campaign.Search.Shards)
	for _, s := range records {
		if other := shards[s.Index]; other != nil {
			return nil, nil, fmt.Errorf("%s and %s are both shard %v", other.path, s.path,
				s.shard())
		}
		shards[s.Index] = s
	}
	m := &searchMerger{
		shards: shards, search: first.Campaign.Search, keepGoing: c.KeepGoing,
		report: &report.Exhaustive{
			Runs:  report.Runs{KeptGoing: c.KeepGoing},
			Scope: first.Campaign.Search.scope(&c.Scenario),
		},
		recorded: make(recordedSignatures),
	}
	if err := m.merge(); err != nil {
		return nil, nil, err
	}
	return c, m.report, restore(ctx, t, c, &m.report.Runs, m.recorded)
}

// A searchMerger appends the levels of all shards in the order of the whole search.
type searchMerger struct {
	shards    []*SearchRecord // by index; nil if there is none
	search    Search
	keepGoing bool
	report    *report.Exhaustive
	states    stateset.Set
	recorded  recordedSignatures
}

// merge merges the shards up to the violation that ends the search.
func (m *searchMerger) merge() error {
	before := make([]int, len(m.shards)) // schedules of lower levels, by shard
	for bound := 1; bound <= m.search.MaxDeviations; bound++ {
		if err := m.missing(bound); err != nil {
			return err
		}
		next := []engine.Deviation{} // where the next shard begins
		for i, s := range m.shards {
			l := &s.Levels[bound-1]
			if !l.joins(next) {
				return gap(s)
			}
			next = l.End
			offset := m.report.Schedules - before[i]
			before[i] += l.Schedules
			m.recorded.add(&l.runs, offset)
			m.report.Append(s.report(l, offset))
			for _, key := range l.Keys {
				m.states.Add(key)
			}
			m.report.States = m.states.Len()
			if l.failed(m.keepGoing) {
				return nil
			}
		}
		if next != nil {
			return gap(m.shards[len(m.shards)-1])
		}
		m.report.Deviations = bound
	}
	m.report.Cover(m.search.MaxDeviations)
	return nil
}

// gap returns the error for a shard that does not join its neighbours.
func gap(s *SearchRecord) error {
	return &FailedError{fmt.Sprintf("%s: the shards do not join: the same schedule did not run "+
		"the same way everywhere\n%s", s.path, engine.LikelyCauses)}
}

// missing returns which shards have not run their part of a level, or nil. Those after a shard that
// ends the search are not needed.
func (m *searchMerger) missing(bound int) error {
	var none []string
	for i, s := range m.shards {
		of := report.Shard{Index: i, Of: len(m.shards)}
		switch {
		case s == nil:
			none = append(none, of.String())
			continue
		case len(s.Levels) < bound || !s.Levels[bound-1].ended(m.keepGoing):
			return fmt.Errorf("%s was interrupted: run shard %v again", s.path, of)
		}
		if s.Levels[bound-1].failed(m.keepGoing) {
			break
		}
	}
	if len(none) > 0 {
		return fmt.Errorf("no report has shard %s", strings.Join(none, ", "))
	}
	return nil
}
