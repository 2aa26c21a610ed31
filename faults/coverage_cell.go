package faults

import (
	"fmt"
	"slices"
	"strings"
)

// A CoverageCell is a place in the table of where faults have landed.
type CoverageCell struct {
	Kind  Kind
	Phase Phase
}

// String returns the name of the cell as [ParseCoverageCells] reads it.
func (c CoverageCell) String() string { return c.Kind.String() + "@" + c.Phase.Key() }

// MarshalText returns the name of the cell.
func (c CoverageCell) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Unreachable says why a fault of the kind cannot strike in that phase, and returns "" where it
// can.
func (c CoverageCell) Unreachable() string {
	switch {
	case c.Phase == Idle && c.Kind.ofClient():
		return "a process is idle for no longer than it takes from one call to the next, in " +
			"which " +
			"nothing can strike"
	case c.Kind == Cancel && (c.Phase == Holding || c.Phase == Releasing):
		return "only a process that waits for its lock can give it up"
	case c.Kind == DelayRewatch && c.Phase != Waiting && c.Phase != Holding && c.Phase != Releasing:
		return "it strikes a client that has no connection, and so no request under way"
	}
	return ""
}

// ParseCoverageCells reads a list of cells such as "cut@hold,expire". A kind without a phase stands
// for all its cells that can be reached, and "all" for those of all the kinds that are given. The
// error names the part of the text that is wrong.
func ParseCoverageCells(text string, kinds []Kind) ([]CoverageCell, error) {
	var cells []CoverageCell
	for part := range strings.SplitSeq(text, ",") {
		name, key, phased := strings.Cut(strings.TrimSpace(part), "@")
		kind, ok := kindNamed(name)
		phase, known := phaseNamed(key)
		switch {
		case name == "all" && !phased:
			for _, k := range kinds {
				cells = append(cells, reachable(k)...)
			}
			continue
		case !ok:
			return nil, fmt.Errorf("unknown fault %q; known are all, %s", name,
				strings.Join(names()[:Kinds],
					", "))
		case !slices.Contains(kinds, kind):
			return nil, fmt.Errorf("the fault %v cannot strike: the plan does not allow it, or "+
				"the "+
				"scenario has no place for it", kind)
		case !phased:
			cells = append(cells, reachable(kind)...)
			continue
		case !known:
			return nil, fmt.Errorf("unknown phase %q; known are %s", key,
				strings.Join(PhaseKeys(), ", "))
		}
		cell := CoverageCell{kind, phase}
		if reason := cell.Unreachable(); reason != "" {
			return nil, fmt.Errorf("%v cannot be reached: %s", cell, reason)
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

func reachable(k Kind) []CoverageCell {
	var cells []CoverageCell
	for phase := range Phases {
		if cell := (CoverageCell{k, phase}); cell.Unreachable() == "" {
			cells = append(cells, cell)
		}
	}
	return cells
}
