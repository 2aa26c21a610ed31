package scenarios

// Portfolio shares the schedules of a campaign among the other strategies, in turn: no strategy is the best on all bugs,
// and which one is, nobody knows beforehand.
type Portfolio struct {
	Strategy
	name string
}

// portfolio is whose turn it is, over and over. PCT stands in it with two depths: a bug that needs a greater one is
// rare, but a small depth never finds it.
var portfolio = [...]string{RandomStrategy, PCTStrategy, POSStrategy, SURWStrategy, RandomStrategy, "pct10", DelayStrategy, URWStrategy}

// NewPortfolio returns the strategy whose turn it is in the schedule of that number.
func NewPortfolio(profile *Profile, seed uint64, schedule int) *Portfolio {
	name := portfolio[schedule%len(portfolio)]
	maker, err := ParseStrategy(name)
	if err != nil {
		panic(err)
	}
	return &Portfolio{maker(profile, seed, schedule), name}
}

// Name returns the name of the strategy whose turn it is.
func (p *Portfolio) Name() string { return p.name }
