package scenarios

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/stateset"
)

// A Campaign runs a scenario under many schedules that strategies draw. It ends at the first
// schedule that violates a property.
//
// The schedules and all counts depend on the seed and the bounds, but not on the number of workers:
// results are merged in the order of the schedules' numbers, and results beyond the last one that
// counts are dropped. A bound by time decides how many schedules there are. A schedule that is
// under way when the time or the context ends is cancelled and does not count.
type Campaign struct {
	Scenario  Scenario
	Seed      uint64
	Schedules int           // maximum; 0 for no bound
	Budget    time.Duration // maximum time; 0 for no bound
	// States ends the campaign, after the chunk under way, once it has counted that many distinct
	// states, up to [StatesMax]; 0 for no bound.
	States   int
	Workers  int    // parallel workers; 0 for 1
	Strategy string // one of [StrategyNames]; default: [PortfolioStrategy]

	// RequiredCoverage are the cells in which faults must have struck for the campaign to pass.
	RequiredCoverage []faults.CoverageCell

	// Progress, if set, is called now and then with the report so far. One goroutine at a time
	// calls it, and it must not keep the report.
	Progress func(*Report)

	factory StrategyFactory
	profile *Profile
	rounds  *rounds      // of a portfolio
	capped  *atomic.Bool // no more states are counted
}

// A Report is what a search has found.
type Report struct {
	Schedules int
	Steps     int
	States    int    // distinct state keys; in an exhaustive search, those stored
	Depth     int    // decisions of the longest schedule
	Histories int    // of a campaign: distinct histories, counted up to 2^17
	Digest    uint64 // over the trace hashes of all schedules in order
	Coverage  FaultCoverage
	Targeted  TargetCoverage
	Elapsed   time.Duration
	// Strategies are the schedules of each strategy of a campaign, in the order of their first
	// turns.
	Strategies []StrategyStats

	// Totals are what the schedules of a campaign tested; of an exhaustive search, only Unknown.
	Totals Totals
	// OutOfContract is the first schedule with a violation that the lock's contract does not
	// exclude; see [Scenario.OutOfContract].
	OutOfContract          *Failure
	OutOfContractSchedules int // number of such schedules
	// Unsettled is how many schedules reached a bound of time or steps with requests in flight; see
	// [Result].
	Unsettled int
	Effort    Effort

	StatesCapped     bool            // there were more states than were counted
	Interrupted      bool            // the context ended before the bounds were reached
	Failure          *Failure        // the first schedule that violates a property
	Nondeterministic *Nondeterminism // a schedule that differed when it was run again

	// Of an exhaustive search.
	Exhaustive      bool
	Complete        bool   // no schedule is left; see Reach
	Granted         bool   // a process was granted the lock in some schedule
	FairSuffixes    bool   // the fair phase was begun in every state
	Scope           string // of a complete search: what it covered; see [Exhaustive]
	LocalHistories  int    // in the replay cache; 0 without one
	Validated       int    // schedules validated with live processes
	MemoryExhausted bool   // the memory limit was reached
	Unsaved         error  // why the checkpoint could not be written or removed
	Transitions     int    // steps between states
	// Deviations is, of a search by deviations, the number up to which all schedules were run.
	Deviations int
	Untried    int // known steps that were not tried
	CutOff     int // schedules too long to be followed to their end
}

// StrategyStats are the schedules of a campaign that one strategy drew.
type StrategyStats struct {
	Strategy  string `json:"strategy"`
	Schedules int    `json:"schedules"`
	// Behaviours counts the behaviours that no schedule before had shown; only of a portfolio.
	Behaviours int `json:"behaviours"`
	// it drew the schedule that failed
	Failed bool `json:"found"` // the schedule that failed
}

// A Failure is a schedule that violates a property.
type Failure struct {
	Schedule   int    // its number in the campaign
	Strategy   string // the name of the strategy that drew it
	Deviations []Deviation
	Violations []*history.Violation
	// OutOfContract are the violations that the lock's contract does not exclude; see
	// [Scenario.OutOfContract].
	OutOfContract []*history.Violation
}

const (
	// chunkSchedules is how many schedules a worker takes at a time.
	chunkSchedules = 64
	// StatesMax bounds how many states a campaign counts, and the memory for that to 16 MB.
	StatesMax = 1 << 20
	// historiesMax bounds the memory for counting distinct histories to 2 MB.
	historiesMax = 1 << 17
	// progressEvery is how often progress is reported.
	progressEvery = 500 * time.Millisecond
)

