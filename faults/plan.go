package faults

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/internal/base/unknown"
)

// A Plan is the budget of faults of a run: the most that it injects, a list of entries that add up.
// The zero Plan allows none. Plans can be compared with ==.
type Plan struct {
	// in the order of compareEntries; the first with Left 0 ends the list
	entries [entriesMax]Entry
	without kindSet // the kinds that its groups leave out; each is in one of these, and not named
}

// entriesMax is how many entries a plan can have. Each run copies plans, so that they are small.
const entriesMax = 64

// Of returns the plan of a number of faults of a kind, or of [Any].
func Of(k Kind, n uint16) (p Plan) {
	p.Add(Entry{Kind: k, Left: n})
	return p
}

// Default returns the plan of a run that sets none: two faults of any kind.
func Default() Plan { return Of(Any, 2) }

// planMax is the highest count in a plan. No run has that many steps for faults.
const planMax = 1000

// Parse reads a plan: "none", "default", or a list such as "expire=1,cut@hold=2,any=1". An at sign
// restricts a fault to a phase of the lock or to an [Instant], and a colon to a [Target], as in
// "kill-server:leader@hold=1" and "cut@hold@before-ping=1". A group, such as "any" or "network",
// stands for several kinds with one count; "no:cut" leaves a kind out of the groups, as in
// "any=2,no:cut". The error names the part of the text that is wrong and what is valid there.
func Parse(text string) (Plan, error) {
	switch strings.TrimSpace(text) {
	case "none":
		return Plan{}, nil
	case "default":
		return Default(), nil
	}
	var plan Plan
	var without kindSet
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		name, number, found := strings.Cut(part, "=")
		if seen[name] {
			return Plan{}, fmt.Errorf("fault %q stands twice", name)
		}
		seen[name] = true
		var err error
		if excluded, is := strings.CutPrefix(part, excludes); is {
			var k Kind
			k, err = parseExcluded(excluded)
			without |= 1 << k
		} else {
			err = plan.parse(part, name, number, found)
		}
		if err != nil {
			return Plan{}, err
		}
	}
	if err := plan.exclude(without); err != nil {
		return Plan{}, err
	}
	return plan, nil
}

// parse reads a part of a plan with its count, and adds it.
func (p *Plan) parse(part, name, number string, counted bool) error {
	count, err := strconv.Atoi(number)
	if !counted || err != nil || count < 0 || count > planMax {
		return fmt.Errorf("%q is not of the form kind=N, kind@phase=N, kind:target=N "+
			"or kind:target@phase=N with N from 0 to %d", part, planMax)
	}
	entry, err := parseEntry(name)
	if err != nil {
		return err
	}
	entry.Left = uint16(count)
	return p.set(entry)
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

// parseEntry reads an entry without its count.
func parseEntry(name string) (a Entry, err error) {
	name, keys, restricted := strings.Cut(name, "@")
	if restricted {
		if err := a.parseMoment(keys); err != nil {
			return a, err
		}
	}
	name, target, targeted := strings.Cut(name, ":")
	known := false
	switch a.Kind, known = named(name, kindsAndGroups); {
	case !known:
		return a, unknown.Name("fault", name, names())
	case a.isGroup() && targeted:
		return a, fmt.Errorf("%s takes no target: name the fault for %q", name, target)
	case a.isGroup() && a.Instant != AnyInstant:
		return a, fmt.Errorf("%s takes no instant: name the fault for %q", name, a.Instant.Key())
	case targeted:
		a.Target, err = parseTarget(a.Kind, target)
	}
	return a, err
}

// parseMoment reads what follows the first at sign: a phase, an instant, or both in this order.
func (a *Entry) parseMoment(keys string) error {
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
		return unknown.Name("phase or instant", keys, append(PhaseKeys(), InstantKeys()...))
	}
	return nil
}

