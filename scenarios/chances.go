package scenarios

// chances decides in a schedule when a fault strikes and when time passes, for strategies that order the steps of
// threads and have nothing to say of either. It does so as a random walk would, with chances that are drawn anew for
// each schedule; see [Random].
type chances struct {
	*Random
	space []int
}

// threadsExpected is for how many threads there is room from the beginning.
const threadsExpected = 5

// newChances returns the chances that belong to the seed and the schedule's number.
func newChances(seed uint64, schedule int) chances {
	return chances{Random: NewRandom(seed, schedule), space: make([]int, 0, threadsExpected)}
}

// interject returns the index of a fault, or of the tick, if it is the turn of either now; and the tick where nothing
// else can happen but faults.
func (c *chances) interject(options []Option, usual int) (index int, ok bool) {
	first, tick, total := len(options), -1, uint64(0)
	for i := range options {
		if options[i].Kind == Fault {
			first = i
			break
		}
		if options[i].Kind == Tick {
			tick = i
		}
		total += c.weights[options[i].Kind]
	}
	switch {
	case first < len(options) && c.below(c.faultOdds) == 0:
		return c.fault(options, first), true
	case tick < 0:
		return 0, false
	case first == 1:
		return usual, true
	case c.below(total) < c.weights[Tick]:
		return tick, true
	}
	return 0, false
}

// heads returns the next step of each thread; see [Profile].
func (c *chances) heads(options []Option) []int {
	c.space = heads(options, c.space)
	return c.space
}
