package exhaustive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/base/program"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/flat"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/stateset"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/sim"
)

// A checkpoint is the state of an exhaustive search: its path, the steps left to be tried, and the
// visited states. Only the same search by the same program can resume from it.
type checkpoint struct {
	Format  string `json:"format"` // always checkpointFormat
	Version int    `json:"version"`
	Search  string `json:"search"`  // the parameters of the search
	Program string `json:"program"` // a hash of the executable file
	// Fingerprint is the trace hash of the run under the default policy. It differs if code has
	// changed.
	Fingerprint engine.TraceHash      `json:"fingerprint"`
	Schedules   int                   `json:"schedules"`
	Steps       int                   `json:"steps"`
	Transitions int                   `json:"transitions"`
	Depth       int                   `json:"depth"`
	CutOff      int                   `json:"cut_off"`
	Unsettled   int                   `json:"unsettled,omitempty"`
	Digest      report.Digest         `json:"digest"`
	Coverage    engine.FaultCoverage  `json:"coverage"`
	Targeted    engine.TargetCoverage `json:"targeted"`
	ElapsedNs   int64                 `json:"elapsed_ns"`
	Unknown     int                   `json:"unknown,omitempty"` // see [report.Runs]
	Granted     bool                  `json:"granted"`           // see [report.Exhaustive]
	// see [report.Runs]
	OutOfContractSchedules int              `json:"out_of_contract_schedules,omitempty"`
	OutOfContract          *failureRecord   `json:"out_of_contract,omitempty"`
	Distinct               []distinctRecord `json:"distinct,omitempty"`
	Path                   []frameRecord    `json:"path"`
	Seen                   stateset.Keys    `json:"seen"`
	Merged                 *mergedRecord    `json:"merged,omitempty"` // if states are merged

	// if states are merged: what they and local histories are, as [flat.Encoder] writes it
	numbers *flat.Decoder
}

const (
	checkpointFormat  = "interlock-checkpoint"
	checkpointVersion = 8
	checkpointEvery   = time.Minute // how often a search writes a checkpoint
)

// A failureRecord is the stored form of a schedule with a violation.
type failureRecord struct {
	Schedule   int                `json:"schedule"`
	Deviations []engine.Deviation `json:"deviations"`
}

// A distinctRecord is the stored form of a distinct failure.
type distinctRecord struct {
	Property  history.Property `json:"property"`
	Signature string           `json:"signature"`
	Schedules int              `json:"schedules"`
	First     failureRecord    `json:"first"`
	// Candidates are in the order of [report.DistinctFailure].
	Candidates []candidateRecord `json:"candidates"`
}

// A candidateRecord is the stored form of a schedule that may have another cause.
type candidateRecord struct {
	Cause report.Cause `json:"cause"`
	failureRecord
}

// A frameRecord is the stored form of a frame.
type frameRecord struct {
	Key       uint64       `json:"key"`
	Visit     uint64       `json:"visit"`
	Step      sim.Step     `json:"step"`
	Default   sim.Step     `json:"default"`
	Rest      []sim.Step   `json:"rest,omitempty"`
	Deferred  []sim.Step   `json:"deferred,omitempty"`
	IdleTicks int          `json:"idle_ticks,omitempty"`
	Wasteful  bool         `json:"wasteful,omitempty"`
	Stored    bool         `json:"stored,omitempty"`
	Unstored  int          `json:"unstored,omitempty"`
	Merged    *mergedFrame `json:"merged,omitempty"` // if states are merged
}

// description returns the parameters on which a search depends.
func (e *Search) description() string {
	text := fmt.Sprintf("%v, symmetry %v, slack %d, unreduced %v, live %v", &e.Scenario, e.Symmetry,
		e.IdleTicks, e.NoReduction, e.NoReplayCache)
	if e.FairSuffixes {
		text += ", fair"
	}
	if e.KeepGoing {
		text += ", keep going"
	}
	if !e.merges() {
		text += ", not merged"
	}
	return text
}

