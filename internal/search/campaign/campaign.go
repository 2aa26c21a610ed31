// Package campaign runs a scenario under many schedules, in parallel, with the same result for
// any number of workers.
package campaign

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
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
)

// GCPercent is the garbage collection target percentage for programs that run campaigns. Their live
// heap is small beside what the schedules allocate, above all those on Redis and SQL.
const GCPercent = 200

// A Campaign runs a scenario, or several configurations, under many schedules that strategies draw.
// It ends at the first schedule that violates a property, unless it keeps going.
//
// The schedules and all counts depend on the seed and the bounds, but not on the number of workers:
// results are merged in the order of the schedules' numbers, and results beyond the last one that
// counts are dropped. A bound by time decides how many schedules there are. A schedule that is
// under way when the time or the context ends is cancelled and does not count.
type Campaign struct {
	Scenario scenarios.Scenario
	// Configurations, if set, share the schedules. They differ from Scenario, which is then the
	// first of them, at most in the numbers of clients, cycles and servers and in the fault plan.
	Configurations []Configuration

	Seed      uint64
	Schedules int           // maximum; 0 for no bound
	Budget    time.Duration // maximum time; 0 for no bound
	// States ends the campaign, after the chunk under way, once it has counted that many distinct
	// states, up to [report.StatesMax]; 0 for no bound.
	States   int
	Workers  int    // parallel workers; 0 for 1
	Strategy string // one of [strategy.Names]; default: [strategy.PortfolioName]

	// Range, if set, are the schedules to run: those of a shard, below Schedules. Each of them is
	// the same as in the whole campaign, so the strategy must not be [strategy.Adaptive].
	Range report.Range

	// Seen, if set, is what other schedules have seen. The campaign counts it as if its own
	// schedules had: a set that is full there needs no keys here.
	Seen *report.SeenRecord

	// Corpus, if set, is what earlier campaigns with an adaptive strategy have shown. Their
	// behaviours are not new, their schedules are mutated, and the campaign adds its own.
	Corpus *strategy.Corpus

	// KeepGoing continues after a failure, up to the bounds, and gathers all distinct failures.
	KeepGoing bool

	// RequiredCoverage are the cells in which faults must have struck for the campaign to pass.
	RequiredCoverage []faults.CoverageCell

	// Progress, if set, is called now and then with the report so far. One goroutine at a time
	// calls it, and it must not keep the report.
	Progress func(*report.Campaign)

	factory strategy.Factory
	drawn   []strategy.Configuration
	shares  []float64        // of the configurations, unless the strategy is adaptive
	rounds  *strategy.Rounds // of an adaptive strategy
	capped  *atomic.Bool     // no more states are counted
}

// A chunk is the outcome of consecutive schedules.
type chunk struct {
	report.Campaign
	first  int
	hashes []uint64
	keys   []uint64
	shown  []strategy.Feedback // of an adaptive strategy, by schedule
}

