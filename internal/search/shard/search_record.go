package shard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/stateset"
	"github.com/interlock-sim/interlock/internal/search/strategy"
)

// A SearchRecord is the stored form of the report of a shard of an exhaustive search by deviations.
// As with a [Record], all counts are exact, and only the program that has written it can read it.
type SearchRecord struct {
	header
	Index   int     `json:"index"` // of the shard
	Guiding int     `json:"guiding"`
	Levels  []level `json:"levels"` // by bound on deviations, from 1 on
}

// A level is the shard's share in the schedules with a bound on deviations. Failures have their
// numbers in the shard.
type level struct {
	runs
	report.Edges
	Covered     bool          `json:"covered"` // nothing is left to try
	Transitions int           `json:"transitions"`
	CutOff      int           `json:"cut_off"`
	Untried     int           `json:"untried"`
	Granted     bool          `json:"granted"`
	Keys        stateset.Keys `json:"states"` // that no lower bound had
}

const (
	searchFormat  = "interlock-search-shard"
	searchVersion = 2
)

// NewSearch returns the record of a shard of an exhaustive search, with the report that its Run
// returned.
func NewSearch(build string, c *campaign.Campaign, e Search, r *report.Exhaustive) *SearchRecord {
	s := &SearchRecord{
		header: header{
			Format: searchFormat, Version: searchVersion, Build: build, Campaign: Describe(c),
		},
		Index: r.Part.Shard.Index, Guiding: r.Part.Guiding,
	}
	s.Campaign.Search = e
	for i := range r.Part.Levels {
		l := &r.Part.Levels[i]
		s.Levels = append(s.Levels, level{
			runs: newRuns(&l.Runs), Edges: l.Edges, Covered: l.Covered, Transitions: l.Transitions,
			CutOff: l.CutOff, Untried: l.Untried, Granted: l.Granted, Keys: l.Keys,
		})
	}
	s.Checksum = s.checksum()
	return s
}

// checksum returns the checksum that the record should have.
func (s *SearchRecord) checksum() string {
	unsigned := *s
	unsigned.Build, unsigned.Checksum = "", ""
	return file.Checksum(&unsigned)
}

// DecodeSearch reads a record as JSON. Errors, also those of [MergeSearch], call it by the given
// name.
func DecodeSearch(name string, content []byte) (*SearchRecord, error) {
	s := new(SearchRecord)
	if err := s.decode(name, content, searchFormat, searchVersion, s); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("%s: the shard is damaged: %w", name, err)
	}
	return s, nil
}

// validate returns what no shard can have, or nil.
func (s *SearchRecord) validate() error {
	e := &s.Campaign.Search
	switch {
	case s.Index < 0 || s.Index >= e.Shards:
		return fmt.Errorf("%v is no shard", s.shard())
	case len(s.Levels) == 0 || len(s.Levels) > e.MaxDeviations:
		return fmt.Errorf("it has %d levels of %d", len(s.Levels), e.MaxDeviations)
	case s.Campaign.Strategy != strategy.ExhaustiveName:
		return errors.New("it is of no exhaustive search")
	}
	before := 0
	for i := range s.Levels {
		l := &s.Levels[i]
		if err := l.validateFailures(before, before+l.Schedules, 1); err != nil {
			return err
		}
		if !l.Covered && i < len(s.Levels)-1 {
			return fmt.Errorf("it went on after an incomplete level %d", i+1)
		}
		before += l.Schedules
	}
	if s.Checksum != s.checksum() {
		return errChecksum
	}
	return nil
}

// shard returns which shard it is.
func (s *SearchRecord) shard() report.Shard {
	return report.Shard{Index: s.Index, Of: s.Campaign.Search.Shards}
}

// failed reports whether a violation in the level ends the search.
func (l *level) failed(keepGoing bool) bool { return l.Failure != nil && !keepGoing }

// ended reports whether nothing of the level is left, or a violation in it ends the search.
func (l *level) ended(keepGoing bool) bool { return l.Covered || l.failed(keepGoing) }

// report returns the report of the level without its states. Failures have no violations; their
// numbers are higher by an offset.
func (s *SearchRecord) report(l *level, offset int) *report.Exhaustive {
	return &report.Exhaustive{
		Runs: l.runs.report(s.path, offset), Transitions: l.Transitions, CutOff: l.CutOff,
		Untried: l.Untried, Granted: l.Granted,
	}
}

// joins reports whether a level begins where another one ends.
func (l *level) joins(end []engine.Deviation) bool {
	return (l.Begin == nil) == (end == nil) && slices.Equal(l.Begin, end)
}
