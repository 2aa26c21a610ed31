// Package strategy has the strategies that draw schedules at random, each in a file with its
// paper, and the table of them.
package strategy

import (
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// The names of the strategies that draw their schedules, as [campaign.Campaign] and the command
// line know them.
const (
	RandomName     = "random"      // see [Random]
	PCTName        = "pct"         // see [PCT]; the depth may follow, as in pct10
	POSName        = "pos"         // see [POS]
	URWName        = "urw"         // see [URW]
	SURWName       = "surw"        // see [SURW]
	DelayName      = "delay"       // see [Delay]; the number of delays may follow, as in delay5
	RoundRobinName = "round-robin" // see [RoundRobin]
	MarginName     = "margin"      // see [Margin]
	PortfolioName  = "portfolio"   // see [Rounds]

	// MutantName is the name of [Mutant] in a portfolio with a [Corpus]. It is none of [Names].
	MutantName = "mutant"

	// ExhaustiveName is no such strategy, but goes by a name too: see [exhaustive.Search].
	ExhaustiveName = "exhaustive"
)

// numberMax bounds the number that may follow a strategy's name.
const numberMax = 1000

// A strategyKind is a strategy as campaigns know it.
type strategyKind struct {
	name    string
	number  int    // unless one follows the name; 0 if the name takes none
	summary string // for help
	// the schedules of a campaign depend on the outcome of earlier ones
	adaptive bool
	make     func(profile *Profile, number int, seed uint64, schedule int) engine.Strategy
}

// strategyKinds is the table of the strategies that draw their schedules, the portfolio last.
var strategyKinds []strategyKind

// The table cannot be a plain initializer: the portfolio looks its members up in it.
func init() {
	strategyKinds = []strategyKind{
		{
			name: RandomName, number: 0,
			summary: "a random walk over the enabled steps; each run draws its own weights",
			make: func(_ *Profile, _ int, seed uint64, schedule int) engine.Strategy {
				return NewRandom(seed, schedule)
			},
		},
		// Most bugs need no more than three ordering constraints (Burckhardt et al. 2010).
		{
			name: PCTName, number: 3,
			summary: "random thread priorities with 2 change points, for bugs of depth 3; pct10 " +
				"has depth 10 (PCT; Burckhardt et al., ASPLOS 2010)",
			make: func(p *Profile, depth int, seed uint64, schedule int) engine.Strategy {
				return NewPCT(p, depth, seed, schedule)
			},
		},
		{
			name: POSName, number: 0,
			summary: "random step priorities, redrawn for steps that race with the chosen one " +
				"(POS; Yuan et al., CAV 2018)",
			make: func(_ *Profile, _ int, seed uint64, schedule int) engine.Strategy {
				return NewPOS(seed, schedule)
			},
		},
		{
			name: URWName, number: 0,
			summary: "nearly uniform over all interleavings (Zhao et al., ASPLOS 2025)",
			make: func(p *Profile, _ int, seed uint64, schedule int) engine.Strategy {
				return NewURW(p, seed, schedule)
			},
		},
		{
			name: SURWName, number: 0,
			summary: "nearly uniform over the orders in which the server handles requests (SURW; " +
				"Zhao et al., ASPLOS 2025)",
			make: func(p *Profile, _ int, seed uint64, schedule int) engine.Strategy {
				return NewSURW(p, seed, schedule)
			},
		},
		// Most bugs need no more than two delays (Emmi et al. 2011).
		{
			name: DelayName, number: 2,
			summary: "the default policy with 2 steps delayed; delay5 delays 5 (Emmi et al., " +
				"POPL 2011)",
			make: func(p *Profile, delays int, seed uint64, schedule int) engine.Strategy {
				return NewDelay(p, delays, seed, schedule)
			},
		},
		{
			name: RoundRobinName, number: 0,
			summary: "all of the above in turn; the default with --shard or --nats",
			make:    makeRoundRobin,
		},
		// Without a campaign, no earlier schedules are known to mutate.
		{
			name: MarginName, number: 0, adaptive: true,
			summary: "mutates the schedules with the smallest margins in time (Donzé and Maler, " +
				"FORMATS 2010)",
			make: func(p *Profile, _ int, seed uint64, schedule int) engine.Strategy {
				return NewMargin(p, nil, seed, schedule)
			},
		},
		// Without a campaign, a portfolio knows no earlier schedules.
		{
			name: PortfolioName, number: 0, adaptive: true,
			summary: "as round-robin, but more often strategies that show new behaviour; on " +
				"several servers also margin",
			make: makeRoundRobin,
		},
	}
}

func makeRoundRobin(p *Profile, _ int, seed uint64, schedule int) engine.Strategy {
	return Named(RoundRobin(schedule))(p, seed, schedule)
}

// Names returns the names of the strategies that draw their schedules, the portfolio last.
func Names() []string {
	var names []string
	for i := range strategyKinds {
		names = append(names, strategyKinds[i].name)
	}
	return names
}

// Summary describes the strategy of that name in a few words. It returns "" if there is none.
func Summary(name string) string {
	for i := range strategyKinds {
		if strategyKinds[i].name == name {
			return strategyKinds[i].summary
		}
	}
	return ""
}

// Adaptive reports whether the schedules that a campaign draws by the strategy of that name depend
// on the outcome of earlier schedules.
func Adaptive(name string) bool {
	for i := range strategyKinds {
		if strategyKinds[i].name == name {
			return strategyKinds[i].adaptive
		}
	}
	return false
}

// A Factory makes the strategies of a campaign: the one that belongs to a seed and to the number of
// a schedule.
type Factory func(profile *Profile, seed uint64, schedule int) engine.Strategy

// Parse returns the factory of the strategies of that name, which a number may follow where the
// strategy takes one, or an error that lists the names.
func Parse(name string) (Factory, error) {
	for i := range strategyKinds {
		if number, ok := strategyKinds[i].parse(name); ok {
			return func(p *Profile, seed uint64, schedule int) engine.Strategy {
				return strategyKinds[i].make(p, number, seed, schedule)
			}, nil
		}
	}
	return nil, unknown.Name("strategy", name, Names())
}

// Named returns the factory of the strategies of that name, which must exist.
func Named(strategy string) Factory {
	maker, err := Parse(strategy)
	if err != nil {
		panic(err)
	}
	return maker
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
