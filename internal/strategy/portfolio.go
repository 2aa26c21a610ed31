package strategy

import (
	"context"
	"slices"
	"sync"

	"github.com/interlock-sim/interlock/internal/stateset"
)

// portfolio is the order of turns of [RoundRobin], and of the first rounds of a portfolio. PCT is
// in it with two depths: few bugs need the greater one, but the smaller never finds them.
var portfolio = [...]string{
	RandomName, PCTName, POSName, SURWName, RandomName,
	"pct10", DelayName, URWName,
}

// ChunkSchedules is how many schedules a worker of a campaign takes at a time.
const ChunkSchedules = 64

const (
	// roundSchedules is the length of a round: several chunks, so that workers seldom wait.
	roundSchedules = 16 * ChunkSchedules
	// roundsAhead is how many rounds may begin before the first of them is over, so that workers
	// need not wait for each other.
	roundsAhead = 2
)

// Rounds allocate the schedules of a campaign with a portfolio to strategies. The first rounds are
// even; later ones favour strategies whose schedules keep showing new behaviour (as in Fest:
// Li, Desai and Padhye, "Feedback-guided Adaptive Testing of Distributed Systems Designs", NSDI
// 2026; see [Behaviour]). Half of the schedules are always allocated evenly, because a strategy
// that shows nothing new may be the one that finds the bug.
//
// A round depends on what happened up to the round before the last, so it does not depend on the
// number of workers.
type Rounds struct {
	mu     sync.Mutex
	rounds []allocation  // by round
	dealt  chan struct{} // closed when there is another round

	scores []strategyScore // for one goroutine only, as is seen
	seen   stateset.Set    // behaviour
}

// An allocation is the order of turns in a round, repeated. It holds indexes of scores.
type allocation [ChunkSchedules]uint8

// A strategyScore is what a strategy has shown lately.
type strategyScore struct {
	name      string
	schedules float64
	fresh     float64 // new behaviours
}

// scoreKept is the part of a score that remains after a round.
const scoreKept = 0.5

// NewRounds returns the rounds of a new campaign.
func NewRounds() *Rounds {
	t := &Rounds{dealt: make(chan struct{})}
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

// Await waits until the round of a schedule is allocated. It returns false if the context ends
// first.
func (t *Rounds) Await(ctx context.Context, schedule int) bool {
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

// round returns the index of the strategy's score. The schedule must have been awaited.
func (t *Rounds) round(schedule int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.rounds[schedule/roundSchedules][schedule%ChunkSchedules])
}

// Strategy returns the name of the strategy whose turn it is. The schedule must have been awaited.
func (t *Rounds) Strategy(schedule int) string { return t.scores[t.round(schedule)].name }

// Count notes the behaviours of a schedule and returns how many are new. Schedules are counted in
// order.
func (t *Rounds) Count(schedule int, shown []uint64) int {
	fresh := 0
	for _, b := range shown {
		if t.seen.Len() < behavioursMax && t.seen.Add(b) {
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

// deal allocates the next round.
func (t *Rounds) deal() {
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

// allot allocates half of a round evenly, and the other half by the new behaviours per schedule of
// each strategy. It spreads the turns of a strategy over the round.
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
