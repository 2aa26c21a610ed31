package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/internal/base/unknown"
)

// A CoverageCell is a cell of the fault coverage table: a kind of fault in a phase of the lock.
type CoverageCell struct {
	Kind  Kind
	Phase Phase
}

// String returns the name of the cell, which [ParseCoverageCells] reads.
func (c CoverageCell) String() string { return c.Kind.String() + "@" + c.Phase.Key() }

// MarshalText returns the name of the cell.
func (c CoverageCell) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText parses the name of a cell.
func (c *CoverageCell) UnmarshalText(text []byte) error {
	name, key, _ := strings.Cut(string(text), "@")
	kind, ok := KindNamed(name)
	phase, known := phaseNamed(key)
	if !ok || !known {
		return fmt.Errorf("%q is not the name of a cell", text)
	}
	c.Kind, c.Phase = kind, phase
	return nil
}

// Unreachable returns why a fault of the kind is impossible in the phase, or "" if it is possible.
func (c CoverageCell) Unreachable() string {
	switch kind := &kindTable[c.Kind]; {
	case c.Phase == Idle && c.Kind.onClient():
		return "a process is idle only between one call and the next, when no fault can strike"
	case kind.phases != 0 && !kind.phases.has(c.Phase):
		return kind.reason
	}
	return ""
}

// ParseCoverageCells reads a list of cells such as "cut@hold,expire". A kind without a phase stands
// for all its reachable cells, and "all" for those of the given kinds. The error names the part of
// the text that is wrong.
func ParseCoverageCells(text string, kinds []Kind) ([]CoverageCell, error) {
	var cells []CoverageCell
	for part := range strings.SplitSeq(text, ",") {
		name, key, phased := strings.Cut(strings.TrimSpace(part), "@")
		kind, ok := KindNamed(name)
		phase, known := phaseNamed(key)
		switch {
		case name == "all" && !phased:
			for _, k := range kinds {
				cells = append(cells, reachable(k)...)
			}
			continue
		case !ok:
			return nil, unknown.Name("fault", name, append([]string{"all"}, names()[:Kinds]...))
		case !slices.Contains(kinds, kind):
			return nil, fmt.Errorf("the fault %v cannot strike: the plan does not allow it, or "+
				"the scenario has no target for it", kind)
		case !phased:
			cells = append(cells, reachable(kind)...)
			continue
		case !known:
			return nil, unknown.Name("phase", key, PhaseKeys())
		}
		cell := CoverageCell{kind, phase}
		if reason := cell.Unreachable(); reason != "" {
			return nil, fmt.Errorf("%v cannot be reached: %s", cell, reason)
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// reachable returns the cells of a kind that are not [CoverageCell.Unreachable].
func reachable(k Kind) []CoverageCell {
	var cells []CoverageCell
	for phase := range Phases {
		if cell := (CoverageCell{k, phase}); cell.Unreachable() == "" {
			cells = append(cells, cell)
		}
	}
	return cells
}
