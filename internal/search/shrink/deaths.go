package shrink

import (
	"context"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
)

// Deaths are the runs of a shrinker that end the program, by number. A shrinker performs its runs
// in an order that depends only on their results. So a program that begins anew after the death of
// its predecessor, and knows in which run that was, performs the same runs up to there, and then
// goes on.
type Deaths struct {
	Known map[int]*engine.Death // the first run, number 0, is one of them
	Runs  int                   // shrinking ends before the run of this number; 0 for no bound
	Tries int                   // how often a schedule is run before it counts as harmless

	present *engine.Death // of the last run, or nil
}

// deathCostMax bounds the cost of runs that do not end the program. They are performed again after
// each death.
const deathCostMax = costMax / 10

// Deadly shrinks a schedule that ends the program, as [Shrink] does. It returns how the smaller
// schedule does so. The program may die in any run that is not known. The number of the run is the
// flight's schedule.
func Deadly(ctx context.Context, r *engine.Runner, scenario scenarios.Scenario,
	deviations []engine.Deviation, signature string, deaths *Deaths,
) (scenarios.Scenario, []engine.Deviation, *engine.Death) {
	s := newShrinker(ctx, r, scenario, deviations, signature, deathCostMax)
	s.deaths = deaths
	s.start()
	return s.outcome(), s.deviations, s.death
}

// perform performs a run of the recorder. It returns nil if no more runs are allowed.
func (s *shrinker) perform(scenario *scenarios.Scenario) *engine.Result {
	d := s.deaths
	if d == nil {
		return s.runner.RunWithin(s.ctx, scenario, &s.recorder)
	}
	if d.present = d.Known[s.runs]; d.present != nil {
		return s.runner.RunToDeath(scenario, &s.recorder, d.present)
	}
	if d.Runs > 0 && s.runs >= d.Runs {
		s.cost = s.costMax
		return nil
	}
	s.runner.Schedule = s.runs
	result := s.runner.RunWithin(s.ctx, scenario, &s.recorder)
	for again := 1; again < d.Tries; again++ {
		other := s.again()
		other.Run(scenario, &engine.Replay{Deviations: result.Deviations})
	}
	return result
}

// again returns a runner for the same schedule.
func (s *shrinker) again() *engine.Runner {
	if s.second == nil {
		s.second = s.runner.Sibling()
	}
	s.second.Schedule = s.runs
	return s.second
}

// last returns the death of the last run, or nil.
func (d *Deaths) last() *engine.Death {
	if d == nil {
		return nil
	}
	return d.present
}