// Resume makes the next Run continue from the Checkpoint file of an earlier search. Without such a
// file, the search starts from the beginning. Resume returns an error that names the file if it
// cannot be read or written, or is not a checkpoint of this search by this program, and one that
// names the first difference if the schedule of the default policy does not always run alike.
func (e *Search) Resume(t *testing.T) error {
	var err error
	e.restrict()
	if e.program, err = program.Hash(); err != nil {
		return fmt.Errorf("%s: cannot read the executable of this program: %w", e.Checkpoint, err)
	}
	if err := e.takeFingerprint(t); err != nil {
		return err
	}
	if err := file.Check(e.Checkpoint); err != nil {
		return err
	}
	content, err := os.ReadFile(e.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c, err := e.decode(content)
	if err != nil {
		return err
	}
	if err := e.recall(t, c); err != nil {
		return err
	}
	if c.Merged != nil {
		if err := e.restore(t, c); err != nil {
			return fmt.Errorf("%s: %w", e.Checkpoint, err)
		}
	}
	e.resumed = c
	return nil
}

// fingerprintRuns is how often the schedule of the default policy runs before a search has a
// checkpoint. A select with two ready cases takes one of them in all runs once in 2^15.
const fingerprintRuns = 16

// takeFingerprint sets the fingerprint of the lock. It returns an error if the lock has none.
func (e *Search) takeFingerprint(t *testing.T) error {
	ctx, runner := context.Background(), engine.NewRunner(t)
	first := engine.NewRunner(t).Run(&e.Scenario, &engine.Replay{})
	for range fingerprintRuns - 1 {
		n := runner.RunAgain(ctx, &e.Scenario, 0, &engine.Replay{}, first)
		if n == nil {
			continue
		}
		runner.Locate(ctx, &e.Scenario, func() engine.Strategy { return &engine.Replay{} }, n)
		return fmt.Errorf("%w: %w", errNotResumable, n)
	}
	e.fingerprint = engine.TraceHash(first.TraceHash)
	return nil
}

// errNotResumable is why a search has no checkpoint.
var errNotResumable = errors.New("the lock is nondeterministic, so no search of it can be resumed")

// decode reads a checkpoint: a line of JSON, numbers if states are merged, and a checksum of these.
func (e *Search) decode(content []byte) (*checkpoint, error) {
	var c checkpoint
	line, numbers, _ := bytes.Cut(content, []byte("\n"))
	err := json.Unmarshal(line, &c)
	if err == nil {
		if err := e.fits(&c); err != nil {
			return nil, err
		}
		end := len(content) - xxhash.New().Size()
		if end <= len(line) || !bytes.Equal(content[end:], sumOf(content[:end])) {
			return nil, fmt.Errorf("%s is damaged: its checksum is wrong; remove it, and the "+
				"search begins anew", e.Checkpoint)
		}
		if c.Merged != nil {
			c.numbers, err = flat.NewDecoder(numbers[:end-len(line)-1])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a checkpoint of Interlock, or is damaged: %w",
			e.Checkpoint, err)
	}
	return &c, nil
}

// fits returns why a checkpoint does not belong to this search by this program, or nil.
func (e *Search) fits(c *checkpoint) error {
	switch {
	case c.Format != checkpointFormat:
		return fmt.Errorf("%s is not a checkpoint of Interlock: its format is %q, not %q",
			e.Checkpoint,
			c.Format, checkpointFormat)
	case c.Version != checkpointVersion:
		return fmt.Errorf("%s: version %d of the format, and this program reads only version %d",
			e.Checkpoint, c.Version, checkpointVersion)
	case c.Search != e.description():
		return fmt.Errorf("%s is of another search: %s. This one is: %s", e.Checkpoint, c.Search,
			e.description())
	case c.Fingerprint != e.fingerprint:
		return fmt.Errorf("%s was written with another version of the lock or of Interlock: the "+
			"same schedule runs differently now", e.Checkpoint)
	case c.Program != e.program:
		return fmt.Errorf("%s was written by another build of the program, whose lock may have "+
			"been "+
			"another", e.Checkpoint)
	}
	return nil
}

// recall runs the schedules with violations again.
func (e *Search) recall(t *testing.T, c *checkpoint) (err error) {
	if c.OutOfContract != nil {
		if e.outOfContract, err = e.failure(t, c.OutOfContract); err != nil {
			return err
		}
	}
	e.distinct = nil
	for i := range c.Distinct {
		d := &c.Distinct[i]
		first, err := e.failure(t, &d.First)
		if err != nil {
			return err
		}
		failure := report.DistinctFailure{
			Property: d.Property, Signature: d.Signature, Schedules: d.Schedules, First: first,
		}
		for _, other := range d.Candidates {
			failure.Candidates = append(failure.Candidates, report.Candidate{
				Cause: other.Cause, Failure: &report.Failure{
					Schedule: other.Schedule, Strategy: strategy.ExhaustiveName,
					Deviations: other.Deviations,
				},
			})
		}
		e.distinct = append(e.distinct, failure)
	}
	return nil
}

// failure runs a schedule with a violation again.
func (e *Search) failure(t *testing.T, b *failureRecord) (*report.Failure, error) {
	result := engine.NewRunner(t).Run(&e.Scenario, &engine.Replay{Deviations: b.Deviations})
	if len(result.Violations) == 0 {
		return nil, fmt.Errorf("%s: schedule %d has no violation", e.Checkpoint, b.Schedule)
	}
	result.Lead(&e.Scenario, "")
	return &report.Failure{
		Schedule: b.Schedule, Strategy: strategy.ExhaustiveName, Deviations: b.Deviations,
		Violations:    result.Violations,
		OutOfContract: result.OutOfContractViolations(&e.Scenario),
	}, nil
}

// resume restores the search from the checkpoint.
func (x *dfs) resume(c *checkpoint, r *report.Exhaustive) {
	for _, key := range c.Seen {
		x.states.seen.Add(key)
	}
	for _, w := range c.Path {
		x.path = append(x.path, frame{
			key: w.Key, visit: w.Visit, step: w.Step, defaultStep: w.Default, rest: w.Rest,
			deferred: w.Deferred, idleTicks: w.IdleTicks,
			wasteful: w.Wasteful, stored: w.Stored, unstored: w.Unstored,
		})
	}
	if c.Merged != nil {
		x.resumeMerged(c, r)
	}
	r.Schedules, r.Steps, r.Transitions, r.Depth, r.CutOff = c.Schedules, c.Steps, c.Transitions,
		c.Depth, c.CutOff
	r.Unsettled = c.Unsettled
	r.Digest, r.Coverage, r.Targeted, r.States = c.Digest, c.Coverage, c.Targeted, x.states.len()
	r.Untried = x.open() + 1 // The last step of the path is the next to be tried.
	r.Unknown, r.Granted, r.OutOfContractSchedules, r.OutOfContract = c.Unknown, c.Granted,
		c.OutOfContractSchedules, x.search.outOfContract
	if r.Distinct = x.search.distinct; len(r.Distinct) > 0 {
		r.Failure = r.Distinct[0].First
	}
}

// save writes a checkpoint.
func (x *dfs) save(r *report.Exhaustive) error {
	if r.Differing > 0 || x.search.differs {
		return errNotResumable
	}
	c := checkpoint{
		Format: checkpointFormat, Version: checkpointVersion, Search: x.search.description(),
		Program: x.search.program, Fingerprint: x.search.fingerprint,
		Schedules: r.Schedules, Steps: r.Steps, Transitions: r.Transitions, Depth: r.Depth,
		CutOff: r.CutOff, Unsettled: r.Unsettled,
		Digest: r.Digest, Coverage: r.Coverage, Targeted: r.Targeted, ElapsedNs: int64(r.Elapsed),
		Seen: x.known(), Merged: x.mergedRecord(r),
		Unknown: r.Unknown, Granted: r.Granted,
		OutOfContractSchedules: r.OutOfContractSchedules,
	}
	if b := r.OutOfContract; b != nil {
		c.OutOfContract = &failureRecord{b.Schedule, b.Deviations}
	}
	for _, d := range r.Distinct {
		stored := distinctRecord{
			Property: d.Property, Signature: d.Signature, Schedules: d.Schedules,
			First: failureRecord{d.First.Schedule, d.First.Deviations},
		}
		for _, other := range d.Candidates {
			stored.Candidates = append(stored.Candidates, candidateRecord{
				other.Cause, failureRecord{other.Failure.Schedule, other.Failure.Deviations},
			})
		}
		c.Distinct = append(c.Distinct, stored)
	}
	for i := range x.path {
		b := &x.path[i]
		c.Path = append(c.Path, frameRecord{
			Key: b.key, Visit: b.visit, Step: b.step, Default: b.defaultStep, Rest: b.rest,
			Deferred: b.deferred, IdleTicks: b.idleTicks,
			Wasteful: b.wasteful, Stored: b.stored, Unstored: b.unstored,
			Merged: x.mergedFrame(b),
		})
	}
	return file.Write(x.search.Checkpoint, func(w io.Writer) error {
		sum := xxhash.New()
		both := io.MultiWriter(w, sum)
		err := json.NewEncoder(both).Encode(&c)
		if err == nil && c.Merged != nil {
			err = x.encode(both)
		}
		if err == nil {
			_, err = w.Write(sum.Sum(nil))
		}
		return err
	})
}

// sumOf returns the checksum of the content of a checkpoint.
func sumOf(content []byte) []byte {
	sum := xxhash.New()
	sum.Write(content)
	return sum.Sum(nil)
}

// known returns the keys that completed runs have visited.
func (x *dfs) known() stateset.Keys {
	return slices.DeleteFunc(x.states.seen.Sorted(), func(key uint64) bool {
		_, gone := slices.BinarySearch(x.rolledBack, key)
		return gone
	})
}
