package strategy

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/stateset"
	"github.com/interlock-sim/interlock/sim"
)

// A Corpus is what campaigns of a lock have shown. A campaign that is given one adds to it.
type Corpus struct {
	// Behaviours are known, so they are not new.
	Behaviours stateset.Set
	// Parents are the schedules that have shown new behaviour, the latest last, at most
	// [ParentsMax]. See [Mutant].
	Parents []Parent
}

// A Parent is a schedule that has shown new behaviour. It is immutable.
type Parent struct {
	Configuration int                // its index in the campaign
	Deviations    []engine.Deviation // without a [sim.Fair]
}

// ParentsMax bounds the parents of a corpus. The latest are kept: nearly every schedule of a first
// campaign shows something new, and few of later ones do.
const ParentsMax = 128

// keep adds a parent.
func (c *Corpus) keep(configuration int, deviations []engine.Deviation) {
	deviations = slices.DeleteFunc(deviations,
		func(d engine.Deviation) bool { return d.Step.Kind == sim.Fair })
	if len(c.Parents) == ParentsMax {
		c.Parents = slices.Delete(c.Parents, 0, 1)
	}
	c.Parents = append(c.Parents, Parent{configuration, deviations})
}

// parents returns the parents by their configuration.
func (c *Corpus) parents(configurations int) [][]Parent {
	by := make([][]Parent, configurations)
	for _, p := range c.Parents {
		by[p.Configuration] = append(by[p.Configuration], p)
	}
	return by
}