// A chunk is the outcome of consecutive schedules.
type chunk struct {
	first                  int
	hashes                 []uint64
	keys                   []uint64
	shown                  [][]uint64 // of a portfolio: the behaviours of each schedule
	steps                  int
	depth                  int
	coverage               FaultCoverage
	targeted               TargetCoverage
	totals                 Totals
	effort                 Effort
	outOfContract          *Failure
	outOfContractSchedules int
	unsettled              int
	failure                *Failure
	nondet                 *Nondeterminism
}

// Run runs the campaign until it finds a violation, reaches a bound, or the context ends.
func (c *Campaign) Run(ctx context.Context, t *testing.T) *Report {
	began := time.Now()
	defer holdStacks()()
	bounded, end := within(ctx, c.Budget)
	defer end()
	c.prepare(bounded, t)
	report := &Report{}
	merger := &merger{
		campaign: c, report: report, waiting: make(map[int]*chunk),
		states: stateset.New(StatesMax), traces: stateset.New(historiesMax),
	}
	chunks := make(chan *chunk, max(1, c.Workers))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range max(1, c.Workers) {
		workers.Go(func() {
			runner := NewRunner(t)
			for bounded.Err() == nil {
				first := int(next.Add(chunkSchedules)) - chunkSchedules
				if c.Schedules > 0 && first >= c.Schedules {
					return
				}
				if c.rounds != nil && !c.rounds.await(bounded, first) {
					return
				}
				chunks <- c.runChunk(bounded, runner, first)
			}
		})
	}
	go func() { workers.Wait(); close(chunks) }()
	lastProgress := began
	for outcome := range chunks {
		if merger.add(outcome) {
			end()
		}
		if now := time.Now(); c.Progress != nil && now.Sub(lastProgress) >= progressEvery {
			lastProgress = now
			report.Elapsed = now.Sub(began)
			c.Progress(report)
		}
	}
	report.Elapsed = time.Since(began)
	report.Interrupted = ctx.Err() != nil && !merger.done
	merger.salvage()
	return report
}

// prepare looks up the strategy, which must exist, and runs the scenario once to profile it. If the
// context ends meanwhile, there is no profile.
func (c *Campaign) prepare(ctx context.Context, t *testing.T) {
	if c.Strategy == "" {
		c.Strategy = PortfolioStrategy
	}
	var err error
	if c.factory, err = ParseStrategy(c.Strategy); err != nil {
		panic(err)
	}
	c.profile, c.rounds = NewRunner(t).profileWithin(ctx, &c.Scenario), nil
	c.capped = new(atomic.Bool)
	if c.Strategy == PortfolioStrategy {
		c.rounds = newRounds()
	}
}

// strategy returns the strategy of a schedule.
func (c *Campaign) strategy(schedule int) Strategy {
	maker := c.factory
	if c.rounds != nil {
		maker = named(c.rounds.strategy(schedule))
	}
	return c.withFairSuffix(maker(c.profile, c.Seed, schedule), schedule)
}

// strategyName returns the name of the strategy that draws a schedule.
func (c *Campaign) strategyName(schedule int) string {
	if c.rounds != nil {
		return c.rounds.strategy(schedule)
	}
	return c.Strategy
}

// runChunk runs schedules from the first on, up to the first that fails or the end of the context.
// The chunks after one that ended early do not count.
func (c *Campaign) runChunk(ctx context.Context, runner *Runner, first int) *chunk {
	outcome := &chunk{first: first}
	runner.noKeys = c.capped.Load()
	began, checking := time.Now(), runner.checking
	defer func() {
		outcome.effort = Effort{time.Since(began), runner.checking - checking}
	}()
	end := first + chunkSchedules
	if c.Schedules > 0 {
		end = min(end, c.Schedules)
	}
	result := new(Result)
	for schedule := first; schedule < end && ctx.Err() == nil; schedule++ {
		if runner.run(ctx, &c.Scenario, c.strategy(schedule), result); result.cancelled {
			break
		}
		outcome.hashes = append(outcome.hashes, result.TraceHash)
		outcome.keys = append(outcome.keys, result.Keys...)
		outcome.steps += result.Steps
		outcome.depth = max(outcome.depth, result.Steps)
		if c.rounds != nil {
			outcome.shown = append(outcome.shown, behaviour(nil, result.Events))
		}
		outcome.coverage.Add(&result.Coverage)
		outcome.targeted.Add(&result.Targeted)
		outcome.totals.add(result)
		if result.Unsettled {
			outcome.unsettled++
		}
		failed := c.judge(outcome, schedule, result)
		switch {
		case failed: // A failure is confirmed even if the time is over.
			outcome.nondet = runner.again(context.Background(), &c.Scenario, schedule,
				c.strategy(schedule),
				result)
		case schedule == first:
			outcome.nondet = runner.again(ctx, &c.Scenario, schedule, c.strategy(schedule), result)
		}
		if failed || outcome.nondet != nil {
			break
		}
	}
	return outcome
}

