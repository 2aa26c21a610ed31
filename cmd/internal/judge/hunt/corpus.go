package hunt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/stateset"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A corpus is what the directory of a hunt has of a lock.
type corpus struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Findings
	// Known are the keys of the behaviours.
	Known         stateset.Keys `json:"known"`
	KeptSchedules []schedule    `json:"kept_schedules"` // that mutants change; the latest last
	// Tried are the causes, before they were shrunk, of schedules whose failures are known.
	Tried    []triedCause `json:"tried"`
	Checksum string       `json:"checksum"` // of all the others
}

// A triedCause is that of a violation with a signature.
type triedCause struct {
	Signature string       `json:"signature"`
	Cause     report.Cause `json:"cause"`
}

// checksum returns the checksum that the corpus should have.
func (c *corpus) checksum() string {
	unsigned := *c
	unsigned.Checksum = ""
	return file.Checksum(&unsigned)
}

// A schedule is one that has shown new behaviour, with what tells its configuration from others.
type schedule struct {
	scenarios.Dimensions
	Deviations deviations `json:"deviations"`
}

// Deviations are written as text, such as "3 serve c1,17 expire c2", because there are many.
type deviations []engine.Deviation

// MarshalText writes the deviations.
func (d deviations) MarshalText() ([]byte, error) {
	var text []byte
	for i := range d {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%d %v", d[i].Index, d[i].Step)
	}
	return text, nil
}

// UnmarshalText reads the deviations.
func (d *deviations) UnmarshalText(text []byte) error {
	*d = nil
	if len(text) == 0 {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		number, name, _ := strings.Cut(part, " ")
		index, err := strconv.Atoi(number)
		if err != nil || index < 0 || len(*d) > 0 && index <= (*d)[len(*d)-1].Index {
			return fmt.Errorf("the deviation %q of a kept schedule is damaged", part)
		}
		step, err := sim.ParseStep(name)
		if err != nil {
			return fmt.Errorf("a kept schedule is damaged: %w", err)
		}
		*d = append(*d, engine.Deviation{Index: index, Step: step})
	}
	return nil
}

const (
	corpusFormat  = "interlock-hunt"
	corpusVersion = 5
)

// corpusPath returns the file with the corpus of a lock.
func (h *Hunt) corpusPath(lock string) string {
	return filepath.Join(h.Directory, "corpus", lock+".json")
}

// readCorpus returns the corpus of a lock, an empty one if there is none. The error names the file.
func (h *Hunt) readCorpus(target *Target) (*corpus, error) {
	lock := target.Name
	path := h.corpusPath(lock)
	c := &corpus{Format: corpusFormat, Version: corpusVersion}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		c.Lock = lock
		return c, nil
	}
	if err == nil {
		if err = json.Unmarshal(content, c); err != nil {
			err = fmt.Errorf("%s is damaged: %w", path, err)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case c.Format != corpusFormat || c.Version != corpusVersion:
		return nil, fmt.Errorf("%s has format %q, version %d, and this program reads only %q, "+
			"version %d", path, c.Format, c.Version, corpusFormat, corpusVersion)
	case c.Lock != lock:
		return nil, fmt.Errorf("%s is of the lock %q", path, c.Lock)
	case c.Checksum != c.checksum():
		return nil, fmt.Errorf("%s is damaged: its checksum is wrong; remove it, and the hunt of "+
			"this lock begins anew", path)
	}
	return c, nil
}

// write writes the corpus. A hunt that is killed meanwhile leaves the last one.
func (c *corpus) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	c.Checksum = c.checksum()
	return file.WriteJSON(path, c)
}

// known returns the corpus for a campaign. Schedules of configurations that the target does not
// have are left out.
func (c *corpus) known(target *Target) *strategy.Corpus {
	known := new(strategy.Corpus)
	for _, key := range c.Known {
		known.Behaviours.Add(key)
	}
	for i := range c.KeptSchedules {
		at := slices.IndexFunc(target.Configurations, c.KeptSchedules[i].runsIn)
		if at >= 0 {
			known.Parents = append(known.Parents,
				strategy.Parent{Configuration: at, Deviations: c.KeptSchedules[i].Deviations})
		}
	}
	return known
}

// runsIn reports whether the schedule is one of the configuration.
func (s *schedule) runsIn(c campaign.Configuration) bool {
	return c.Dimensions() == s.Dimensions
}

// keep replaces what mutants change.
func (c *corpus) keep(parents []strategy.Parent, target *Target) {
	c.KeptSchedules = nil
	for _, p := range parents {
		s := &target.Configurations[p.Configuration].Scenario
		c.KeptSchedules = append(c.KeptSchedules, schedule{s.Dimensions(), p.Deviations})
	}
	c.Kept = len(parents)
}

// scoreKept is the part of a lock's score that remains after a turn.
const scoreKept = 0.5

// add adds a turn, which has added what it has shown to what is known.
func (c *corpus) add(r *report.Campaign, target *Target, known *strategy.Corpus) {
	fresh := known.Behaviours.Len() - c.Behaviours
	c.Turns++
	c.Schedules += r.Schedules
	c.Steps += r.Steps
	c.Running += r.Effort.Running
	c.Unknown += r.Unknown
	c.Differing += r.Differing
	c.Fresh = scoreKept*c.Fresh + float64(fresh)
	c.FreshSteps = scoreKept*c.FreshSteps + float64(r.Steps)
	c.Behaviours, c.Known = known.Behaviours.Len(), known.Behaviours.Sorted()
	c.keep(known.Parents, target)
	if c.Coverage == nil {
		c.Strategies = make(map[string]Yield)
		c.Measured = judge.NewMeasured()
	}
	for _, s := range r.Strategies {
		yield := c.Strategies[s.Strategy]
		yield.Schedules += s.Schedules
		yield.Behaviours += s.Behaviours
		c.Strategies[s.Strategy] = yield
	}
	c.Measured.Add(r, faults.Phase.String)
}

// unknown counts the schedules of known failures, and returns the failures that may have another
// cause.
func (c *corpus) unknown(failures report.DistinctFailures) (fresh report.DistinctFailures) {
	for _, d := range failures {
		for i := range c.Failures {
			if f := &c.Failures[i]; f.Signature == d.Signature {
				f.Schedules += d.Schedules
				d.Schedules = f.Schedules
				d.Known = append(d.Known, f.Cause)
			}
		}
		d.Candidates = slices.DeleteFunc(slices.Clone(d.Candidates),
			func(other report.Candidate) bool {
				return !c.try(triedCause{d.Signature, other.Cause})
			})
		if len(d.Known) == 0 || len(d.Candidates) > 0 {
			fresh = append(fresh, d)
		}
	}
	return fresh
}

// try notes a cause, and reports whether it was never tried.
func (c *corpus) try(cause triedCause) bool {
	same := func(t triedCause) bool {
		return t.Signature == cause.Signature && t.Cause.Compare(&cause.Cause) == 0
	}
	if slices.ContainsFunc(c.Tried, same) {
		return false
	}
	c.Tried = append(c.Tried, cause)
	return true
}