// set adds an entry that the plan does not have yet.
func (p *Plan) set(a Entry) error {
	_, found := slices.BinarySearchFunc(p.Entries(), a, compareEntries)
	reason := a.impossible()
	switch {
	case reason != "":
		return fmt.Errorf("the fault %v cannot strike: %s", a, reason)
	case a.Left == 0:
		return nil
	case found:
		return fmt.Errorf("fault %q stands twice", a)
	case a.targeted() && p.full():
		return fmt.Errorf("a plan can name at most %d targets and instants", TargetedFaultsMax)
	case len(p.Entries()) == entriesMax:
		return fmt.Errorf("a plan can have at most %d entries", entriesMax)
	}
	p.Add(a)
	return nil
}

// full reports whether the plan can have no more entries with a target or an instant.
func (p *Plan) full() bool {
	n := 0
	for range p.Targeted() {
		n++
	}
	return n == TargetedFaultsMax
}

// Entries returns the entries that have faults left, in the order of the plan's text. The caller
// must not change them.
func (p *Plan) Entries() []Entry {
	n := 0
	for n < len(p.entries) && p.entries[n].Left > 0 {
		n++
	}
	return p.entries[:n]
}

// Targeted iterates over the entries that are restricted to a target or an instant, and counts
// them.
func (p *Plan) Targeted() iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		n := 0
		for _, a := range p.Entries() {
			if a.targeted() {
				if !yield(n, a) {
					return
				}
				n++
			}
		}
	}
}

// KindNamed returns the kind with the name.
func KindNamed(name string) (Kind, bool) { return named(name, Kinds) }

// named returns the kind or group with the name, of those before the limit.
func named(name string, limit Kind) (Kind, bool) {
	for k := range limit {
		if kindTable[k].name == name {
			return k, true
		}
	}
	return 0, false
}

// names returns the names of all kinds, and then of all groups.
func names() []string {
	list := make([]string, 0, kindsAndGroups)
	for k := range kindsAndGroups {
		list = append(list, k.String())
	}
	return list
}

