package strategy

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/interlock-sim/interlock/internal/run/engine"
)

// portfolio is the order of turns of [RoundRobin], and of the first rounds of a portfolio. PCT is
// in it with two depths: few bugs need the greater one, but the smaller never finds them.
var portfolio = [...]string{
	RandomName, PCTName, POSName, SURWName, RandomName,
	"pct10", DelayName, URWName,
}

// timedPortfolio is the order of turns where timers have phases. Defects that depend on times need
// many schedules of [Margin], and no other strategy finds them.
var timedPortfolio = [...]string{
	RandomName, PCTName, MarginName, POSName, SURWName, MarginName, RandomName,
	"pct10", MarginName, DelayName, URWName, MarginName,
}

// mutantEvery is such that where there are parents, a [Mutant] follows on every third turn.
const mutantEvery = 3

// withMutants returns an order of turns with those of mutants.
func withMutants(turns []string) (mixed []string) {
	for group := range slices.Chunk(turns, mutantEvery) {
		mixed = append(append(mixed, group...), MutantName)
	}
	return mixed
}

// turnsOf returns the order of turns in the first rounds of an adaptive strategy.
func turnsOf(name string, p *Profile) []string {
	switch {
	case name == MarginName:
		return []string{MarginName}
	case len(p.Shifts) > 0:
		return timedPortfolio[:]
	}
	return portfolio[:]
}

