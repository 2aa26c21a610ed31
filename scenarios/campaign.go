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
)

// A Campaign is many runs of a scenario with strategies that draw their schedules. It ends at the
// first schedule that breaks a property.
//
// Which schedules run, and all that is counted, depends on the seed and the bounds alone and not on
// the number of workers: results are merged in the order of the schedules' numbers, and what was
// run beyond the last that counts is thrown away. A bound by time is the exception, as it decides
// how many schedules there are. A schedule that is under way when the time is over, or the context
// ends, is abandoned and counts nowhere.
type Campaign struct {
	Scenario  Scenario
	Seed      uint64
	Schedules int           // how many at most; 0 for no bound
	Budget    time.Duration // for how long at most; 0 for no bound
	// end, with the chunk under way, once there are so many distinct states, up to StatesMax; 0 for
	// no bound
	States   int
	Workers  int    // how many run at the same time; 0 for 1
	Strategy string // one of [StrategyNames]; [PortfolioStrategy] unless set

	// where faults must have landed for the campaign to say anything
	RequiredCoverage []faults.CoverageCell

	// Progress, if set, is told now and then how far the campaign is. It is called by one goroutine
	// at a time and must not keep the report.
	Progress func(*Report)

	factory StrategyFactory
	profile *Profile
	rounds  *rounds      // of a portfolio
	capped  *atomic.Bool // no more states are counted
}

// A Report is what a campaign has found.
type Report struct {
	Schedules int
	Steps     int
	States    int    // distinct state keys; of an exhaustive search those that it has stored
	Depth     int    // of the longest schedule, in decisions
	Histories int    // of a campaign: distinct ones, counted up to 2^17
	Digest    uint64 // over the trace hashes of all schedules, in order
	Coverage  FaultCoverage
	Targeted  TargetCoverage
	Elapsed   time.Duration
	// of a campaign: how many schedules each strategy has drawn, in the order of their first turns
	Strategies []StrategyStats

	// of a campaign: what its schedules have tested; of an exhaustive search only what is unknown
	Totals Totals
	// the first schedule that broke what the lock does not promise there: see
	// [Scenario.OutOfContract]
	OutOfContract          *Failure
	OutOfContractSchedules int // how many schedules have
	// schedules that ended at a bound of time or steps while requests were under way; see [Result]
	Unsettled int
	Effort    Effort

	StatesCapped     bool            // there were more states than were counted
	Interrupted      bool            // the context ended before the bounds were reached
	Failure          *Failure        // the first schedule that broke a property
	Nondeterministic *Nondeterminism // a schedule that did not run the same way twice

	// Of an exhaustive search.
	Exhaustive     bool
	Complete       bool   // there is no schedule left; see Reach
	Granted        bool   // somebody was granted the lock in a schedule
	FairSuffixes   bool   // the fair phase was begun in every state
	Scope          string // of a complete search: what it has gone through; see [Exhaustive]
	LocalHistories int    // of processes that the search has met; 0 of a live search
	// schedules that were performed for real, to see that they come to the same
	Validated       int
	MemoryExhausted bool  // the bound by memory was reached
	Unsaved         error // why the checkpoint could not be written or removed
	Transitions     int   // steps from one state to another
	// all schedules were run that deviate from the default policy at most so often; of a search by
	// deviations
	Deviations int
	Untried    int // steps that are known and have not been tried
	CutOff     int // schedules that were too long to be followed to their end
}

// A StrategyStats is the part of a campaign that one strategy had.
type StrategyStats struct {
	Strategy  string `json:"strategy"`
	Schedules int    `json:"schedules"`
	// that none of the schedules before has shown; only of a portfolio
	Behaviours int  `json:"behaviours"`
	Failed     bool `json:"found"` // the schedule that failed
}

// A Failure is a schedule that breaks a property.
type Failure struct {
	Schedule   int    // its number in the campaign
	Strategy   string // the name of the strategy that drew it
	Deviations []Deviation
	Violations []*history.Violation
	// those of them that the lock does not promise to prevent there; see [Scenario.OutOfContract]
	OutOfContract []*history.Violation
}

const (
	// chunkSchedules is how many schedules a worker takes at a time.
	chunkSchedules = 64
	// StatesMax is how many states a campaign counts, which bounds the memory that it takes for
	// that to 16 MB.
	StatesMax = 1 << 20
	// historiesMax bounds the memory that counting distinct histories takes, to 2 MB.
	historiesMax = 1 << 17
	// progressEvery is how often progress is reported.
	progressEvery = 500 * time.Millisecond
)

// A chunk is the outcome of consecutive schedules.
type chunk struct {
	first                  int
	hashes                 []uint64
	keys                   []uint64
	shown                  [][]uint64 // of a portfolio: what each schedule has shown; see behaviour
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

// Run runs the campaign until it has found something, a bound is reached or the context ends.
func (c *Campaign) Run(ctx context.Context, t *testing.T) *Report {
	began := time.Now()
	defer holdStacks()()
	bounded, end := within(ctx, c.Budget)
	defer end()
	c.prepare(bounded, t)
	report := &Report{}
	merger := &merger{
		campaign: c, report: report, waiting: make(map[int]*chunk),
		states: newStateSet(StatesMax), traces: newStateSet(historiesMax),
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

// prepare looks the strategy up, which must be one of those that there are, and runs the scenario
// once to profile it. If the context ends meanwhile there is no profile, and no time for a
// schedule.
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

// runChunk runs the schedules from the first on, up to the first that fails or the end of the
// context. Of the chunks after one that ended early nothing counts.
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
		case failed: // What was found is made sure of, however little time is left.
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

// judge takes note of what a schedule has broken, and tells whether the lock has failed by that.
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

// A merger puts the outcomes of chunks together in the order of their schedules.
type merger struct {
	campaign *Campaign
	report   *Report
	waiting  map[int]*chunk // by the number of the first schedule
	states   stateSet
	traces   stateSet
	done     bool
}

// add takes an outcome in and tells whether the campaign is over.
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

// salvage takes in the outcomes among those that wait in which something was found, up to the first
// failure. There are some only where time has ended the campaign, and a schedule before was
// abandoned.
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
		if m.traces.count < historiesMax {
			m.traces.add(hash)
		}
	}
	r.Histories = m.traces.count
	m.states.prefetch(next.keys)
	for _, key := range next.keys {
		if m.states.count == StatesMax {
			r.StatesCapped = true
			m.campaign.capped.Store(true)
			break
		}
		m.states.add(key)
	}
	r.States = m.states.count
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

// statsOf returns the statsOf of a strategy.
func (r *Report) statsOf(strategy string) *StrategyStats {
	for i := range r.Strategies {
		if r.Strategies[i].Strategy == strategy {
			return &r.Strategies[i]
		}
	}
	r.Strategies = append(r.Strategies, StrategyStats{Strategy: strategy})
	return &r.Strategies[len(r.Strategies)-1]
}

// again runs a schedule a second time and compares it, event by event, with the first, unless the
// context ends before.
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

// within returns a context that ends when the budget is spent, if there is one.
func within(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if budget > 0 {
		return context.WithTimeout(ctx, budget)
	}
	return context.WithCancel(ctx)
}