// String returns the text of the plan, which [Parse] reads.
func (p Plan) String() string {
	var parts []string
	for _, a := range p.Entries() {
		parts = append(parts, fmt.Sprintf("%v=%d", a, a.Left))
	}
	if parts == nil {
		return "none"
	}
	for k := range Kinds {
		if p.without.has(k) {
			parts = append(parts, excludes+k.String())
		}
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

// has reports whether the condition holds for an entry of the plan.
func (p *Plan) has(condition func(*Entry) bool) bool {
	for i := range p.entries {
		switch a := &p.entries[i]; {
		case a.Left == 0:
			return false
		case condition(a):
			return true
		}
	}
	return false
}

// IsTargeted reports whether the plan has a fault left that is restricted to a target or to an
// instant.
func (p *Plan) IsTargeted() bool { return p.has((*Entry).targeted) }

// Allows reports whether the plan has a fault of the kind left, in any phase and at any target.
func (p *Plan) Allows(k Kind) bool { return p.has(func(a *Entry) bool { return p.covers(a, k) }) }

// covers reports whether faults of the kind can be taken from an entry of the plan.
func (p *Plan) covers(a *Entry, k Kind) bool { return a.Kind.Covers(k) && !p.without.has(k) }

// Names reports whether the plan has a fault of the kind left that it names, apart from groups.
func (p *Plan) Names(k Kind) bool { return p.has(func(a *Entry) bool { return a.Kind == k }) }

// AllowsAnywhere reports whether the plan has a fault of the kind left that is restricted to no
// phase and to no target.
func (p *Plan) AllowsAnywhere(k Kind) bool {
	return p.has(func(a *Entry) bool { return p.covers(a, k) && !a.Phased && !a.targeted() })
}

// AllowsCell reports whether the plan has a fault left that is restricted to the phase of the cell
// and may be of its kind. A fault of a group counts only if the cell is reachable.
func (p *Plan) AllowsCell(c CoverageCell) bool {
	return p.has(func(a *Entry) bool {
		return p.covers(a, c.Kind) && a.Phased && a.Phase == c.Phase && !a.targeted() &&
			(a.Kind == c.Kind || c.Unreachable() == "")
	})
}

// Cells returns the reachable cells of the given kinds in which the plan has faults left.
func (p *Plan) Cells(kinds []Kind) (cells []CoverageCell) {
	for _, kind := range kinds {
		for _, cell := range reachable(kind) {
			if p.has(func(a *Entry) bool { return p.covers(a, kind) && a.in(cell.Phase) }) {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

// Instant returns the first entry of the plan that is restricted to an instant, and whether there
// is one.
func (p *Plan) Instant() (fault Entry, ok bool) {
	for _, a := range p.Entries() {
		if a.Instant != AnyInstant {
			return a, true
		}
	}
	return fault, false
}

// TimedInstant is [Plan.Instant] for the instants to which only the passing of time leads.
func (p *Plan) TimedInstant() (fault Entry, ok bool) {
	for _, a := range p.Entries() {
		if a.Instant.Timed() {
			return a, true
		}
	}
	return fault, false
}

// NamesClient reports whether a fault of the plan is restricted to the client, from 1, or to a link
// of it.
func (p *Plan) NamesClient(number int32) bool {
	client := end{numberedClient, uint8(number)}
	return p.has(func(a *Entry) bool { return a.Target.one == client || a.Target.other == client })
}

// PhasedOnServers reports whether the plan has a fault left that may strike a server and is
// restricted to a phase.
func (p *Plan) PhasedOnServers() bool {
	return p.has(func(a *Entry) bool {
		return a.Phased && coveredKinds[a.Kind]&onServers&^p.without != 0
	})
}

// AllowsIn reports whether the plan has a fault of the kind left that may strike in the phase and
// at the place.
func (p *Plan) AllowsIn(k Kind, phase Phase, at Place) bool {
	return p.matching(k, phase, at) >= 0
}

// matching returns the index of the entry to spend, or -1 if none matches. Of several, it is the
// most specific.
func (p *Plan) matching(k Kind, phase Phase, at Place) int {
	found := -1
	if p.without.has(k) {
		return found
	}
	for i := range p.entries {
		switch a := &p.entries[i]; {
		case a.Left == 0:
			return found
		case a.Matches(k, phase, at) &&
			(found < 0 || a.precision() > p.entries[found].precision()):
			found = i
		}
	}
	return found
}

// Spend takes from the plan a fault of the kind that strikes in the phase and at the place. It
// panics if the plan does not allow it. Of several entries of the plan it takes the most specific:
// a targeted fault, then one of the kind in the phase, then one of the kind, then one of a group in
// the phase, then one of a group, of the smallest group first. Spend returns the fault taken with
// its kind, and with the phase and the target to which it was restricted.
func (p *Plan) Spend(k Kind, phase Phase, at Place) Entry {
	i := p.matching(k, phase, at)
	if i < 0 {
		panic(fmt.Sprintf("faults: no %v left in %v", k, p))
	}
	taken := p.entries[i]
	taken.Kind, taken.Left = k, 1
	n := len(p.Entries())
	if p.entries[i].Left--; p.entries[i].Left == 0 {
		copy(p.entries[i:n], p.entries[i+1:n])
		p.entries[n-1] = Entry{}
		p.without &= p.grouped()
	}
	return taken
}

// Add adds faults to the plan, as [Plan.Spend] returns them. It panics if the plan excludes their
// kind, or if that would make more than 64 entries, or more than [TargetedFaultsMax] with a target
// or an instant.
func (p *Plan) Add(a Entry) {
	if a.Left == 0 {
		return
	}
	n := len(p.Entries())
	at, found := slices.BinarySearchFunc(p.entries[:n], a, compareEntries)
	switch {
	case found:
		p.entries[at].Left += a.Left
		return
	case p.without.has(a.Kind):
		panic(fmt.Sprintf("faults: %v excludes %v", p, a.Kind))
	case n == entriesMax, a.targeted() && p.full():
		panic(fmt.Sprintf("faults: no room for %v in %v", a, p))
	}
	copy(p.entries[at+1:n+1], p.entries[at:n])
	p.entries[at] = a
}

// Empty reports whether the plan has no fault left.
func (p *Plan) Empty() bool { return p.entries[0].Left == 0 }