// judge notes the violations of a schedule and reports whether the lock failed.
func (c *Campaign) judge(outcome *chunk, schedule int, result *Result) (failed bool) {
	if len(result.Violations) == 0 {
		return false
	}
	failed = c.Scenario.Fails(result)
	failure := &Failure{
		Schedule: schedule, Strategy: c.strategyName(schedule),
		Deviations: slices.Clone(result.Deviations),
		Violations: result.Violations, OutOfContract: c.Scenario.outOfContract(result),
	}
	if failed {
		outcome.failure = failure
		return true
	}
	outcome.outOfContractSchedules++
	if outcome.outOfContract == nil {
		outcome.outOfContract = failure
	}
	return false
}

// A merger merges chunks in the order of their schedules.
type merger struct {
	campaign *Campaign
	report   *Report
	waiting  map[int]*chunk // by number of the first schedule
	states   stateset.Set
	traces   stateset.Set
	done     bool
}

// add takes a chunk and reports whether the campaign is over.
func (m *merger) add(outcome *chunk) bool {
	m.waiting[outcome.first] = outcome
	for !m.done {
		// All chunks before this one are complete, so the next begins where the report ends.
		next, ok := m.waiting[m.report.Schedules]
		if !ok {
			return false
		}
		delete(m.waiting, next.first)
		if len(next.hashes) == 0 {
			return false
		}
		m.merge(next)
	}
	return true
}

// salvage merges the waiting chunks in which something was found, up to the first failure. There
// are waiting chunks only if time ended the campaign and an earlier schedule was cancelled.
func (m *merger) salvage() {
	for _, first := range slices.Sorted(maps.Keys(m.waiting)) {
		if found := m.waiting[first]; !m.done && (found.failure != nil || found.nondet != nil ||
			found.outOfContract != nil) {
			m.merge(found)
		}
	}
}

func (m *merger) merge(next *chunk) {
	r := m.report
	for i := range next.hashes {
		share := r.statsOf(m.campaign.strategyName(next.first + i))
		share.Schedules++
		if turns := m.campaign.rounds; turns != nil {
			share.Behaviours += turns.count(next.first+i, next.shown[i])
		}
	}
	r.Schedules += len(next.hashes)
	r.Steps += next.steps
	r.Depth = max(r.Depth, next.depth)
	r.Coverage.Add(&next.coverage)
	r.Targeted.Add(&next.targeted)
	r.Totals.merge(&next.totals)
	r.Effort.Running += next.effort.Running
	r.Effort.Checking += next.effort.Checking
	for _, hash := range next.hashes {
		r.Digest = (r.Digest^hash)*0x9e3779b97f4a7c15 + 1
		if m.traces.Len() < historiesMax {
			m.traces.Add(hash)
		}
	}
	r.Histories = m.traces.Len()
	m.states.Prefetch(next.keys)
	for _, key := range next.keys {
		if m.states.Len() == StatesMax {
			r.StatesCapped = true
			m.campaign.capped.Store(true)
			break
		}
		m.states.Add(key)
	}
	r.States = m.states.Len()
	r.OutOfContractSchedules += next.outOfContractSchedules
	r.Unsettled += next.unsettled
	if r.OutOfContract == nil {
		r.OutOfContract = next.outOfContract
	}
	r.Failure, r.Nondeterministic = next.failure, next.nondet
	m.done = next.failure != nil || next.nondet != nil || m.campaign.States > 0 &&
		r.States >= m.campaign.States
	if next.failure != nil {
		r.statsOf(next.failure.Strategy).Failed = true
	}
}

// statsOf returns the statistics of a strategy.
func (r *Report) statsOf(strategy string) *StrategyStats {
	for i := range r.Strategies {
		if r.Strategies[i].Strategy == strategy {
			return &r.Strategies[i]
		}
	}
	r.Strategies = append(r.Strategies, StrategyStats{Strategy: strategy})
	return &r.Strategies[len(r.Strategies)-1]
}

// again runs a schedule a second time and compares the events with those of the first run.
func (r *Runner) again(ctx context.Context, scenario *Scenario, schedule int, strategy Strategy,
	first *Result,
) *Nondeterminism {
	events := slices.Clone(first.Events)
	hash := first.TraceHash
	second := r.runWithin(ctx, scenario, strategy)
	if second.cancelled || second.TraceHash == hash {
		return nil
	}
	difference := differenceOf(events, second.Events)
	difference.Schedule = schedule
	return difference
}

// within returns a context that ends when the budget, if there is one, is spent.
func within(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if budget > 0 {
		return context.WithTimeout(ctx, budget)
	}
	return context.WithCancel(ctx)
}