// Turns returns the strategies that draw the schedules of a scenario if a campaign has the named
// strategy, in the order of their turns.
func Turns(name string, p *Profile) []string {
	switch {
	case Adaptive(name):
		return turnsOf(name, p)
	case name == RoundRobinName:
		return portfolio[:]
	}
	return []string{name}
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

// Rounds allocate the schedules of a campaign with an adaptive strategy to configurations, and the
// schedules of each configuration to strategies. The first rounds are even, or by the weights of
// the configurations; later rounds favour strategies whose schedules keep showing new behaviour,
// and configurations that show more of it for their steps (as in Fest: Li, Desai and Padhye,
// "Feedback-guided Adaptive Testing of Distributed Systems Designs", NSDI 2026; see [Behaviour]).
// A timing that joins the near misses of its configuration counts as a new behaviour: [Margin] may
// come ever closer to a violation by the same courses of events.
// Half of the schedules are always allocated as in the first rounds, because a strategy that shows
// nothing new may still find the bug.
//
// A round depends on what happened up to the round before the last, so it does not depend on the
// number of workers.
type Rounds struct {
	seed   uint64
	shares []float64 // of the configurations, by their weights

	mu     sync.Mutex
	rounds []round       // by number
	dealt  chan struct{} // closed when there is another round

	// Only one goroutine uses the fields below, except for what never changes.

	scores []configurationScore
	corpus *Corpus
	keeps  bool // schedules that show new behaviour
}

// A round is what its schedules depend on. It is immutable.
type round struct {
	shares         []float64 // of the configurations
	configurations []configurationRound
}

// A configurationRound is what the schedules of a configuration depend on in a round.
type configurationRound struct {
	turns allocation
	near  nearMisses
	cells *rareCells // at which faults aim
}

// An allocation is the order of turns in a round, repeated. It holds indexes of scores.
type allocation [ChunkSchedules]uint8

// A configurationScore is what the schedules of a configuration have shown lately.
type configurationScore struct {
	Configuration
	steps      float64
	fresh      float64 // new behaviours and near misses
	strategies []strategyScore
	near       nearMisses
	cells      []cellScore
	parents    []Parent // never changes
}

// A strategyScore is what a strategy has shown lately in a configuration.
type strategyScore struct {
	name      string
	share     float64 // of the turns that do not depend on new behaviours
	schedules float64
	fresh     float64 // new behaviours and near misses
}

// scoreKept is the part of a score that remains after a round.
const scoreKept = 0.5

// NewRounds returns the rounds of a new campaign with an adaptive strategy. If there is a corpus, a
// quarter of the first schedules of each configuration that has parents there are mutants, and the
// rounds add what is new to it.
func NewRounds(name string, configurations []Configuration, seed uint64, corpus *Corpus) *Rounds {
	t := &Rounds{
		seed: seed, shares: Shares(configurations), dealt: make(chan struct{}),
		corpus: cmp.Or(corpus, new(Corpus)), keeps: corpus != nil,
	}
	parents := t.corpus.parents(len(configurations))
	first := round{shares: t.shares}
	for i, configuration := range configurations {
		turns := turnsOf(name, configuration.Profile)
		if len(parents[i]) > 0 {
			turns = withMutants(turns)
		}
		score := configurationScore{
			Configuration: configuration, parents: parents[i],
			cells: make([]cellScore, configuration.Profile.cells.len()),
		}
		var order allocation
		for i := range order {
			name := turns[i%len(turns)]
			at := slices.IndexFunc(score.strategies,
				func(s strategyScore) bool { return s.name == name })
			if at < 0 {
				at = len(score.strategies)
				score.strategies = append(score.strategies, strategyScore{name: name})
			}
			order[i] = uint8(at)
		}
		setShares(score.strategies, turns)
		first.configurations = append(first.configurations, configurationRound{
			turns: order, cells: configuration.Profile.cells,
		})
		t.scores = append(t.scores, score)
	}
	for range roundsAhead {
		t.rounds = append(t.rounds, first)
	}
	return t
}

// setShares lets [Margin] keep its share of the turns in the first rounds. The other strategies
// have equal shares of the rest.
func setShares(scores []strategyScore, turns []string) {
	timed := 0.0
	for _, name := range turns {
		if name == MarginName {
			timed += 1 / float64(len(turns))
		}
	}
	others := len(scores)
	if timed > 0 {
		others--
	}
	for i := range scores {
		if scores[i].share = timed; scores[i].name != MarginName {
			scores[i].share = (1 - timed) / float64(others)
		}
	}
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

// turn returns the configuration of a schedule, with its part of the round, and the strategy whose
// turn it is.
func (t *Rounds) turn(schedule int) (configuration int, r configurationRound, strategy int) {
	round := t.round(schedule)
	configuration = DrawConfiguration(round.shares, t.seed, schedule)
	r = round.configurations[configuration]
	return configuration, r, int(r.turns[schedule%ChunkSchedules])
}

// Turn returns the configuration of a schedule, and the name of the strategy whose turn it is. The
// schedule must have been awaited.
func (t *Rounds) Turn(schedule int) (configuration int, strategy string) {
	configuration, _, at := t.turn(schedule)
	return configuration, t.scores[configuration].strategies[at].name
}

// Strategy returns the strategy of a schedule, which must have been awaited.
func (t *Rounds) Strategy(schedule int) engine.Strategy {
	configuration, r, at := t.turn(schedule)
	score := &t.scores[configuration]
	switch name := score.strategies[at].name; name {
	case MarginName:
		return NewMargin(score.Profile, r.near, t.seed, schedule)
	case MutantName:
		return NewMutant(score.parents, t.seed, schedule)
	default:
		s := aimedAt(Named(name)(score.Profile, t.seed, schedule), r.cells, t.seed, schedule)
		return Timed(s, score.Profile, t.seed, schedule)
	}
}

// Feedback is what rounds learn from a run.
type Feedback struct {
	steps      int
	behaviours []uint64
	near       *nearMiss          // nil if the run has no margin
	struck     []int              // cells of the profile
	tried      int                // the first cell at which the schedule aimed; -1 if none
	deviations []engine.Deviation // if the schedule may be kept
}

// Feedback returns what the rounds learn from the run of a schedule.
func (t *Rounds) Feedback(schedule int, result *engine.Result) Feedback {
	f := Feedback{steps: result.Steps, behaviours: Behaviour(nil, result.Events), tried: -1}
	if t.keeps {
		f.deviations = slices.Clone(result.Deviations)
	}
	configuration, r, at := t.turn(schedule)
	score := &t.scores[configuration]
	f.struck = score.Profile.cells.struck(&result.Coverage)
	switch score.strategies[at].name {
	case MarginName:
		f.near = nearMissOf(timingOf(score.Profile, r.near, t.seed, schedule), result)
	case MutantName: // It does not aim.
	default:
		if a := drawAim(r.cells, t.seed, schedule); a != nil {
			f.tried = a.tried
		}
	}
	return f
}

// Count notes what a schedule showed and returns how many of its behaviours are new. Schedules are
// counted in order.
func (t *Rounds) Count(schedule int, shown Feedback) int {
	fresh := 0
	for _, b := range shown.behaviours {
		if seen := &t.corpus.Behaviours; seen.Len() < behavioursMax && seen.Add(b) {
			fresh++
		}
	}
	configuration, _, at := t.turn(schedule)
	if t.keeps && fresh > 0 {
		t.corpus.keep(configuration, shown.deviations)
	}
	score, showed := &t.scores[configuration], float64(fresh)
	if shown.near != nil {
		var added bool
		if score.near, added = score.near.with(shown.near); added {
			showed++
		}
	}
	score.steps += float64(shown.steps)
	score.fresh += showed
	for _, cell := range shown.struck {
		score.cells[cell].struck++
	}
	if shown.tried >= 0 {
		score.cells[shown.tried].tried++
	}
	s := &score.strategies[at]
	s.schedules++
	s.fresh += showed
	if (schedule+1)%roundSchedules == 0 {
		t.deal()
	}
	return fresh
}

// deal allocates the next round.
func (t *Rounds) deal() {
	var next round
	rates := make([]float64, len(t.scores))
	for i := range t.scores {
		score := &t.scores[i]
		rates[i] = score.fresh / max(1, score.steps)
		next.configurations = append(next.configurations,
			configurationRound{
				turns: allot(score.strategies), near: score.near,
				cells: score.Profile.cells.weigh(score.cells),
			})
		score.forget()
	}
	next.shares = Favour(t.shares, rates)
	t.mu.Lock()
	t.rounds = append(t.rounds, next)
	close(t.dealt)
	t.dealt = make(chan struct{})
	t.mu.Unlock()
}

// forget lets what was shown in the round count less in later ones.
func (s *configurationScore) forget() {
	s.steps *= scoreKept
	s.fresh *= scoreKept
	for i := range s.strategies {
		s.strategies[i].schedules *= scoreKept
		s.strategies[i].fresh *= scoreKept
	}
}

// Favour returns the mean of the given shares and of shares by the rates.
func Favour(shares, rates []float64) []float64 {
	total := 0.0
	for _, rate := range rates {
		total += rate
	}
	favoured := slices.Clone(shares)
	for i := range favoured {
		if total > 0 {
			favoured[i] = (rates[i]/total + shares[i]) / 2
		}
	}
	return favoured
}

// allot allocates half of a round by fixed shares, and the other half by the new behaviours per
// schedule of each strategy. It spreads the turns of a strategy over the round.
func allot(scores []strategyScore) allocation {
	even, rates := make([]float64, len(scores)), make([]float64, len(scores))
	for i, s := range scores {
		even[i], rates[i] = s.share, s.fresh/max(1, s.schedules)
	}
	weights := Favour(even, rates)
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
