package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Plan is the budget of faults of a run: the most that it injects. Its fields add up. The zero
// Plan allows none.
type Plan struct {
	Of  [Kinds]int // of each kind
	Any int        // of any of [AnyKinds]

	At    [Kinds][Phases]uint16 // of each kind in each phase of the lock
	AnyAt [Phases]uint16        // of any of AnyKinds in each phase

	// of single kinds at certain targets or instants, sorted; the first with Left 0 ends the list
	Targeted [TargetedFaultsMax]TargetedFault
}

// Default returns the plan of a run that sets none: two faults of any kind.
func Default() Plan { return Plan{Any: 2} }

// planMax is the highest count in a plan. No run has that many steps for faults.
const planMax = 1000

// Parse reads a plan: "none", "default", or a list such as "expire=1,cut@hold=2,any=1". An at sign
// restricts a fault to a phase of the lock or to an [Instant], and a colon to a [Target], as in
// "kill-server:leader@hold=1" and "cut@hold@before-ping=1". The error names the part of the text
// that is wrong and what is valid there.
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
				"or kind:target@phase=N with N from 0 to %d", strings.TrimSpace(part), planMax)
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

// MustParse is like [Parse], but panics if the text is not a plan. It is for plans that are written
// in the code, as those of a test's scenario.
func MustParse(text string) Plan {
	plan, err := Parse(text)
	if err != nil {
		panic(fmt.Sprintf("faults.MustParse(%q): %v", text, err))
	}
	return plan
}

