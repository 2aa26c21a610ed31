package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A header begins the records of all kinds.
type header struct {
	Format   string      `json:"format"` // says which kind it is
	Version  int         `json:"version"`
	Build    string      `json:"build"` // version and hash of the program
	Campaign Description `json:"campaign"`
	// Checksum is over all other fields but Build, which says what can read them.
	Checksum string `json:"checksum"`

	path string // that it was read from, or another name
}

// runs are the part of a record that those of all kinds have.
type runs struct {
	Schedules   int                   `json:"schedules"` // that were run
	Steps       int                   `json:"steps"`
	Depth       int                   `json:"depth"`
	Digest      engine.TraceHash      `json:"digest"`
	Coverage    engine.FaultCoverage  `json:"coverage"`
	Targeted    engine.TargetCoverage `json:"targeted"`
	Elapsed     time.Duration         `json:"elapsed_ns"`
	Unknown     int                   `json:"unknown"`
	Unsettled   int                   `json:"unsettled"`
	Interrupted bool                  `json:"interrupted"`

	Failure                *failure          `json:"failure,omitempty"`
	OutOfContract          *failure          `json:"out_of_contract,omitempty"`
	OutOfContractSchedules int               `json:"out_of_contract_schedules"`
	Distinct               []distinctFailure `json:"distinct,omitempty"`
	Nondeterminism         string            `json:"nondeterminism,omitempty"`
	RunTwice               int               `json:"run_twice,omitempty"` // if any differed
	Differing              int               `json:"differing,omitempty"`
	DifferingLines         []string          `json:"differing_lines,omitempty"`
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
	// Candidates are in the order of [report.DistinctFailure].
	Candidates []candidate `json:"candidates"`
}

// A candidate is the stored form of a schedule that may have another cause.
type candidate struct {
	Cause   report.Cause `json:"cause"`
	Failure *failure     `json:"failure"`
}

// newRuns returns the stored form of what a report says of its runs.
func newRuns(r *report.Runs) runs {
	s := runs{
		Schedules: r.Schedules, Steps: r.Steps, Depth: r.Depth,
		Digest: engine.TraceHash(r.Digest), Coverage: r.Coverage, Targeted: r.Targeted,
		Elapsed: r.Elapsed, Unknown: r.Unknown, Unsettled: r.Unsettled,
		Interrupted: r.Interrupted,
		Failure:     newFailure(r.Failure), OutOfContract: newFailure(r.OutOfContract),
		OutOfContractSchedules: r.OutOfContractSchedules,
		Differing:              r.Differing, DifferingLines: r.DifferingLines,
	}
	for _, d := range r.Distinct {
		stored := distinctFailure{
			Property: d.Property, Signature: d.Signature, Schedules: d.Schedules,
			First: newFailure(d.First),
		}
		for _, other := range d.Candidates {
			stored.Candidates = append(stored.Candidates,
				candidate{other.Cause, newFailure(other.Failure)})
		}
		s.Distinct = append(s.Distinct, stored)
	}
	if r.Nondeterministic != nil {
		s.Nondeterminism, s.RunTwice = r.Nondeterministic.Error(), r.RunTwice
	}
	return s
}

// report returns what the runs were, of a record with that name. Failures have no violations, and
// their numbers are higher by an offset.
func (s *runs) report(name string, offset int) report.Runs {
	r := report.Runs{
		Schedules: s.Schedules, Steps: s.Steps, Depth: s.Depth,
		Digest: report.Digest(s.Digest), Coverage: s.Coverage, Targeted: s.Targeted,
		Elapsed: s.Elapsed, Unknown: s.Unknown, Unsettled: s.Unsettled,
		Failure: s.Failure.report(offset), OutOfContract: s.OutOfContract.report(offset),
		OutOfContractSchedules: s.OutOfContractSchedules,
		RunTwice:               s.RunTwice, Differing: s.Differing,
		DifferingLines: s.DifferingLines,
	}
	if s.Nondeterminism != "" {
		r.Nondeterministic = &engine.Nondeterminism{Text: name + ": " + s.Nondeterminism}
	}
	for _, d := range s.Distinct {
		failure := report.DistinctFailure{
			Property: d.Property, Signature: d.Signature, Schedules: d.Schedules,
			First: d.First.report(offset),
		}
		for _, other := range d.Candidates {
			failure.Candidates = append(failure.Candidates,
				report.Candidate{Cause: other.Cause, Failure: other.Failure.report(offset)})
		}
		r.Distinct = append(r.Distinct, failure)
	}
	return r
}

// failures returns the failures of which there are schedules.
func (s *runs) failures() (all []*failure) {
	for _, f := range []*failure{s.Failure, s.OutOfContract} {
		if f != nil {
			all = append(all, f)
		}
	}
	for i := range s.Distinct {
		all = append(all, s.Distinct[i].First)
		for _, other := range s.Distinct[i].Candidates {
			all = append(all, other.Failure)
		}
	}
	return all
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

// report returns the failure without its violations, or nil.
func (f *failure) report(offset int) *report.Failure {
	if f == nil {
		return nil
	}
	return &report.Failure{
		Schedule: f.Schedule + offset, Strategy: f.Strategy, Configuration: f.Configuration,
		Deviations: f.Deviations,
	}
}

// decode reads a record of the format and version, of which this is the header.
func (s *header) decode(name string, content []byte, format string, version int, to any) error {
	// The other fields of another version may have other types.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return fmt.Errorf("%s: the shard is damaged: %w", name, err)
	}
	switch {
	case head.Format != format:
		return fmt.Errorf("%s: the format of the shard is %q, not %q", name, head.Format, format)
	case head.Version != version:
		return fmt.Errorf("%s: version %d of the format, and this program reads only "+
			"version %d", name, head.Version, version)
	}
	if err := json.Unmarshal(content, to); err != nil {
		return fmt.Errorf("%s: the shard is damaged: %w", name, err)
	}
	s.path = name
	return nil
}

var errChecksum = errors.New("its checksum is wrong; run the shard again")

// validateFailures returns what failures of the schedules from one number to another, in so many
// configurations, cannot have, or nil.
func (s *runs) validateFailures(from, to, configurations int) error {
	if (s.OutOfContract == nil) != (s.OutOfContractSchedules == 0) {
		return errors.New("violations out of contract are missing")
	}
	for _, f := range s.failures() {
		if f == nil {
			return errors.New("a distinct failure has no schedule")
		}
		if err := f.validate(report.Range{From: from, To: to}, configurations); err != nil {
			return err
		}
	}
	return nil
}

// validate returns what a failure of the schedules, in one of the configurations, cannot have, or
// nil.
func (f *failure) validate(in report.Range, configurations int) error {
	switch {
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

// A Report is what is read from the JSON report of a shard: the record of a part of a campaign or
// that of a part of an exhaustive search. The other one is nil.
type Report struct {
	Campaign *Record
	Search   *SearchRecord
}

// Read reads the JSON report of a shard. The error names the file.
func Read(path string) (Report, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Report{}, err
	}
	var file struct {
		Shard json.RawMessage `json:"shard"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return Report{}, fmt.Errorf("%s is not a report of a shard, or is damaged: %w", path, err)
	}
	if file.Shard == nil {
		return Report{}, fmt.Errorf("%s is not a report of a shard: check --shard writes one", path)
	}
	var head struct {
		Format string `json:"format"`
	}
	if json.Unmarshal(file.Shard, &head) == nil && head.Format == searchFormat {
		record, err := DecodeSearch(path, file.Shard)
		return Report{Search: record}, err
	}
	record, err := Decode(path, file.Shard)
	return Report{Campaign: record}, err
}
