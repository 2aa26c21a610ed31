// Package hunt searches many locks in turns, for as long as it may, and remembers in a directory
// what it has found. A hunt in the same directory continues.
//
// A turn is a campaign of one lock with a new seed, whose strategy is the portfolio. Only what no
// earlier turn of the lock has shown counts as new behaviour. Some schedules are mutations of
// schedules with new behaviour. In memory is no more than the campaign of one turn, and the
// findings.
package hunt

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A Hunt searches its targets in turns.
type Hunt struct {
	Directory string // of the corpus and the counterexamples
	Targets   []Target
	Seed      uint64
	Turns     int // maximum of this hunt; 0 for no bound
	// ReplayBy returns the command that replays the counterexample in a directory.
	ReplayBy func(directory string) string
	Progress *judge.Progress

	lock  *flock.Flock // on the directory
	began time.Time
	owed  []float64 // work, by target; see [Hunt.next]

	mu       sync.Mutex
	findings []Findings // by target
	ran      int        // schedules of this hunt
}

// A Status is how far a hunt is.
type Status struct {
	Elapsed   time.Duration `json:"elapsed_ns"` // of the hunt since it was last started
	Schedules int           `json:"schedules"`  // since then
	// Broken counts the locks that are known to be broken, and Missing names those of them in which
	// no failure was found yet that shows it; see [Target.Broken].
	Broken  int        `json:"broken"`
	Missing []string   `json:"missing"`
	Locks   []Findings `json:"locks"` // of all hunts in the directory
}

// Failures returns the number of distinct failures.
func (s *Status) Failures() (n int) {
	for i := range s.Locks {
		n += len(s.Locks[i].Failures)
	}
	return n
}

// Found returns the number of broken locks that are not missing.
func (s *Status) Found() int { return s.Broken - len(s.Missing) }

// FailuresDirectory returns the directory of the counterexamples.
func (h *Hunt) FailuresDirectory() string { return filepath.Join(h.Directory, "failures") }

// Open takes the directory for this hunt and reads the corpus of all targets. If another hunt has
// the directory, or a corpus is damaged, it returns an error.
func (h *Hunt) Open() (err error) {
	if h.lock, err = lockDirectory(h.Directory); err != nil {
		return err
	}
	h.began = time.Now()
	h.owed = make([]float64, len(h.Targets))
	for i := range h.Targets {
		c, err := h.readCorpus(&h.Targets[i])
		if err != nil {
			h.Close()
			return err
		}
		h.findings = append(h.findings, c.Findings)
	}
	return nil
}

// Close leaves the directory to other hunts.
func (h *Hunt) Close() error { return h.lock.Unlock() }

// Status returns how far the hunt is. Any goroutine may call it.
func (h *Hunt) Status() *Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	// A turn replaces the findings of its lock, so that they can be shared.
	s := &Status{
		Elapsed: time.Since(h.began), Schedules: h.ran, Locks: slices.Clone(h.findings),
		Missing: []string{},
	}
	for i := range h.Targets {
		target := &h.Targets[i]
		if !target.Broken {
			continue
		}
		s.Broken++
		if !target.shown(&s.Locks[i]) {
			s.Missing = append(s.Missing, target.Name)
		}
	}
	return s
}

// Run takes turns until there were enough or the context ends. It saves what a turn has found until
// then.
func (h *Hunt) Run(ctx context.Context, t *testing.T) error {
	for turns := 0; (h.Turns == 0 || turns < h.Turns) && ctx.Err() == nil; turns++ {
		if err := h.turn(ctx, t, h.next()); err != nil {
			return err
		}
	}
	return nil
}

// sayNext says at intervals how far the hunt is, and which lock has the next turn.
func (h *Hunt) sayNext(lock string) {
	if s := h.Status(); h.Progress.Due(s.Elapsed) {
		h.Progress.Say("%s, %.0f/s, %s, next %s", report.Counted(s.Schedules, "schedule"),
			float64(s.Schedules)/s.Elapsed.Seconds(),
			report.Counted(s.Failures(), "distinct failure"), lock)
	}
}

// turn runs the next campaign of a target, shrinks the failures that are new, and saves the corpus.
func (h *Hunt) turn(ctx context.Context, t *testing.T, index int) error {
	target := &h.Targets[index]
	h.sayNext(target.Name)
	corpus, err := h.readCorpus(target)
	if err != nil {
		return err
	}
	known := corpus.known(target)
	c := &campaign.Campaign{
		Scenario: target.Configurations[0].Scenario, Seed: h.Seed + uint64(corpus.Turns),
		Schedules: target.schedules(corpus.Turns), Workers: target.Workers, KeepGoing: true,
		Corpus: known,
	}
	if len(target.Configurations) > 1 {
		c.Configurations = target.Configurations
	}
	found := (&judge.Search{Campaign: c}).Run(ctx, t, nil).(*report.Campaign)
	if found.Schedules == 0 {
		return nil // The context has ended before the first.
	}
	turn := corpus.Turns
	corpus.add(found, target, known)
	fresh := &report.Runs{Distinct: corpus.unknown(found.Distinct)}
	for group := range judge.Shrink(ctx, t, c, fresh, func(int) {}) {
		directory := ""
		if group.Err == nil {
			group.Counterexample.ReplayBy = h.ReplayBy
			path, err := group.Counterexample.Write(h.FailuresDirectory())
			if err != nil {
				return err
			}
			directory = filepath.Base(path)
		}
		for _, d := range group.Failures {
			corpus.Failures = append(corpus.Failures,
				Failure{d.Property, d.Signature, d.Cause, d.Schedules, turn, directory})
			h.Progress.Say("%s: VIOLATION %s", target.Name, d.Signature)
		}
	}
	if err := corpus.write(h.corpusPath(target.Name)); err != nil {
		return err
	}
	h.spend(index, float64(found.Steps*target.stepCost()))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.findings[index] = corpus.Findings
	h.ran += found.Schedules
	return nil
}
