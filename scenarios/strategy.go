package scenarios

import (
	"fmt"
	"strconv"
	"strings"
)

// A Strategy decides what happens next in a run.
type Strategy interface {
	// Choose returns the index of one of the options, of which there is at least one, in canonical
	// order. Index is how many decisions the run has seen before, and usual the option that the
	// default policy takes.
	Choose(index int, enabled []EnabledStep, defaultIndex int) int
}

// The names of the strategies that draw their schedules, as [Campaign] and the command line know
// them.
const (
	RandomStrategy    = "random"    // see [Random]
	PCTStrategy       = "pct"       // see [PCT]; the depth may follow, as in pct10
	POSStrategy       = "pos"       // see [POS]
	URWStrategy       = "urw"       // see [URW]
	SURWStrategy      = "surw"      // see [SURW]
	DelayStrategy     = "delay"     // see [Delay]; the number of delays may follow, as in delay5
	PortfolioStrategy = "portfolio" // see [Portfolio]

	// ExhaustiveStrategy is no such strategy, but goes by a name too: see [Exhaustive].
	ExhaustiveStrategy = "exhaustive"
)

// What stands behind a name without a number.
const (
	// of PCT: most bugs need no more ordering constraints (Burckhardt et al. 2010)
	defaultDepth  = 3
	defaultDelays = 2 // of Delay: most bugs need no more (Emmi et al. 2011)
	numberMax     = 1000
)

// StrategyNames returns the names of the strategies that draw their schedules, the portfolio last.
func StrategyNames() []string {
	return []string{
		RandomStrategy, PCTStrategy, POSStrategy, URWStrategy, SURWStrategy, DelayStrategy,
		PortfolioStrategy,
	}
}

// A StrategyFactory makes the strategies of a campaign: the one that belongs to a seed and to the
// number of a schedule.
type StrategyFactory func(profile *Profile, seed uint64, schedule int) Strategy

// ParseStrategy returns the maker of the strategies that go by the name, or an error that lists the
// names there are.
func ParseStrategy(name string) (StrategyFactory, error) {
	switch name {
	case RandomStrategy:
		return func(_ *Profile, seed uint64, schedule int) Strategy {
				return NewRandom(seed,
					schedule)
			},
			nil
	case POSStrategy:
		return func(_ *Profile, seed uint64, schedule int) Strategy {
			return NewPOS(seed,
				schedule)
		}, nil
	case URWStrategy:
		return func(p *Profile, seed uint64, schedule int) Strategy {
				return NewURW(p, seed,
					schedule)
			},
			nil
	case SURWStrategy:
		return func(p *Profile, seed uint64, schedule int) Strategy {
				return NewSURW(p, seed,
					schedule)
			},
			nil
	case PortfolioStrategy:
		return func(p *Profile, seed uint64, schedule int) Strategy {
			return NewPortfolio(p, seed,
				schedule)
		}, nil
	}
	if depth, ok := numbered(name, PCTStrategy, defaultDepth); ok {
		return func(p *Profile, seed uint64, schedule int) Strategy {
			return NewPCT(p, depth, seed,
				schedule)
		}, nil
	}
	if delays, ok := numbered(name, DelayStrategy, defaultDelays); ok {
		return func(p *Profile, seed uint64, schedule int) Strategy {
			return NewDelay(p, delays, seed,
				schedule)
		}, nil
	}
	return nil, fmt.Errorf("unknown strategy %q; known are %s", name, strings.Join(StrategyNames(),
		", "))
}

// numbered takes a name apart that a number may follow.
func numbered(name, prefix string, unset int) (number int, ok bool) {
	rest, found := strings.CutPrefix(name, prefix)
	if !found || rest == "" {
		return unset, found
	}
	number, err := strconv.Atoi(rest)
	return number, err == nil && number >= 1 && number <= numberMax
}
