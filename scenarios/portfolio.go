package scenarios

import (
	"context"
	"slices"
	"sync"
)

// Portfolio is the strategy whose turn it is in a portfolio that knows nothing of what the
// strategies have found: no strategy is the best on all bugs, and which one is, nobody knows
// beforehand. In a [Campaign] the turns follow what they find; see turns.
type Portfolio struct {
	Strategy
	name string
}

// portfolio is whose turn it is at first, over and over. PCT stands in it with two depths: a bug
// that needs a greater one is rare, but a small depth never finds it.
var portfolio = [...]string{
	RandomStrategy, PCTStrategy, POSStrategy, SURWStrategy, RandomStrategy,
	"pct10", DelayStrategy, URWStrategy,
}

// NewPortfolio returns the strategy whose turn it is in the schedule of that number.
func NewPortfolio(profile *Profile, seed uint64, schedule int) *Portfolio {
	name := portfolio[schedule%len(portfolio)]
	return &Portfolio{named(name)(profile, seed, schedule), name}
}

func named(strategy string) StrategyFactory {
	maker, err := ParseStrategy(strategy)
	if err != nil {
		panic(err)
	}
	return maker
}

// Name returns the name of the strategy whose turn it is.
func (p *Portfolio) Name() string { return p.name }

const (
	// roundSchedules is for how many schedules a turn table holds: some chunks, so that workers
	// seldom wait.
	roundSchedules = 16 * chunkSchedules
	// roundsAhead is how many rounds may begin before the first of them is over, so that workers
	// need not wait for each other.
	roundsAhead = 2
)

// rounds say whose turn it is in each schedule of a campaign with a portfolio: in the first rounds
// everybody's, later more often that of strategies whose schedules go on to show behaviour that no
// schedule before them has shown (as in Fest, the feedback strategy of Fray; what behaviour is, see
// [behaviour]). Half of the schedules are always dealt out evenly, as a strategy that shows nothing
// new may yet be the one that finds the bug.
//
// What a round depends on is what happened up to the round before the last one, so it is the same
// for any number of workers.
type rounds struct {
	mu     sync.Mutex
	rounds []allocation  // by round
	dealt  chan struct{} // closed when there is another

	// What follows is for one goroutine alone.
	scores []strategyScore
	seen   stateSet // behaviour
}

// A allocation is the turns in a round, over and over.
type allocation [chunkSchedules]uint8 // indexes of scores

// A strategyScore is what a strategy has achieved lately.
type strategyScore struct {
	name      string
	schedules float64
	fresh     float64 // behaviours
}

// scoreKept is the part of a score that lasts for another round.
const scoreKept = 0.5

func newRounds() *rounds {
	t := &rounds{dealt: make(chan struct{}), seen: newStateSet(behavioursMax)}
	var first allocation
	for i := range first {
		name := portfolio[i%len(portfolio)]
		at := slices.IndexFunc(t.scores, func(s strategyScore) bool { return s.name == name })
		if at < 0 {
			at = len(t.scores)
			t.scores = append(t.scores, strategyScore{name: name})
		}
		first[i] = uint8(at)
	}
	for range roundsAhead {
		t.rounds = append(t.rounds, first)
	}
	return t
}

// await waits until it is known whose turn it is in a schedule, and returns false if the context
// ends before.
func (t *rounds) await(ctx context.Context, schedule int) bool {
	for {
		t.mu.Lock()
		known, dealt := schedule/roundSchedules < len(t.rounds), t.dealt
		t.mu.Unlock()
		if known {
			return true
		}
		select {
		case <-dealt:
		case <-ctx.Done():
			return false
		}
	}
}

// round returns the index of the score of whose round it is. The schedule must have been awaited.
func (t *rounds) round(schedule int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.rounds[schedule/roundSchedules][schedule%chunkSchedules])
}

// strategy returns the name of the strategy whose turn it is. The schedule must have been awaited.
func (t *rounds) strategy(schedule int) string { return t.scores[t.round(schedule)].name }

// count takes note of what a schedule has shown, and returns how much of it is new. Schedules are
// counted in order.
func (t *rounds) count(schedule int, shown []uint64) int {
	fresh := 0
	for _, b := range shown {
		if t.seen.count < behavioursMax && t.seen.add(b) {
			fresh++
		}
	}
	s := &t.scores[t.round(schedule)]
	s.schedules++
	s.fresh += float64(fresh)
	if (schedule+1)%roundSchedules == 0 {
		t.deal()
	}
	return fresh
}

// deal makes the table of the next round that has none.
func (t *rounds) deal() {
	next := allot(t.scores)
	t.mu.Lock()
	t.rounds = append(t.rounds, next)
	close(t.dealt)
	t.dealt = make(chan struct{})
	t.mu.Unlock()
	for i := range t.scores {
		t.scores[i].schedules *= scoreKept
		t.scores[i].fresh *= scoreKept
	}
}

// allot deals out half of a table evenly and the other half by how much a schedule of each strategy
// has shown that was new. The turns of a strategy are spread over the table.
func allot(scores []strategyScore) allocation {
	weights, total := make([]float64, len(scores)), 0.0
	for i, s := range scores {
		weights[i] = s.fresh / max(1, s.schedules)
		total += weights[i]
	}
	for i := range weights {
		if total == 0 {
			weights[i] = 1 / float64(len(weights))
			continue
		}
		weights[i] = (weights[i]/total + 1/float64(len(weights))) / 2
	}
	var turns allocation
	owed := make([]float64, len(scores))
	for i := range turns {
		most := 0
		for s := range owed {
			owed[s] += weights[s]
			if owed[s] > owed[most] {
				most = s
			}
		}
		owed[most]--
		turns[i] = uint8(most)
	}
	return turns
}
