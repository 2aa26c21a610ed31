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

// numberMax bounds the number that may follow a strategy's name.
const numberMax = 1000

// A strategyKind is a strategy as campaigns know it.
type strategyKind struct {
	name   string
	number int // unless one follows the name; 0 if the name takes none
	make   func(profile *Profile, number int, seed uint64, schedule int) Strategy
}

// strategyKinds is the table of the strategies that draw their schedules, the portfolio last.
var strategyKinds []strategyKind

// The table cannot be a plain initializer: the portfolio looks its members up in it.
func init() {
	strategyKinds = []strategyKind{
		{RandomStrategy, 0, func(_ *Profile, _ int, seed uint64, schedule int) Strategy {
			return NewRandom(seed, schedule)
		}},
		// Most bugs need no more than three ordering constraints (Burckhardt et al. 2010).
		{PCTStrategy, 3, func(p *Profile, depth int, seed uint64, schedule int) Strategy {
			return NewPCT(p, depth, seed, schedule)
		}},
		{POSStrategy, 0, func(_ *Profile, _ int, seed uint64, schedule int) Strategy {
			return NewPOS(seed, schedule)
		}},
		{URWStrategy, 0, func(p *Profile, _ int, seed uint64, schedule int) Strategy {
			return NewURW(p, seed, schedule)
		}},
		{SURWStrategy, 0, func(p *Profile, _ int, seed uint64, schedule int) Strategy {
			return NewSURW(p, seed, schedule)
		}},
		// Most bugs need no more than two delays (Emmi et al. 2011).
		{DelayStrategy, 2, func(p *Profile, delays int, seed uint64, schedule int) Strategy {
			return NewDelay(p, delays, seed, schedule)
		}},
		{PortfolioStrategy, 0, func(p *Profile, _ int, seed uint64, schedule int) Strategy {
			return NewPortfolio(p, seed, schedule)
		}},
	}
}

// StrategyNames returns the names of the strategies that draw their schedules, the portfolio last.
func StrategyNames() []string {
	var names []string
	for i := range strategyKinds {
		names = append(names, strategyKinds[i].name)
	}
	return names
}

// A StrategyFactory makes the strategies of a campaign: the one that belongs to a seed and to the
// number of a schedule.
type StrategyFactory func(profile *Profile, seed uint64, schedule int) Strategy

// ParseStrategy returns the factory of the strategies of that name, which a number may follow where
// the strategy takes one, or an error that lists the names.
func ParseStrategy(name string) (StrategyFactory, error) {
	for i := range strategyKinds {
		if number, ok := strategyKinds[i].parse(name); ok {
			return func(p *Profile, seed uint64, schedule int) Strategy {
				return strategyKinds[i].make(p, number, seed, schedule)
			}, nil
		}
	}
	return nil, fmt.Errorf("unknown strategy %q; known are %s",
		name, strings.Join(StrategyNames(), ", "))
}

// parse returns the number for which a name stands, if the name is one of the strategy.
func (k *strategyKind) parse(name string) (number int, ok bool) {
	rest, found := strings.CutPrefix(name, k.name)
	if !found || rest == "" {
		return k.number, found
	}
	number, err := strconv.Atoi(rest)
	return number, k.number > 0 && err == nil && number >= 1 && number <= numberMax
}
