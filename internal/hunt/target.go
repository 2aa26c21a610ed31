package hunt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/file"
	"github.com/interlock-sim/interlock/internal/report"
	"github.com/interlock-sim/interlock/internal/stateset"
)

// A Target is a lock that is hunted.
type Target struct {
	Name           string
	Configurations []campaign.Configuration
	// Schedules is the length of a turn.
	Schedules int
	Workers   int // parallel schedules
}

// Findings are what all turns of a lock have found.
type Findings struct {
	Lock       string        `json:"lock"`
	Turns      int           `json:"turns"`
	Schedules  int           `json:"schedules"`
	Steps      int           `json:"steps"`
	Running    time.Duration `json:"running_ns"` // over all workers
	Behaviours int           `json:"behaviours"` // distinct ones, up to a bound
	// Fresh and FreshSteps are the new behaviours and the steps of late turns. They decide the
	// share of the lock in further turns.
	Fresh      float64 `json:"fresh"`
	FreshSteps float64 `json:"fresh_steps"`
	// Coverage counts the faults that struck, by kind and phase.
	Coverage map[string]map[string]int `json:"fault_coverage"`
	// Margins are the smallest margins in time, in ns, by name.
	Margins   map[string]time.Duration `json:"margins_ns"`
	Failures  []Failure                `json:"failures"`
	Unknown   int                      `json:"unknown"`   // schedules without a verdict
	Differing int                      `json:"differing"` // schedules that did not run alike twice
}

// A Failure is all violations of a lock with the same signature.
type Failure struct {
	Property  history.Property `json:"property"`
	Signature string           `json:"signature"`
	Schedules int              `json:"schedules"`
	Turn      int              `json:"turn"` // in which it was found
	// Directory is that of the counterexample, below that of all, or empty if there is none.
	Directory string `json:"directory"`
}

// A corpus is what the directory of a hunt has of a lock.
type corpus struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Findings
	// Known are the keys of the behaviours.
	Known stateset.Keys `json:"known"`
}

const (
	corpusFormat  = "interlock-hunt"
	corpusVersion = 1
)

// corpusPath returns the file with the corpus of a lock.
func (h *Hunt) corpusPath(lock string) string {
	return filepath.Join(h.Directory, "corpus", lock+".json")
}

// readCorpus returns the corpus of a lock, an empty one if there is none. The error names the file.
func (h *Hunt) readCorpus(lock string) (*corpus, error) {
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
	}
	return c, nil
}

// write writes the corpus. A hunt that is killed meanwhile leaves the last one.
func (c *corpus) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	draft := filepath.Join(filepath.Dir(path), file.DraftPrefix+filepath.Base(path))
	if err := file.WriteJSON(draft, c); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

// behaviours returns the set of the known behaviours.
func (c *corpus) behaviours() *stateset.Set {
	known := new(stateset.Set)
	for _, key := range c.Known {
		known.Add(key)
	}
	return known
}

// scoreKept is the part of a lock's score that remains after a turn.
const scoreKept = 0.5

// add adds a turn, whose behaviours are in the set now.
func (c *corpus) add(r *report.Campaign, known *stateset.Set) {
	fresh := known.Len() - c.Behaviours
	c.Turns++
	c.Schedules += r.Schedules
	c.Steps += r.Steps
	c.Running += r.Effort.Running
	c.Unknown += r.Unknown
	c.Differing += r.Differing
	c.Fresh = scoreKept*c.Fresh + float64(fresh)
	c.FreshSteps = scoreKept*c.FreshSteps + float64(r.Steps)
	c.Behaviours, c.Known = known.Len(), known.Sorted()
	if c.Coverage == nil {
		c.Coverage, c.Margins = make(map[string]map[string]int), make(map[string]time.Duration)
	}
	for kind := range faults.Kinds {
		for phase := range faults.Phases {
			n := r.Coverage[kind][phase]
			if n == 0 {
				continue
			}
			phases := c.Coverage[kind.String()]
			if phases == nil {
				phases = make(map[string]int)
				c.Coverage[kind.String()] = phases
			}
			phases[phase.String()] += n
		}
	}
	for i := range r.Totals.Margins {
		m, name := &r.Totals.Margins[i], check.MarginNames[i]
		if old, known := c.Margins[name]; m.Times > 0 && (!known || m.Smallest < old) {
			c.Margins[name] = m.Smallest
		}
	}
}

// rate returns how many new behaviours late turns have shown for their steps.
func (f *Findings) rate() float64 { return f.Fresh / max(1, f.FreshSteps) }

// cells returns in how many combinations of kind and phase faults have struck, and how many have.
func (f *Findings) cells() (cells, faults int) {
	for _, phases := range f.Coverage {
		cells += len(phases)
		for _, n := range phases {
			faults += n
		}
	}
	return cells, faults
}
