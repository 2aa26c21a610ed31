package history

import (
	"fmt"
	"slices"
)

var properties = []Property{
	ServedExclusion, BeliefExclusion, FencedExclusion, NoLostUpdate, FIFO, Watch, Progress, NoStarvation, NoLivelock,
	NoRefusal, NoOrphan, HonestLoss, Reentrancy, Herd, Token, Linearizable,
}

// Properties returns all properties in their canonical order. The slice is the caller's.
func Properties() []Property { return slices.Clone(properties) }

// ParseProperty returns the property of that name, or an error that lists the names that there are.
func ParseProperty(name string) (Property, error) {
	if p := Property(name); slices.Contains(properties, p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown property %q, want one of %v", name, properties)
}

// A Checker checks any property, and remembers what is dear to compute twice. The zero value is ready for use. It is
// not safe for concurrent use: each worker has its own.
type Checker struct {
	Bounds Bounds // that [NoStarvation], [NoLivelock] and [Herd] are judged by; [DefaultBounds] unless set

	Cut bool // the histories are beginnings of longer ones, so that a release that is under way may still come

	linearizable LinearizableChecker
	ensemble     ensembleChecker
	memory       memory
}

// Check returns how the events break the property, which may be [Ensemble] too, or nil if they do not. The answer depends on the events alone, not
// on what was checked before. It panics if there is no such property.
func (c *Checker) Check(property Property, events []Event) *Violation {
	switch property {
	case ServedExclusion:
		return CheckServedExclusion(events)
	case BeliefExclusion:
		return CheckBeliefExclusion(events)
	case FencedExclusion:
		return CheckFencedExclusion(events)
	case NoLostUpdate:
		return CheckNoLostUpdate(events)
	case FIFO:
		return CheckFIFO(events)
	case Watch:
		return CheckWatch(events)
	case Progress:
		return CheckProgress(events)
	case NoStarvation:
		return CheckNoStarvation(events, c.bounds())
	case NoLivelock:
		return CheckNoLivelock(events, c.bounds())
	case NoRefusal:
		return CheckNoRefusal(events)
	case NoOrphan:
		return CheckNoOrphan(events)
	case HonestLoss:
		return CheckHonestLoss(events)
	case Reentrancy:
		return CheckReentrancy(events)
	case Herd:
		return CheckHerd(events, c.bounds())
	case Token:
		return CheckToken(events)
	case Linearizable:
		c.linearizable.Cut = c.Cut
		return c.linearizable.Check(events)
	case Ensemble:
		return c.ensemble.run(events)
	}
	panic(fmt.Sprintf("history: no checker for property %q", property))
}

// Undecided tells whether the last check of [Linearizable] has reached its limits before it came to a verdict.
func (c *Checker) Undecided() bool { return c.linearizable.Undecided() }

func (c *Checker) bounds() Bounds {
	if c.Bounds == (Bounds{}) {
		return DefaultBounds
	}
	return c.Bounds
}
