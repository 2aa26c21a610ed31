// Package shard stores what a range of a campaign's schedules has shown, and merges such records to
// the report of the whole campaign.
package shard

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/base/program"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A Record is the stored form of the report of a shard. Only the program that has written it can
// read it: some counts go by the program's tables of faults and strategies.
//
// All counts are exact. The digest is a polynomial, so that those of adjacent ranges can be joined.
// States and histories are stored as keys, because the number of a union does not follow from the
// numbers of its parts; a sketch would make the merged number differ from that of one machine. The
// keys of a set stop where a campaign stops to count.
type Record struct {
	header
	Range report.Range `json:"range"`
	runs
	Running  time.Duration `json:"running_ns"`
	Checking time.Duration `json:"checking_ns"`

	Strategies     []report.StrategyStats      `json:"strategies"`
	Configurations []report.ConfigurationStats `json:"configurations"`

	Vacuity *check.Vacuity     `json:"vacuity"`
	Cost    check.Cost         `json:"cost"`
	Margins check.Margins      `json:"margins"`
	Reached []int              `json:"reached,omitempty"` // by sometimes condition
	Seen    *report.SeenRecord `json:"seen"`
}

const (
	recordFormat  = "interlock-shard"
	recordVersion = 5
)

// Build names this program: its version, and a hash of the executable file.
func Build() (string, error) {
	hash, err := program.Hash()
	if err != nil {
		return "", fmt.Errorf("cannot read the executable of this program: %w", err)
	}
	return program.Version() + " " + hash[:16], nil
}

// New returns the record of a campaign's range, with the report that its Run returned.
func New(build string, c *campaign.Campaign, r *report.Campaign) *Record {
	s := &Record{
		header: header{
			Format: recordFormat, Version: recordVersion, Build: build, Campaign: Describe(c),
		},
		Range: c.Part(), runs: newRuns(&r.Runs),
		Running: r.Effort.Running, Checking: r.Effort.Checking,
		Strategies: r.Strategies, Configurations: r.Configurations,
		Vacuity: &r.Totals.Vacuity, Cost: r.Totals.Cost, Margins: r.Totals.Margins,
		Reached: r.Totals.Reached, Seen: r.Seen.Record(),
	}
	s.Checksum = s.checksum()
	return s
}

// checksum returns the checksum that the record should have.
func (s *Record) checksum() string {
	unsigned := *s
	unsigned.Build, unsigned.Checksum = "", ""
	return file.Checksum(&unsigned)
}

// Decode reads a record as JSON. Errors, also those of [Merge], call it by the given name.
func Decode(name string, content []byte) (*Record, error) {
	s := new(Record)
	if err := s.decode(name, content, recordFormat, recordVersion, s); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("%s: the shard is damaged: %w", name, err)
	}
	return s, nil
}

// validate returns what no shard can have, or nil.
func (s *Record) validate() error {
	r := s.Range
	switch {
	case r.From < 0 || r.From >= r.To || r.To > s.Campaign.Schedules:
		return fmt.Errorf("the range from %d to %d is not one of %d schedules", r.From, r.To,
			s.Campaign.Schedules)
	case s.Schedules < 0 || s.Schedules > r.Len():
		return fmt.Errorf("it has run %d of %d schedules", s.Schedules, r.Len())
	case s.Schedules < r.Len() && !s.Interrupted && !s.Ended():
		return fmt.Errorf("it has run only %d of %d schedules", s.Schedules, r.Len())
	case len(s.Configurations) > max(1, len(s.Campaign.Configurations)):
		return errors.New("it has more configurations than the campaign")
	case s.Vacuity == nil || s.Seen == nil:
		return errors.New("counts are missing")
	}
	if err := s.validateFailures(r.From, r.To, max(1, len(s.Campaign.Configurations))); err != nil {
		return err
	}
	if s.Checksum != s.checksum() {
		return errChecksum
	}
	return nil
}

// Ended reports whether the shard ends the campaign, so that later schedules do not count.
func (s *Record) Ended() bool {
	return s.Failure != nil && !s.Campaign.KeepGoing
}
