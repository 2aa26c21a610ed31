package strategy

import (
	"context"
	"slices"
	"sync"

	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/stateset"
)

// portfolio is the order of turns of [RoundRobin], and of the first rounds of a portfolio. PCT is
// in it with two depths: few bugs need the greater one, but the smaller never finds them.
var portfolio = [...]string{
	RandomName, PCTName, POSName, SURWName, RandomName,
	"pct10", DelayName, URWName,
}

// turnsOf returns the order of turns in the first rounds of an adaptive strategy. A portfolio has
// the turns of [Margin] only where timers have phases that can be mutated.
func turnsOf(name string, p *Profile) []string {
	switch {
	case name == MarginName:
		return []string{MarginName}
	case len(p.Shifts) > 0:
		return append(portfolio[:len(portfolio):len(portfolio)], MarginName)
	}
	return portfolio[:]
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

// Rounds allocate the schedules of a campaign with an adaptive strategy to strategies. The first
// rounds are even; later ones favour strategies whose schedules keep showing new behaviour (as in
// Fest: Li, Desai and Padhye, "Feedback-guided Adaptive Testing of Distributed Systems Designs",
// NSDI 2026; see [Behaviour]). Half of the schedules are always allocated evenly, because a
// strategy that shows nothing new may be the one that finds the bug.
//
// A round depends on what happened up to the round before the last, so it does not depend on the
// number of workers.
type Rounds struct {
	mu      sync.Mutex
	rounds  []round       // by number
	dealt   chan struct{} // closed when there is another round
	margins bool          // rounds gather near misses

	// Only one goroutine uses the fields below.

	scores []strategyScore
	seen   stateset.Set // behaviour
	near   nearMisses
}

// A round is what its schedules depend on.
type round struct {
	turns allocation
	near  nearMisses // immutable
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

// NewRounds returns the rounds of a new campaign with an adaptive strategy.
func NewRounds(name string, p *Profile) *Rounds {
	turns := turnsOf(name, p)
	t := &Rounds{dealt: make(chan struct{}), margins: slices.Contains(turns, MarginName)}
	var first allocation
	for i := range first {
		name := turns[i%len(turns)]
		at := slices.IndexFunc(t.scores, func(s strategyScore) bool { return s.name == name })
		if at < 0 {
			at = len(t.scores)
			t.scores = append(t.scores, strategyScore{name: name})
		}
		first[i] = uint8(at)
	}
	for range roundsAhead {
		t.rounds = append(t.rounds, round{turns: first})
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

// round returns the round of a schedule, which must have been awaited.
func (t *Rounds) round(schedule int) round {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rounds[schedule/roundSchedules]
}

// score returns the score of the strategy whose turn it is.
func (t *Rounds) score(r round, schedule int) *strategyScore {
	return &t.scores[r.turns[schedule%ChunkSchedules]]
}

// Name returns the name of the strategy whose turn it is. The schedule must have been awaited.
func (t *Rounds) Name(schedule int) string { return t.score(t.round(schedule), schedule).name }

// Strategy returns the strategy of a schedule, which must have been awaited.
func (t *Rounds) Strategy(p *Profile, seed uint64, schedule int) engine.Strategy {
	r := t.round(schedule)
	if name := t.score(r, schedule).name; name != MarginName {
		return Timed(Named(name)(p, seed, schedule), p, seed, schedule)
	}
	return NewMargin(p, r.near, seed, schedule)
}

// Feedback is what rounds learn from a run.
type Feedback struct {
	behaviours []uint64
	near       *nearMiss // nil if the run has no margin
}

// Feedback returns what the rounds learn from a run.
func (t *Rounds) Feedback(result *engine.Result) Feedback {
	f := Feedback{behaviours: Behaviour(nil, result.Events)}
	if t.margins {
		f.near = nearMissOf(result)
	}
	return f
}

// Count notes what a schedule showed and returns how many of its behaviours are new. Schedules are
// counted in order.
func (t *Rounds) Count(schedule int, shown Feedback) int {
	fresh := 0
	for _, b := range shown.behaviours {
		if t.seen.Len() < behavioursMax && t.seen.Add(b) {
			fresh++
		}
	}
	if shown.near != nil {
		t.near = t.near.with(shown.near)
	}
	s := t.score(t.round(schedule), schedule)
	s.schedules++
	s.fresh += float64(fresh)
	if (schedule+1)%roundSchedules == 0 {
		t.deal()
	}
	return fresh
}

// deal allocates the next round.
func (t *Rounds) deal() {
	next := round{turns: allot(t.scores), near: t.near}
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
