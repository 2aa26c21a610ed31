package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Plan says how many faults a run may see at most. The zero Plan allows none.
type Plan struct {
	Of  [Kinds]int // of each kind
	Any int        // beyond those, of any kind below AnyKinds

	At    [Kinds][Phases]uint16 // beyond those, of each kind in each phase of the lock
	AnyAt [Phases]uint16        // of any kind below AnyKinds in each phase

	// beyond those, of some kinds for certain targets, in order; the first without a number ends
	// them
	Targeted [TargetedFaultsMax]TargetedFault
}

// Default is the plan of a run that asks for no other: two faults of any kind.
func Default() Plan { return Plan{Any: 2} }

// planMax keeps a plan from asking for more faults than a run has steps.
const planMax = 1000

// Parse reads a plan: "none", "default", or a list such as "expire=1,cut@hold=2,any=1". A phase
// behind an at sign bounds a fault to that phase of the lock. A target behind a colon bounds it to
// whom it strikes, as in "kill-server:leader@hold=1"; see [Target]. The error names the part of the
// text that is wrong and what could stand there.
func Parse(text string) (Plan, error) {
	switch strings.TrimSpace(text) {
	case "none":
		return Plan{}, nil
	case "default":
		return Default(), nil
	}
	var plan Plan
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(text, ",") {
		name, number, found := strings.Cut(strings.TrimSpace(part), "=")
		count, err := strconv.Atoi(number)
		if !found || err != nil || count < 0 || count > planMax {
			return Plan{}, fmt.Errorf("%q is not of the form kind=N, kind@phase=N, kind:target=N "+
				"or "+
				"kind:target@phase=N with N from 0 to %d", strings.TrimSpace(part), planMax)
		}
		if seen[name] {
			return Plan{}, fmt.Errorf("fault %q stands twice", name)
		}
		seen[name] = true
		if err := plan.set(name, count); err != nil {
			return Plan{}, err
		}
	}
	return plan, nil
}

// set sets one of the numbers of a plan.
func (p *Plan) set(name string, count int) error {
	name, key, phased := strings.Cut(name, "@")
	phase, ok := phaseNamed(key)
	if phased && !ok {
		return fmt.Errorf("unknown phase %q; known are %s", key, strings.Join(PhaseKeys(), ", "))
	}
	name, target, aimed := strings.Cut(name, ":")
	k, ok := kindNamed(name)
	switch {
	case aimed && name == "any":
		return fmt.Errorf("any takes no target: name the fault that is to strike %q", target)
	case ok && aimed:
		return p.target(TargetedFault{Kind: k, Phase: phase, Phased: phased, Left: uint16(count)},
			target)
	case !ok && name != "any":
		return fmt.Errorf("unknown fault %q; known are %s", name, strings.Join(names(), ", "))
	case !ok && phased:
		p.AnyAt[phase] = uint16(count)
	case !ok:
		p.Any = count
	case phased:
		p.At[k][phase] = uint16(count)
	default:
		p.Of[k] = count
	}
	return nil
}

// target adds an target, whose target is yet to be read.
func (p *Plan) target(aim TargetedFault, target string) (err error) {
	if aim.Target, err = parseTarget(aim.Kind, target); err != nil || aim.Left == 0 {
		return err
	}
	n := len(p.targets())
	at, found := slices.BinarySearchFunc(p.targets(), aim, compareTargeted)
	switch {
	case found:
		return fmt.Errorf("fault %q stands twice", aim)
	case n == TargetedFaultsMax:
		return fmt.Errorf("a plan can name at most %d targets", TargetedFaultsMax)
	}
	p.insert(at, aim)
	return nil
}

// targets returns those that there are.
func (p *Plan) targets() []TargetedFault {
	n := 0
	for n < TargetedFaultsMax && p.Targeted[n].Left > 0 {
		n++
	}
	return p.Targeted[:n]
}

func kindNamed(name string) (Kind, bool) {
	for k := range Kinds {
		if kinds[k].name == name {
			return k, true
		}
	}
	return 0, false
}

func names() []string {
	list := make([]string, 0, Kinds+1)
	for k := range Kinds {
		list = append(list, k.String())
	}
	return append(list, "any")
}

// String returns the text from which [Parse] makes the same plan.
func (p Plan) String() string {
	var parts []string
	add := func(name string, count int) {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", name, count))
		}
	}
	for k := range Kinds {
		add(k.String(), p.Of[k])
		for phase := range Phases {
			add(k.String()+"@"+phase.Key(), int(p.At[k][phase]))
		}
		for _, aim := range p.targets() {
			if aim.Kind == k {
				add(aim.String(), int(aim.Left))
			}
		}
	}
	add("any", p.Any)
	for phase := range Phases {
		add("any@"+phase.Key(), int(p.AnyAt[phase]))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ",")
}

// MarshalText returns the text from which [Parse] makes the same plan.
func (p Plan) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a plan; see [Parse].
func (p *Plan) UnmarshalText(text []byte) (err error) {
	*p, err = Parse(string(text))
	return err
}

// IsTargeted tells whether the plan names a target.
func (p *Plan) IsTargeted() bool { return p.Targeted[0].Left > 0 }

