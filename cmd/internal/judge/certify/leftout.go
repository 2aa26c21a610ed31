package certify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// LeftOut is what the searches of a certificate leave out, whatever they found. Checks are named by
// their tests.
type LeftOut struct {
	// Sampled names the locks and checks that have a search that is not exhaustive and complete.
	Sampled []string `json:"sampled"`
	// Unexercised names the claims that no search exercised, each after its lock or check.
	Unexercised []string `json:"unexercised"`
	// Faults names the kinds of faults that a service of the plan has and no search had.
	Faults []string `json:"faults_never_struck"`
}

// strike notes which faults struck in a search, by kind, and kinds that did not.
func (c *Certificate) strike(coverage map[string]map[string]int, never []string) {
	if c.struck == nil {
		c.struck = make(map[string]bool)
	}
	for kind, phases := range coverage {
		for _, times := range phases {
			c.struck[kind] = c.struck[kind] || times > 0
		}
	}
	for _, kind := range never {
		if _, known := c.struck[kind]; !known {
			c.struck[kind] = false
		}
	}
}

// leaveOut sets what the searches leave out.
func (c *Certificate) leaveOut() {
	out := &LeftOut{Sampled: []string{}, Unexercised: []string{}, Faults: []string{}}
	for _, l := range c.Card.Locks {
		sampled := func(s reportcard.Searched) bool { return !s.Complete }
		if slices.ContainsFunc(l.Searches, sampled) {
			out.Sampled = append(out.Sampled, l.Name)
		}
		for _, cell := range l.Of(report.NotExercised) {
			out.Unexercised = append(out.Unexercised, l.Name+" "+string(cell.Property))
		}
	}
	for i := range c.Tests {
		t := &c.Tests[i]
		for n := range t.Checks {
			v := &t.Checks[n]
			if v.Schedules > 0 && !v.Complete {
				out.Sampled = append(out.Sampled, t.checkName(v))
			}
			for _, claim := range v.Unexercised {
				out.Unexercised = append(out.Unexercised, t.checkName(v)+" "+claim)
			}
			c.strike(v.Coverage, v.NeverStruck)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(c.struck)) {
		if !c.struck[kind] {
			out.Faults = append(out.Faults, kind)
		}
	}
	c.LeftOut = out
}

// Lines describes what is left out, one kind of it in each line.
func (o *LeftOut) Lines() (lines []string) {
	for _, part := range []struct {
		what  string
		names []string
	}{
		{"searched at random, wholly or in part", o.Sampled},
		{"claimed and not exercised", o.Unexercised},
		{"faults that never struck", o.Faults},
	} {
		names, more := part.names, ""
		if len(names) > namedMax {
			more = fmt.Sprintf(" and %d more", len(names)-namedMax)
			names = names[:namedMax]
		}
		if len(names) > 0 {
			lines = append(lines, part.what+": "+strings.Join(names, ", ")+more)
		}
	}
	return lines
}

// namedMax is how many things a line names.
const namedMax = 6
