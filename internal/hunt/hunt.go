// Package hunt searches many locks in turns, for as long as it may, and remembers in a directory
// what it has found. A hunt in the same directory continues.
//
// A turn is a short campaign of one lock with a new seed, whose strategy is the portfolio. Only
// what no earlier turn of the lock has shown counts as new behaviour. After a first turn of each
// lock, half of the turns go to all locks alike, and half by the new behaviours that a lock's late
// turns have shown for their steps, as in [strategy.Rounds]. In memory is no more than the campaign
// of one turn, and the findings.
package hunt

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/campaign"
	"github.com/interlock-sim/interlock/internal/report"
	"github.com/interlock-sim/interlock/internal/shrink"
	"github.com/interlock-sim/interlock/internal/strategy"
)

// A Hunt searches its targets in turns.
type Hunt struct {
	Directory string // of the corpus and the counterexamples
	Targets   []Target
	Seed      uint64
	Turns     int // maximum of this hunt; 0 for no bound
	// ReplayBy returns the command that replays the counterexample in a directory.
	ReplayBy func(directory string) string
	// Begin is called with a lock before its turn, and Found with a failure after it was shrunk.
	Begin func(lock string)
	Found func(lock string, f *Failure)

	began time.Time
	owed  []float64 // turns, by target

	mu       sync.Mutex
	findings []Findings // by target
	ran      int        // schedules of this hunt
}

// A Status is how far a hunt is.
type Status struct {
	Elapsed   time.Duration `json:"elapsed_ns"` // of the hunt since it was last started
	Schedules int           `json:"schedules"`  // since then
	Locks     []Findings    `json:"locks"`      // of all hunts in the directory
}

// Failures returns the number of distinct failures.
func (s *Status) Failures() (n int) {
	for i := range s.Locks {
		n += len(s.Locks[i].Failures)
	}
	return n
}

// FailuresDirectory returns the directory of the counterexamples.
func (h *Hunt) FailuresDirectory() string { return filepath.Join(h.Directory, "failures") }

// Open reads the corpus of all targets.
func (h *Hunt) Open() error {
	h.began = time.Now()
	h.owed = make([]float64, len(h.Targets))
	for i := range h.Targets {
		c, err := h.readCorpus(h.Targets[i].Name)
		if err != nil {
			return err
		}
		h.findings = append(h.findings, c.Findings)
	}
	return nil
}

// Status returns how far the hunt is. Any goroutine may call it.
func (h *Hunt) Status() *Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	// A turn replaces the findings of its lock, so that they can be shared.
	return &Status{time.Since(h.began), h.ran, slices.Clone(h.findings)}
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

// next returns the index of the target that has the next turn.
func (h *Hunt) next() int {
	if first := slices.IndexFunc(h.findings,
		func(f Findings) bool { return f.Turns == 0 }); first >= 0 {
		return first
	}
	even, rates := make([]float64, len(h.findings)), make([]float64, len(h.findings))
	for i := range h.findings {
		even[i], rates[i] = 1/float64(len(even)), h.findings[i].rate()
	}
	most := 0
	for i, share := range strategy.Favour(even, rates) {
		if h.owed[i] += share; h.owed[i] > h.owed[most] {
			most = i
		}
	}
	h.owed[most]--
	return most
}

// seedOf returns the seed of a turn.
func (h *Hunt) seedOf(turn int) uint64 { return h.Seed + uint64(turn) }

// turn runs the next campaign of a target, shrinks the failures that are new, and saves the corpus.
func (h *Hunt) turn(ctx context.Context, t *testing.T, index int) error {
	target := &h.Targets[index]
	h.Begin(target.Name)
	corpus, err := h.readCorpus(target.Name)
	if err != nil {
		return err
	}
	known := corpus.behaviours()
	c := &campaign.Campaign{
		Scenario: target.Configurations[0].Scenario, Seed: h.seedOf(corpus.Turns),
		Schedules: target.Schedules, Workers: target.Workers, KeepGoing: true, Known: known,
	}
	if len(target.Configurations) > 1 {
		c.Configurations = target.Configurations
	}
	found := c.Run(ctx, t)
	if found.Schedules == 0 {
		return nil // The context has ended before the first.
	}
	turn := corpus.Turns
	corpus.add(found, known)
	fresh := &report.Campaign{Runs: report.Runs{
		Schedules: found.Schedules, KeptGoing: true,
		Distinct: corpus.unknown(found.Distinct),
	}}
	for group := range shrink.Distinct(ctx, t, c, fresh, func(int) {}) {
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
				Failure{d.Property, d.Signature, d.Schedules, turn, directory})
			h.Found(target.Name, &corpus.Failures[len(corpus.Failures)-1])
		}
	}
	if err := corpus.write(h.corpusPath(target.Name)); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.findings[index] = corpus.Findings
	h.ran += found.Schedules
	return nil
}

// unknown counts the schedules of known failures, and returns the others.
func (c *corpus) unknown(failures report.DistinctFailures) (fresh report.DistinctFailures) {
	for _, d := range failures {
		known := slices.IndexFunc(c.Failures,
			func(f Failure) bool { return f.Signature == d.Signature })
		if known < 0 {
			fresh = append(fresh, d)
			continue
		}
		c.Failures[known].Schedules += d.Schedules
	}
	return fresh
}
