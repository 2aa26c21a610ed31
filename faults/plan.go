package faults

import (
	"fmt"
	"strconv"
	"strings"
)

// A Plan says how many faults a run may see at most. The zero Plan allows none.
type Plan struct {
	Of  [Kinds]int // of each kind
	Any int        // beyond those, of any kind below AnyKinds

	At    [Kinds][Phases]uint16 // beyond those, of each kind in each phase of the lock
	AnyAt [Phases]uint16        // of any kind below AnyKinds in each phase
}

// Default is the plan of a run that asks for no other: two faults of any kind.
func Default() Plan { return Plan{Any: 2} }

// planMax keeps a plan from asking for more faults than a run has steps.
const planMax = 1000

// Parse reads a plan: "none", "default", or a list such as "expire=1,cut@hold=2,any=1". A phase behind an at sign bounds a
// fault to that phase of the lock. The error names the part of the text that is wrong and what could stand there.
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
			return Plan{}, fmt.Errorf("%q is not of the form kind=N or kind@phase=N with N from 0 to %d", strings.TrimSpace(part), planMax)
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
	k, ok := kindNamed(name)
	switch {
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

// Allows tells whether the plan has a fault of the kind left, in whatever phase.
func (p *Plan) Allows(k Kind) bool {
	for phase := range Phases {
		if p.AllowsIn(k, phase) {
			return true
		}
	}
	return false
}

// Names tells whether the plan has a fault of the kind left that it asks for by name, not as one of any.
func (p *Plan) Names(k Kind) bool { return p.Of[k] > 0 || p.At[k] != [Phases]uint16{} }

// AllowsIn tells whether the plan has a fault of the kind left that may strike in the phase.
func (p *Plan) AllowsIn(k Kind, phase Phase) bool {
	return p.Of[k] > 0 || p.At[k][phase] > 0 || k < AnyKinds && (p.Any > 0 || p.AnyAt[phase] > 0)
}

// Spend takes a fault of the kind, which strikes in the phase, from the plan: one for that phase alone before another, and
// one of the kind before one of any. The plan must allow it.
func (p *Plan) Spend(k Kind, phase Phase) {
	switch {
	case p.At[k][phase] > 0:
		p.At[k][phase]--
	case p.Of[k] > 0:
		p.Of[k]--
	case k < AnyKinds && p.AnyAt[phase] > 0:
		p.AnyAt[phase]--
	case k < AnyKinds && p.Any > 0:
		p.Any--
	default:
		panic(fmt.Sprintf("faults: no %v left in %v", k, p))
	}
}

// Empty tells whether the plan has no fault left.
func (p *Plan) Empty() bool { return *p == Plan{} }
