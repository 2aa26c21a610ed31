// Package shard stores what a range of a campaign's schedules has shown, and merges such records to
// the report of the whole campaign.
package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/program"
	"github.com/interlock-sim/interlock/internal/report"
)

// A Record is the stored form of the report of a shard. Only the program that has written it can
// read it: some counts go by the program's tables of faults and strategies.
//
// All counts are exact. The digest is a polynomial, so that those of adjacent ranges can be joined.
// States and histories are stored as keys, because the number of a union does not follow from the
// numbers of its parts; a sketch would make the merged number differ from that of one machine. The
// keys of a set stop where a campaign stops to count.
type Record struct {
	Format  string `json:"format"` // always recordFormat
	Version int    `json:"version"`
	Build   string `json:"build"` // version and hash of the program

	Campaign Description  `json:"campaign"`
	Range    report.Range `json:"range"`

	Schedules   int                   `json:"schedules"` // that were run
	Steps       int                   `json:"steps"`
	Depth       int                   `json:"depth"`
	Digest      engine.TraceHash      `json:"digest"`
	Coverage    engine.FaultCoverage  `json:"coverage"`
	Targeted    engine.TargetCoverage `json:"targeted"`
	Elapsed     time.Duration         `json:"elapsed_ns"`
	Running     time.Duration         `json:"running_ns"`
	Checking    time.Duration         `json:"checking_ns"`
	Unknown     int                   `json:"unknown"`
	Unsettled   int                   `json:"unsettled"`
	Interrupted bool                  `json:"interrupted"`

	Strategies     []report.StrategyStats      `json:"strategies"`
	Configurations []report.ConfigurationStats `json:"configurations"`

	Vacuity *check.Vacuity     `json:"vacuity"`
	Cost    check.Cost         `json:"cost"`
	Margins check.Margins      `json:"margins"`
	Reached []int              `json:"reached,omitempty"` // by sometimes condition
	Seen    *report.SeenRecord `json:"seen"`

	Failure                *failure          `json:"failure,omitempty"`
	OutOfContract          *failure          `json:"out_of_contract,omitempty"`
	OutOfContractSchedules int               `json:"out_of_contract_schedules"`
	Distinct               []distinctFailure `json:"distinct,omitempty"`
	Nondeterminism         string            `json:"nondeterminism,omitempty"`
	RunTwice               int               `json:"run_twice,omitempty"` // if any differed
	Differing              int               `json:"differing,omitempty"`
	DifferingLines         []string          `json:"differing_lines,omitempty"`

	// Checksum is over all other fields but Build, which says what can read them.
	Checksum string `json:"checksum"`

	path string // that it was read from, or another name
}

// A failure is the stored form of a schedule with violations. It holds the schedule itself, so that
// it can be run again and shrunk elsewhere.
type failure struct {
	Schedule      int                `json:"schedule"`
	Strategy      string             `json:"strategy"`
	Configuration int                `json:"configuration"`
	Deviations    []engine.Deviation `json:"deviations"`
	Signatures    []string           `json:"signatures"`
}

// A distinctFailure is the stored form of a distinct failure.
type distinctFailure struct {
	Property  history.Property `json:"property"`
	Signature string           `json:"signature"`
	Schedules int              `json:"schedules"`
	First     *failure         `json:"first"`
}

const (
	recordFormat  = "interlock-shard"
	recordVersion = 2
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
		Format: recordFormat, Version: recordVersion, Build: build,
		Campaign: Describe(c), Range: c.Part(),
		Schedules: r.Schedules, Steps: r.Steps, Depth: r.Depth,
		Digest: engine.TraceHash(r.Digest), Coverage: r.Coverage, Targeted: r.Targeted,
		Elapsed: r.Elapsed, Running: r.Effort.Running, Checking: r.Effort.Checking,
		Unknown: r.Unknown, Unsettled: r.Unsettled, Interrupted: r.Interrupted,
		Strategies: r.Strategies, Configurations: r.Configurations,
		Vacuity: &r.Totals.Vacuity, Cost: r.Totals.Cost, Margins: r.Totals.Margins,
		Reached: r.Totals.Reached, Seen: r.Seen.Record(),
		Failure: newFailure(r.Failure), OutOfContract: newFailure(r.OutOfContract),
		OutOfContractSchedules: r.OutOfContractSchedules,
		Differing:              r.Differing, DifferingLines: r.DifferingLines,
	}
	for _, d := range r.Distinct {
		s.Distinct = append(s.Distinct,
			distinctFailure{d.Property, d.Signature, d.Schedules, newFailure(d.First)})
	}
	if r.Nondeterministic != nil {
		s.Nondeterminism, s.RunTwice = r.Nondeterministic.Error(), r.RunTwice
	}
	s.Checksum = s.checksum()
	return s
}

