package hunt

import (
	"slices"
	"time"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A Target is a lock that is hunted.
type Target struct {
	Name           string
	Configurations []campaign.Configuration
	Weight         int // to that of other locks; 0 for 1
	Schedules      int // of each turn; 0 for the length that suits the lock
	Workers        int // parallel schedules
	// Broken reports that the lock is known to be broken: a search should find it violate the
	// property, or any if that is empty.
	Broken   bool
	Property history.Property
}

// shown reports whether the findings show that a broken lock is broken.
func (t *Target) shown(f *Findings) bool {
	return slices.ContainsFunc(f.Failures,
		func(f Failure) bool { return t.Property == "" || f.Property == t.Property })
}

// Findings are what all turns of a lock have found.
type Findings struct {
	Lock       string        `json:"lock"`
	Turns      int           `json:"turns"`
	Schedules  int           `json:"schedules"`
	Steps      int           `json:"steps"`
	Running    time.Duration `json:"running_ns"` // over all workers
	Behaviours int           `json:"behaviours"` // distinct ones, up to a bound
	Kept       int           `json:"kept"`       // schedules that mutants change
	// Strategies are the schedules of each strategy and the new behaviours that they have shown.
	Strategies map[string]Yield `json:"strategies"`
	// Fresh and FreshSteps are the new behaviours and the steps of late turns. They decide the
	// share of the lock in further turns.
	Fresh      float64 `json:"fresh"`
	FreshSteps float64 `json:"fresh_steps"`
	judge.Measured
	Failures  []Failure `json:"failures"`
	Unknown   int       `json:"unknown"`   // schedules without a verdict
	Differing int       `json:"differing"` // schedules that did not run alike twice
}

// A Yield is how much new behaviour schedules have shown.
type Yield struct {
	Schedules  int `json:"schedules"`
	Behaviours int `json:"behaviours"`
}

// A Failure is all violations of a lock with the same signature and the same cause.
type Failure struct {
	Property  history.Property `json:"property"`
	Signature string           `json:"signature"`
	Cause     report.Cause     `json:"cause"`
	Schedules int              `json:"schedules"` // that have the signature, by any cause
	Turn      int              `json:"turn"`      // in which it was found
	// Directory is that of the counterexample, below that of all, or empty if there is none.
	Directory string `json:"directory"`
}

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