// Run runs the campaign until it finds a violation that ends it, reaches a bound, or the context
// ends.
func (c *Campaign) Run(ctx context.Context, t *testing.T) *report.Campaign {
	began := time.Now()
	defer engine.WarmStacks()()
	bounded, end := report.WithBudget(ctx, c.Budget)
	defer end()
	r := &report.Campaign{Runs: report.Runs{KeptGoing: c.KeepGoing}, Seen: new(report.Seen)}
	if refused := c.prepare(bounded, t); refused != nil {
		r.Failure = &report.Failure{Violations: []*history.Violation{refused}}
		return r
	}
	if c.Seen != nil {
		r.Seen.Merge(c.Seen)
		r.CountSeen()
		c.capped.Store(r.StatesCapped)
	}
	merger := &merger{campaign: c, report: r, waiting: make(map[int]*chunk)}
	chunks := make(chan *chunk, max(1, c.Workers))
	part := c.Part()
	var next atomic.Int64
	next.Store(int64(part.From))
	var workers sync.WaitGroup
	for range max(1, c.Workers) {
		workers.Go(func() {
			runner := engine.NewRunner(t)
			for bounded.Err() == nil {
				first := int(next.Add(strategy.ChunkSchedules)) - strategy.ChunkSchedules
				if part.To > 0 && first >= part.To {
					return
				}
				if c.rounds != nil && !c.rounds.Await(bounded, first) {
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
		if now := time.Now(); c.Progress != nil &&
			now.Sub(lastProgress) >= report.ProgressInterval {
			lastProgress = now
			r.Elapsed = now.Sub(began)
			c.Progress(r)
		}
	}
	r.Elapsed = time.Since(began)
	ran := c.Schedules > 0 && r.Schedules >= c.Planned() // A later signal interrupts nothing.
	r.Interrupted = ctx.Err() != nil && !merger.done && !ran
	merger.salvage()
	return r
}

// prepare looks up the strategy, which must exist, and runs each configuration once to profile it.
// If the context ends meanwhile, the profiles are not valid. It returns why one of these runs
// refused the code: a client that processes share fails otherwise in later runs.
func (c *Campaign) prepare(ctx context.Context, t *testing.T) (refused *history.Violation) {
	if c.Strategy == "" {
		c.Strategy = strategy.PortfolioName
	}
	var err error
	if c.factory, err = strategy.Parse(c.Strategy); err != nil {
		panic(err)
	}
	c.drawn, c.rounds, c.capped = nil, nil, new(atomic.Bool)
	for _, configuration := range c.All() {
		profile := strategy.ProfileOf(ctx, engine.NewRunner(t), &configuration.Scenario)
		if profile.Refused != nil {
			return profile.Refused
		}
		c.drawn = append(c.drawn, strategy.Configuration{
			Profile: profile, Weight: configuration.Weight,
		})
	}
	c.shares = strategy.Shares(c.drawn)
	if c.Part().From > 0 && strategy.Adaptive(c.Strategy) {
		panic("the strategy " + c.Strategy + " needs the outcome of earlier schedules")
	}
	if strategy.Adaptive(c.Strategy) {
		c.rounds = strategy.NewRounds(c.Strategy, c.drawn, c.Seed, c.Corpus)
	}
	return nil
}

// Part returns the range of schedules to run. Its end is 0 if there is no bound.
func (c *Campaign) Part() report.Range {
	if c.Range == (report.Range{}) {
		return report.Range{To: c.Schedules}
	}
	return c.Range
}

// Partial reports whether the report is of a part of the campaign's schedules, or of an exhaustive
// search's. What a campaign should have covered is then judged when the parts are merged.
func (c *Campaign) Partial(found report.Report) bool {
	search, ok := found.(*report.Exhaustive)
	return ok && search.Part != nil || c.Part() != report.Range{To: c.Schedules}
}

// Planned returns how many schedules are run at most, or 0 if there is no bound.
func (c *Campaign) Planned() int { return c.Part().Len() }

// turn returns the index of a schedule's configuration, and the name of the strategy that draws the
// schedule.
func (c *Campaign) turn(schedule int) (configuration int, name string) {
	if c.rounds != nil {
		return c.rounds.Turn(schedule)
	}
	name = c.Strategy
	if name == strategy.RoundRobinName {
		name = strategy.RoundRobin(schedule)
	}
	return strategy.DrawConfiguration(c.shares, c.Seed, schedule), name
}

// strategy returns the strategy of a schedule.
func (c *Campaign) strategy(schedule int) engine.Strategy {
	configuration, name := c.turn(schedule)
	profile := c.drawn[configuration].Profile
	var s engine.Strategy
	if c.rounds != nil {
		s = c.rounds.Strategy(schedule)
	} else {
		s = strategy.Aimed(c.factory(profile, c.Seed, schedule), profile, c.Seed, schedule)
		s = strategy.Timed(s, profile, c.Seed, schedule)
	}
	s = c.withFairSuffix(s, profile, schedule)
	if name == strategy.MarginName || name == strategy.MutantName { // They mutate whole schedules.
		return s
	}
	return strategy.Shaped(s, profile, c.Seed, schedule)
}

// runChunk runs schedules from the first on, up to the first that ends the campaign or the end of
// the context.
// The chunks after one that ended early do not count.
func (c *Campaign) runChunk(ctx context.Context, runner *engine.Runner, first int) *chunk {
	outcome := &chunk{first: first}
	runner.NoKeys = c.capped.Load()
	began, checking := time.Now(), runner.Checking
	defer func() {
		outcome.Effort = report.Effort{
			Running:  time.Since(began),
			Checking: runner.Checking - checking,
		}
	}()
	end := first + strategy.ChunkSchedules
	if to := c.Part().To; to > 0 {
		end = min(end, to)
	}
	result, configurations := new(engine.Result), c.All()
	for schedule := first; schedule < end && ctx.Err() == nil; schedule++ {
		runner.Schedule = schedule
		c.orderGoroutines(runner, schedule)
		at, name := c.turn(schedule)
		scenario := &configurations[at].Scenario
		if runner.RunInto(ctx, scenario, c.strategy(schedule), result); result.Cancelled {
			break
		}
		for i := range result.Margins {
			result.Margins[i].Schedule = schedule
		}
		outcome.hashes = append(outcome.hashes, result.TraceHash)
		outcome.keys = append(outcome.keys, result.Keys...)
		outcome.Add(name, at, result)
		if c.rounds != nil {
			outcome.shown = append(outcome.shown, c.rounds.Feedback(schedule, result))
		}
		confirm := c.judge(outcome, scenario, &report.Failure{
			Schedule: schedule, Strategy: name, Configuration: at,
		}, result)
		switch {
		case confirm: // A failure is confirmed even if the time is over.
			c.runAgain(context.Background(), runner, outcome, scenario, schedule, result)
		case schedule == first:
			c.runAgain(ctx, runner, outcome, scenario, schedule, result)
		}
		if outcome.Failure != nil && !c.KeepGoing {
			break
		}
	}
	return outcome
}

// runAgain runs a schedule a second time, and notes whether it differs.
func (c *Campaign) runAgain(ctx context.Context, runner *engine.Runner, outcome *chunk,
	scenario *scenarios.Scenario, schedule int, result *engine.Result,
) {
	outcome.RunTwice++
	c.orderGoroutines(runner, schedule)
	n := runner.RunAgain(ctx, scenario, schedule, c.strategy(schedule), result)
	if n == nil {
		return
	}
	if outcome.Differing == 0 {
		runner.Locate(ctx, scenario, func() engine.Strategy {
			c.orderGoroutines(runner, schedule)
			return c.strategy(schedule)
		}, n)
	}
	outcome.Differ(n)
	for _, failure := range outcome.failures(schedule) {
		failure.Unstable = true
	}
}

// orderGoroutines lets the next run of the runner have the schedule's order of goroutines.
func (c *Campaign) orderGoroutines(runner *engine.Runner, schedule int) {
	if scheduler.Enabled {
		runner.Goroutines = strategy.Goroutines(c.Seed, schedule)
	}
}

// failures returns the failures of a schedule in the chunk.
func (c *chunk) failures(schedule int) (failures []*report.Failure) {
	if c.Failure != nil && c.Failure.Schedule == schedule {
		failures = append(failures, c.Failure)
	}
	for i := range c.Distinct {
		if first := c.Distinct[i].First; first.Schedule == schedule {
			failures = append(failures, first)
		}
	}
	return failures
}

// judge notes the violations of a schedule, which may be a failure. It reports whether the lock
// failed in a way that is new in the chunk.
func (c *Campaign) judge(outcome *chunk, scenario *scenarios.Scenario, failure *report.Failure,
	result *engine.Result,
) (confirm bool) {
	if len(result.Violations) == 0 {
		return false
	}
	failed := result.Fails(scenario)
	failure.Deviations = slices.Clone(result.Deviations)
	failure.Violations = result.Violations
	failure.OutOfContract = result.OutOfContractViolations(scenario)
	if c.KeepGoing {
		outcome.DistinctOutOfContract.AddOutOfContract(failure)
	}
	if failed {
		outcome.Fail(failure)
		return !c.KeepGoing || outcome.Distinct.Add(failure, result.Events)
	}
	outcome.OutOfContractSchedules++
	if outcome.OutOfContract == nil {
		outcome.OutOfContract = failure
	}
	return false
}

// A merger merges chunks in the order of their schedules.
type merger struct {
	campaign *Campaign
	report   *report.Campaign
	waiting  map[int]*chunk // by number of the first schedule
	done     bool
}

// add takes a chunk and reports whether the campaign is over.
func (m *merger) add(outcome *chunk) bool {
	m.waiting[outcome.first] = outcome
	for !m.done {
		// All chunks before this one are complete, so the next begins where the report ends.
		next, ok := m.waiting[m.campaign.Part().From+m.report.Schedules]
		if !ok {
			return false
		}
		delete(m.waiting, next.first)
		if next.Schedules == 0 {
			return false
		}
		m.merge(next)
	}
	return true
}

// salvage merges the waiting chunks in which something was found, up to what ends the campaign.
// There are waiting chunks only if time ended the campaign and an earlier schedule was cancelled.
func (m *merger) salvage() {
	for _, first := range slices.Sorted(maps.Keys(m.waiting)) {
		if found := m.waiting[first]; !m.done && (found.Failure != nil ||
			found.Nondeterministic != nil || found.OutOfContract != nil) {
			m.merge(found)
		}
	}
}

func (m *merger) merge(next *chunk) {
	r := m.report
	if rounds := m.campaign.rounds; rounds != nil {
		for i, shown := range next.shown {
			schedule := next.first + i
			configuration, name := rounds.Turn(schedule)
			fresh := rounds.Count(schedule, shown)
			next.Stats(name).Behaviours += fresh
			next.Configuration(configuration).Behaviours += fresh
		}
	}
	r.Append(&next.Campaign)
	for _, hash := range next.hashes {
		r.Seen.AddHistory(hash)
	}
	r.Seen.AddStates(next.keys)
	r.CountSeen()
	m.campaign.capped.Store(r.StatesCapped)
	m.done = r.Failure != nil && !r.KeptGoing ||
		m.campaign.States > 0 && r.States >= m.campaign.States
}
