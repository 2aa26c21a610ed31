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
}

// Default is the plan of a run that asks for no other: two faults of any kind.
func Default() Plan { return Plan{Any: 2} }

// planMax keeps a plan from asking for more faults than a run has steps.
const planMax = 1000

// Parse reads a plan: "none", "default", or a list such as "expire=1,cut=2,any=1". The error names the part of the
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
			return Plan{}, fmt.Errorf("%q is not of the form kind=N with N from 0 to %d", strings.TrimSpace(part), planMax)
		}
		if seen[name] {
			return Plan{}, fmt.Errorf("fault %q stands twice", name)
		}
		seen[name] = true
		if name == "any" {
			plan.Any = count
			continue
		}
		k, ok := kindNamed(name)
		if !ok {
			return Plan{}, fmt.Errorf("unknown fault %q; known are %s", name, strings.Join(names(), ", "))
		}
		plan.Of[k] = count
	}
	return plan, nil
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
	for k := range Kinds {
		if p.Of[k] > 0 {
			parts = append(parts, fmt.Sprintf("%v=%d", k, p.Of[k]))
		}
	}
	if p.Any > 0 {
		parts = append(parts, fmt.Sprintf("any=%d", p.Any))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ",")
}

// MarshalText returns the plan as text.
func (p Plan) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses a plan.
func (p *Plan) UnmarshalText(text []byte) (err error) {
	*p, err = Parse(string(text))
	return err
}

// Allows tells whether the plan has a fault of that kind left.
func (p *Plan) Allows(k Kind) bool { return p.Of[k] > 0 || k < AnyKinds && p.Any > 0 }

// Spend takes one fault of that kind from the plan, which must allow it.
func (p *Plan) Spend(k Kind) {
	switch {
	case p.Of[k] > 0:
		p.Of[k]--
	case k < AnyKinds && p.Any > 0:
		p.Any--
	default:
		panic("faults: a fault that the plan does not allow: " + k.String())
	}
}
