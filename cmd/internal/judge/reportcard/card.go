// Package reportcard judges locks: what each of them keeps of what it claims, and with which
// counterexamples it does not.
package reportcard

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A Card is the verdict on each property of each lock. Equal searches give equal cards.
type Card struct {
	Version int    `json:"version"`
	Seed    uint64 `json:"seed"`
	// Partial reports that not all searches have run to their end.
	Partial    bool       `json:"partial"`
	Properties []Property `json:"properties"`
	Locks      []*Lock    `json:"locks"`
}

// cardVersion is the version of the form of a card.
const cardVersion = 1

// A Property is a column of the card.
type Property struct {
	Name      history.Property `json:"name"`
	Statement string           `json:"statement"`
	// EveryLock reports that all locks are judged by the property, whatever they claim.
	EveryLock bool `json:"every_lock,omitempty"`
}

// properties returns the columns of the card of the rows. Few locks promise a margin: without one,
// the card does not have the column.
func properties(rows []Row) []Property {
	var columns []Property
	claimable := check.Properties()
	for _, name := range check.Claimable() {
		if name == history.Margin &&
			!slices.ContainsFunc(rows, func(r Row) bool { return r.Subject.Claimed(name) }) {
			continue
		}
		statement := check.Statement(name)
		switch name {
		case history.NoPanic:
			statement = "no process panics while it uses the lock"
		case history.NoGoroutineLeak:
			statement = "all goroutines end after the run"
		}
		columns = append(columns, Property{name, statement, !slices.Contains(claimable, name)})
	}
	return columns
}

// A Lock is a row of the card.
type Lock struct {
	Name       string     `json:"name"`
	Group      string     `json:"group"`
	Production bool       `json:"production,omitempty"` // one of package lock
	Summary    string     `json:"summary"`
	Searches   []Searched `json:"searches"`
	// Unclaimed is the search for violations of what the lock does not claim, or nil.
	Unclaimed *Searched `json:"unclaimed_search,omitempty"`
	Cells     []Cell    `json:"cells"` // in the order of Card.Properties
}

// Searched is what a search has run.
type Searched struct {
	Scenario   string `json:"scenario"`
	Scope      string `json:"scope,omitempty"` // what it covered, in a sentence; see [report.Scope]
	Exhaustive bool   `json:"exhaustive,omitempty"`
	Schedules  int    `json:"schedules"`
	// Complete reports that an exhaustive search left no schedule out.
	Complete bool `json:"complete,omitempty"`
	// Interrupted reports that the search did not reach its bound.
	Interrupted bool `json:"interrupted,omitempty"`
}

// String describes the search in a phrase.
func (s *Searched) String() string {
	if s.Interrupted {
		return "interrupted: " + s.Scope
	}
	return s.Scope
}

// A Cell is the verdict on a property of a lock.
type Cell struct {
	Property history.Property `json:"property"`
	Verdict  report.Verdict   `json:"verdict"`
	// Exercised is how often random searches tested the property.
	Exercised int `json:"exercised,omitempty"`
	// OutOfContract is the first violation out of the lock's contract, or nil.
	OutOfContract *OutOfContract `json:"out_of_contract,omitempty"`
	// Reach is for which schedules of a complete exhaustive search the property holds. It is empty
	// if no schedule of the search tests the property.
	Reach report.Reach `json:"reach,omitempty"`
	// Counterexamples show each way in which the property is violated.
	Counterexamples []*Counterexample `json:"counterexamples,omitempty"`
	// Refuted is how a property that the lock does not claim was violated, if it was.
	Refuted *Refutation `json:"refuted,omitempty"`
}

// A Counterexample is a run in which a lock violates a property that it claims.
type Counterexample struct {
	Signature string `json:"signature"`
	// Way says what let two processes hold the lock, if the lock is known to do so in several ways.
	Way      string `json:"way,omitempty"`
	Scenario string `json:"scenario"`
	Faults   string `json:"faults"` // the plan that allows its faults
	// Decisions is how many decisions deviate from the default policy.
	Decisions int              `json:"decisions"`
	Why       string           `json:"why"`
	TraceHash engine.TraceHash `json:"trace_hash"`
	// Recording is the file that interlock replay replays. It may show several properties.
	Recording string `json:"recording"`
}

// A Refutation is a violation of a property that a lock does not claim.
type Refutation struct {
	Signature string `json:"signature"`
	Schedules int    `json:"schedules"` // of the search, in which it occurred
	First     int    `json:"first"`     // the number of the first of them
}

// OutOfContract is a violation of a property that a lock claims, but not under faults as severe as
// those of the run.
type OutOfContract struct {
	Scenario string `json:"scenario"`
	Refutation
}

// Cell returns the cell of a property.
func (l *Lock) Cell(p history.Property) *Cell {
	for i := range l.Cells {
		if l.Cells[i].Property == p {
			return &l.Cells[i]
		}
	}
	return nil
}

// Of returns the properties of the lock with the verdict, in order.
func (l *Lock) Of(v report.Verdict) []*Cell {
	var cells []*Cell
	for i := range l.Cells {
		if l.Cells[i].Verdict == v {
			cells = append(cells, &l.Cells[i])
		}
	}
	return cells
}

// Lock returns the row of a lock, or nil.
func (c *Card) Lock(name string) *Lock {
	for _, l := range c.Locks {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// ProductionViolated reports whether a lock of package lock violates a property that it claims.
func (c *Card) ProductionViolated() bool {
	return slices.ContainsFunc(c.Locks, func(l *Lock) bool {
		return l.Production && len(l.Of(report.Violated)) > 0
	})
}

// slug returns a part of a file name for a fault plan: "expire@list=1" is "expire-list", and
// "wipe-server=2" is "wipe-server-2".
func slug(plan string) string {
	parts := strings.Split(plan, ",")
	for i, part := range parts {
		parts[i] = strings.TrimSuffix(part, "=1")
	}
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
}