// checksum returns the checksum that the record should have.
func (s *Record) checksum() string {
	unsigned := *s
	unsigned.Build, unsigned.Checksum = "", ""
	content, err := json.Marshal(&unsigned)
	if err != nil {
		panic(err) // Everything in a record can be encoded.
	}
	return fmt.Sprintf("%016x", xxhash.Sum64(content))
}

// newFailure returns the stored form of a failure, or nil.
func newFailure(f *report.Failure) *failure {
	if f == nil {
		return nil
	}
	return &failure{f.Schedule, f.Strategy, f.Configuration, f.Deviations, signatures(f.Violations)}
}

// signatures returns the signatures of violations.
func signatures(violations []*history.Violation) (all []string) {
	for _, v := range violations {
		all = append(all, v.Signature())
	}
	return all
}

// Read reads the record from the JSON report of a shard. The error names the file.
func Read(path string) (*Record, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Shard json.RawMessage `json:"shard"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("%s is not a report of a shard, or is damaged: %w", path, err)
	}
	if file.Shard == nil {
		return nil, fmt.Errorf("%s is not a report of a shard: check --shard writes one", path)
	}
	return Decode(path, file.Shard)
}

// Decode reads a record as JSON. Errors, also those of [Merge], call it by the given name.
func Decode(name string, content []byte) (*Record, error) {
	// The other fields of another version may have other types.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("%s: the shard is damaged: %w", name, err)
	}
	switch {
	case head.Format != recordFormat:
		return nil, fmt.Errorf("%s: the format of the shard is %q, not %q", name, head.Format,
			recordFormat)
	case head.Version != recordVersion:
		return nil, fmt.Errorf("%s: version %d of the format, and this program reads only "+
			"version %d", name, head.Version, recordVersion)
	}
	s := &Record{path: name}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("%s: the shard is damaged: %w", name, err)
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
	case (s.OutOfContract == nil) != (s.OutOfContractSchedules == 0):
		return errors.New("violations out of contract are missing")
	}
	failures := []*failure{s.Failure, s.OutOfContract}
	for i := range s.Distinct {
		if s.Distinct[i].First == nil {
			return errors.New("a distinct failure has no schedule")
		}
		failures = append(failures, s.Distinct[i].First)
	}
	for _, f := range failures {
		if err := f.validate(r, max(1, len(s.Campaign.Configurations))); err != nil {
			return err
		}
	}
	if s.Checksum != s.checksum() {
		return errors.New("its checksum is wrong; run the shard again")
	}
	return nil
}

// validate returns what a failure of the range in one of the configurations cannot have, or nil.
func (f *failure) validate(in report.Range, configurations int) error {
	switch {
	case f == nil:
		return nil
	case f.Schedule < in.From || f.Schedule >= in.To:
		return fmt.Errorf("schedule %d is not one of %v", f.Schedule, in)
	case f.Configuration < 0 || f.Configuration >= configurations:
		return fmt.Errorf("schedule %d ran in configuration %d of %d", f.Schedule,
			f.Configuration, configurations)
	case len(f.Signatures) == 0:
		return fmt.Errorf("schedule %d has no violation", f.Schedule)
	}
	for i, d := range f.Deviations {
		if d.Index < 0 || i > 0 && d.Index <= f.Deviations[i-1].Index {
			return fmt.Errorf("schedule %d: the deviations are not in order", f.Schedule)
		}
	}
	return nil
}

// Ended reports whether the shard ends the campaign, so that later schedules do not count.
func (s *Record) Ended() bool {
	return s.Failure != nil && !s.Campaign.KeepGoing
}
