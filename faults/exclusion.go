package faults

import (
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/internal/base/unknown"
)

// excludes is what precedes a kind in a plan that its groups leave out.
const excludes = "no:"

// parseExcluded reads the kind that follows [excludes].
func parseExcluded(name string) (Kind, error) {
	if strings.ContainsAny(name, "=@:") {
		return 0, fmt.Errorf("%q is not of the form no:kind, without a count, a phase, an instant "+
			"and a target", excludes+name)
	}
	k, known := named(name, kindsAndGroups)
	switch {
	case !known:
		return 0, unknown.Name("fault", name, names()[:Kinds])
	case k >= Kinds:
		return 0, fmt.Errorf("no:%s is not of the form no:kind: %[1]s is a group", name)
	}
	return k, nil
}

// exclude makes the groups of a plan leave kinds out.
func (p *Plan) exclude(without kindSet) error {
	grouped := p.grouped()
	for k := range Kinds {
		switch {
		case !without.has(k):
		case p.Names(k):
			return fmt.Errorf("the plan names %v, and excludes it by no:%[1]v", k)
		case grouped == 0:
			return fmt.Errorf("no:%v needs a group that it restricts, as in any=2,no:%[1]v", k)
		case !grouped.has(k):
			return fmt.Errorf("no:%v excludes nothing: no group of the plan covers the kind", k)
		}
	}
	for i := range p.Entries() {
		if kind := p.entries[i].Kind; coveredKinds[kind]&^without == 0 {
			return fmt.Errorf("the plan excludes all kinds of %v", kind)
		}
	}
	p.without = without
	return nil
}

// grouped returns the kinds that groups of the plan cover, or would if it did not exclude them.
func (p *Plan) grouped() (set kindSet) {
	for i := range p.entries {
		switch a := &p.entries[i]; {
		case a.Left == 0:
			return set
		case a.isGroup():
			set |= coveredKinds[a.Kind]
		}
	}
	return set
}

// Excludes reports whether the groups of the plan leave the kind out.
func (p *Plan) Excludes(k Kind) bool { return p.without.has(k) }