// targetedWith tells whether the plan has a fault of the kind left for some target.
func (p *Plan) targetedWith(k Kind) bool {
	return p.IsTargeted() &&
		slices.ContainsFunc(p.targets(), func(a TargetedFault) bool { return a.Kind == k })
}

// Allows tells whether the plan has a fault of the kind left, in whatever phase.
func (p *Plan) Allows(k Kind) bool {
	return p.Names(k) || k < AnyKinds && (p.Any > 0 || p.AnyAt != [Phases]uint16{})
}

// Names tells whether the plan has a fault of the kind left that it asks for by name, not as one of
// any.
func (p *Plan) Names(k Kind) bool {
	return p.Of[k] > 0 || p.At[k] != [Phases]uint16{} || p.targetedWith(k)
}

// AllowsAnywhere tells whether the plan has a fault of the kind that is bound to no phase and to no
// target.
func (p *Plan) AllowsAnywhere(k Kind) bool { return p.Of[k] > 0 || k < AnyKinds && p.Any > 0 }

// AllowsCell tells whether the plan has a fault of the kind that is bound to that phase, where such
// a fault can strike if it is one of any.
func (p *Plan) AllowsCell(c CoverageCell) bool {
	return p.At[c.Kind][c.Phase] > 0 || c.Kind < AnyKinds && p.AnyAt[c.Phase] > 0 &&
		c.Unreachable() == ""
}

// PhasedOnServers tells whether the plan has a fault of a server left that is bound to a phase.
func (p *Plan) PhasedOnServers() bool {
	if p.AnyAt != [Phases]uint16{} ||
		slices.ContainsFunc(p.targets(), func(a TargetedFault) bool {
			return a.Phased &&
				a.Kind.OnServer()
		}) {
		return true
	}
	for k := range Kinds {
		if k.OnServer() && p.At[k] != [Phases]uint16{} {
			return true
		}
	}
	return false
}

// AllowsIn tells whether the plan has a fault of the kind left that may strike in the phase, and
// there.
func (p *Plan) AllowsIn(k Kind, phase Phase, at Place) bool {
	return p.Of[k] > 0 || p.At[k][phase] > 0 || k < AnyKinds && (p.Any > 0 || p.AnyAt[phase] > 0) ||
		p.matching(k, phase, at) >= 0
}

// matching returns which aim a fault spends, one for its phase alone before another; -1 if none.
func (p *Plan) matching(k Kind, phase Phase, at Place) int {
	found := -1
	for i := range p.Targeted {
		switch a := &p.Targeted[i]; {
		case a.Left == 0:
			return found
		case a.Matches(k, phase, at) && (found < 0 || a.Phased && !p.Targeted[found].Phased):
			found = i
		}
	}
	return found
}

// Spend takes a fault of the kind, which strikes in the phase and there, from the plan: one for
// that target before another, one for that phase alone before another, and one of the kind before
// one of any. The plan must allow it. Spend returns what it has taken, bound to the kind also where
// it was one of any: an [TargetedFault] for one fault, without a target if it was bound to none.
func (p *Plan) Spend(k Kind, phase Phase, at Place) TargetedFault {
	aim := p.matching(k, phase, at)
	taken := TargetedFault{Kind: k, Left: 1}
	switch {
	case aim >= 0:
		taken.Target, taken.Phase, taken.Phased = p.Targeted[aim].Target, p.Targeted[aim].Phase,
			p.Targeted[aim].Phased
		if p.Targeted[aim].Left--; p.Targeted[aim].Left == 0 {
			copy(p.Targeted[aim:], p.Targeted[aim+1:])
			p.Targeted[TargetedFaultsMax-1] = TargetedFault{}
		}
	case p.At[k][phase] > 0:
		p.At[k][phase]--
		taken.Phase, taken.Phased = phase, true
	case p.Of[k] > 0:
		p.Of[k]--
	case k < AnyKinds && p.AnyAt[phase] > 0:
		p.AnyAt[phase]--
		taken.Phase, taken.Phased = phase, true
	case k < AnyKinds && p.Any > 0:
		p.Any--
	default:
		panic(fmt.Sprintf("faults: no %v left in %v", k, p))
	}
	return taken
}

// Add adds faults to the plan, as [Plan.Spend] returns them. A plan has room for
// [TargetedFaultsMax] targets: Add panics if the aim is one more.
func (p *Plan) Add(a TargetedFault) {
	switch {
	case a.Target != Target{}:
		if at, found := slices.BinarySearchFunc(p.targets(), a, compareTargeted); found {
			p.Targeted[at].Left += a.Left
		} else {
			p.insert(at, a)
		}
	case a.Phased:
		p.At[a.Kind][a.Phase] += a.Left
	default:
		p.Of[a.Kind] += int(a.Left)
	}
}

// insert makes room for an aim among those that there are.
func (p *Plan) insert(at int, a TargetedFault) {
	n := len(p.targets())
	copy(p.Targeted[at+1:n+1], p.Targeted[at:n])
	p.Targeted[at] = a
}

// Empty tells whether the plan has no fault left.
func (p *Plan) Empty() bool { return *p == Plan{} }