// set sets one count of the plan.
func (p *Plan) set(name string, count int) error {
	name, keys, restricted := strings.Cut(name, "@")
	var moment TargetedFault
	if err := moment.parseMoment(keys); restricted && err != nil {
		return err
	}
	phase, phased, instant := moment.Phase, moment.Phased, moment.Instant
	name, target, targeted := strings.Cut(name, ":")
	k, ok := kindNamed(name)
	switch {
	case targeted && name == "any":
		return fmt.Errorf("any takes no target: name the fault for %q", target)
	case instant != AnyInstant && name == "any":
		return fmt.Errorf("any takes no instant: name the fault for %q", instant.Key())
	case ok && (targeted || instant != AnyInstant):
		fault := moment
		fault.Kind, fault.Left = k, uint16(count)
		if targeted {
			var err error
			if fault.Target, err = parseTarget(k, target); err != nil {
				return err
			}
		}
		return p.addTargeted(fault)
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

// parseMoment reads what follows the first at sign: a phase, an instant, or both in this order.
func (a *TargetedFault) parseMoment(keys string) error {
	key, rest, both := strings.Cut(keys, "@")
	a.Phase, a.Phased = phaseNamed(key)
	known := a.Phased
	switch {
	case both && known:
		a.Instant, known = instantNamed(rest)
	case !both && !known:
		a.Instant, known = instantNamed(key)
	}
	if !known {
		return fmt.Errorf("unknown phase %q; known are %s, and the instants %s", keys,
			strings.Join(PhaseKeys(), ", "), strings.Join(InstantKeys(), ", "))
	}
	return nil
}

// addTargeted adds a fault that is restricted to a target or an instant to the plan.
func (p *Plan) addTargeted(fault TargetedFault) error {
	n := len(p.targets())
	at, found := slices.BinarySearchFunc(p.targets(), fault, compareTargeted)
	reason := fault.impossible()
	switch {
	case reason != "":
		return fmt.Errorf("the fault %v cannot strike: %s", fault, reason)
	case fault.Left == 0:
		return nil
	case found:
		return fmt.Errorf("fault %q stands twice", fault)
	case n == TargetedFaultsMax:
		return fmt.Errorf("a plan can name at most %d targets and instants", TargetedFaultsMax)
	}
	p.insert(at, fault)
	return nil
}

// targets returns the targeted faults that are left.
func (p *Plan) targets() []TargetedFault {
	n := 0
	for n < TargetedFaultsMax && p.Targeted[n].Left > 0 {
		n++
	}
	return p.Targeted[:n]
}

// kindNamed returns the kind with the name.
func kindNamed(name string) (Kind, bool) {
	for k := range Kinds {
		if kindTable[k].name == name {
			return k, true
		}
	}
	return 0, false
}

// names returns the names of all kinds, and "any".
func names() []string {
	list := make([]string, 0, Kinds+1)
	for k := range Kinds {
		list = append(list, k.String())
	}
	return append(list, "any")
}

// String returns the text of the plan, which [Parse] reads.
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
		for _, fault := range p.targets() {
			if fault.Kind == k {
				add(fault.String(), int(fault.Left))
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

// MarshalText returns the text of the plan, which [Parse] reads.
func (p Plan) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a plan; see [Parse].
func (p *Plan) UnmarshalText(text []byte) (err error) {
	*p, err = Parse(string(text))
	return err
}

// IsTargeted reports whether the plan has a fault left that is restricted to a target or to an
// instant.
func (p *Plan) IsTargeted() bool { return p.Targeted[0].Left > 0 }

// hasTargeted reports whether the plan has a targeted fault of the kind left.
func (p *Plan) hasTargeted(k Kind) bool {
	return p.IsTargeted() &&
		slices.ContainsFunc(p.targets(), func(a TargetedFault) bool { return a.Kind == k })
}

// Allows reports whether the plan has a fault of the kind left, in any phase and at any target.
func (p *Plan) Allows(k Kind) bool {
	return p.Names(k) || k.inAny() && (p.Any > 0 || p.AnyAt != [Phases]uint16{})
}

// Names reports whether the plan has a fault of the kind left that it names, apart from "any".
func (p *Plan) Names(k Kind) bool {
	return p.Of[k] > 0 || p.At[k] != [Phases]uint16{} || p.hasTargeted(k)
}

// AllowsAnywhere reports whether the plan has a fault of the kind left that is restricted to no
// phase and to no target.
func (p *Plan) AllowsAnywhere(k Kind) bool { return p.Of[k] > 0 || k.inAny() && p.Any > 0 }

// AllowsCell reports whether the plan has a fault left that is restricted to the phase of the cell
// and may be of its kind. A fault of "any" counts only if the cell is reachable.
func (p *Plan) AllowsCell(c CoverageCell) bool {
	return p.At[c.Kind][c.Phase] > 0 || c.Kind.inAny() && p.AnyAt[c.Phase] > 0 &&
		c.Unreachable() == ""
}

// Cells returns the reachable cells of the given kinds in which the plan has faults left.
func (p *Plan) Cells(kinds []Kind) (cells []CoverageCell) {
	for _, kind := range kinds {
		for _, cell := range reachable(kind) {
			if p.AllowsAnywhere(kind) || p.AllowsCell(cell) || p.targetedIn(cell) {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

// targetedIn reports whether the plan has a targeted fault of the kind and the phase of the cell.
func (p *Plan) targetedIn(c CoverageCell) bool {
	return slices.ContainsFunc(p.targets(), func(a TargetedFault) bool {
		return a.Kind == c.Kind && (!a.Phased || a.Phase == c.Phase)
	})
}

// Instant returns the first entry of the plan that is restricted to an instant, and whether there
// is one.
func (p *Plan) Instant() (fault TargetedFault, ok bool) {
	for _, a := range p.targets() {
		if a.Instant != AnyInstant {
			return a, true
		}
	}
	return fault, false
}

// TimedInstant is [Plan.Instant] for the instants to which only the passing of time leads.
func (p *Plan) TimedInstant() (fault TargetedFault, ok bool) {
	for _, a := range p.targets() {
		if a.Instant.Timed() {
			return a, true
		}
	}
	return fault, false
}

// NamesClient reports whether a fault of the plan is restricted to the client, from 1, or to a link
// of it.
func (p *Plan) NamesClient(number int32) bool {
	return slices.ContainsFunc(p.targets(), func(a TargetedFault) bool {
		client := end{numberedClient, uint8(number)}
		return a.Target.one == client || a.Target.other == client
	})
}

// PhasedOnServers reports whether the plan has a fault left that may strike a server and is
// restricted to a phase.
func (p *Plan) PhasedOnServers() bool {
	if p.AnyAt != [Phases]uint16{} ||
		slices.ContainsFunc(p.targets(), func(a TargetedFault) bool {
			return a.Phased && a.Kind.OnServer()
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

// AllowsIn reports whether the plan has a fault of the kind left that may strike in the phase and
// at the place.
func (p *Plan) AllowsIn(k Kind, phase Phase, at Place) bool {
	return p.Of[k] > 0 || p.At[k][phase] > 0 || k.inAny() && (p.Any > 0 || p.AnyAt[phase] > 0) ||
		p.matching(k, phase, at) >= 0
}

// matching returns the index of the targeted fault to spend, or -1 if none matches. Of several, it
// is the one with the most restrictions.
func (p *Plan) matching(k Kind, phase Phase, at Place) int {
	found := -1
	for i := range p.Targeted {
		switch a := &p.Targeted[i]; {
		case a.Left == 0:
			return found
		case a.Matches(k, phase, at) &&
			(found < 0 || a.restrictions() > p.Targeted[found].restrictions()):
			found = i
		}
	}
	return found
}

// Spend takes from the plan a fault of the kind that strikes in the phase and at the place. It
// panics if the plan does not allow it. Of several entries of the plan it takes the most specific:
// a targeted fault, then one of the kind in the phase, then one of the kind, then one of "any" in
// the phase, then one of "any". Spend returns the fault taken with its kind, and with the phase and
// the target to which it was restricted.
func (p *Plan) Spend(k Kind, phase Phase, at Place) TargetedFault {
	i := p.matching(k, phase, at)
	taken := TargetedFault{Kind: k, Left: 1}
	switch {
	case i >= 0:
		taken = p.Targeted[i]
		taken.Left = 1
		if p.Targeted[i].Left--; p.Targeted[i].Left == 0 {
			copy(p.Targeted[i:], p.Targeted[i+1:])
			p.Targeted[TargetedFaultsMax-1] = TargetedFault{}
		}
	case p.At[k][phase] > 0:
		p.At[k][phase]--
		taken.Phase, taken.Phased = phase, true
	case p.Of[k] > 0:
		p.Of[k]--
	case k.inAny() && p.AnyAt[phase] > 0:
		p.AnyAt[phase]--
		taken.Phase, taken.Phased = phase, true
	case k.inAny() && p.Any > 0:
		p.Any--
	default:
		panic(fmt.Sprintf("faults: no %v left in %v", k, p))
	}
	return taken
}

// Add adds faults to the plan, as [Plan.Spend] returns them. It panics if that would make more than
// [TargetedFaultsMax] targeted faults.
func (p *Plan) Add(a TargetedFault) {
	switch {
	case a.Target != Target{}, a.Instant != AnyInstant:
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

// insert inserts a targeted fault at an index of the list.
func (p *Plan) insert(at int, a TargetedFault) {
	n := len(p.targets())
	copy(p.Targeted[at+1:n+1], p.Targeted[at:n])
	p.Targeted[at] = a
}

// Empty reports whether the plan has no fault left.
func (p *Plan) Empty() bool { return *p == Plan{} }
