package shrink

import (
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/strategy"
	"github.com/interlock-sim/interlock/sim"
)

const (
	// randomSchedules is how many random schedules of a smaller scenario are tried.
	randomSchedules = 500
	// sparseSchedules is how many schedules are tried with each number of deviations up to
	// sparseMax.
	sparseSchedules = 1000
	sparseMax       = 3
	// searchCost bounds the cost of each of these searches.
	searchCost = 400_000
	// pairsCost bounds the cost of trying pairs of deviations.
	pairsCost = 1_500_000
)

// search looks for the failure in another scenario, which has other schedules.
func (s *shrinker) search(scenario engine.Scenario) bool {
	name := scenario.String()
	if s.searched[name] {
		return false
	}
	s.searched[name] = true
	return s.single(scenario) || s.held(scenario) || s.random(scenario) || s.sparser(scenario, sparseMax)
}

// otherFault looks for a schedule that needs only one fault of another kind, or such a fault and
// time.
func (s *shrinker) otherFault() bool {
	scenario := s.scenario
	scenario.Faults = s.plan
	if s.size[faultCount] != 1 || s.size[switches] == 0 || s.searched[scenario.String()] {
		return false
	}
	s.searched[scenario.String()] = true
	return s.single(scenario) || s.size[switches] > 1 && s.held(scenario)
}

// afford returns a function that reports whether the search that begins now may go on.
func (s *shrinker) afford(cost int) func() bool {
	until := min(s.cost+cost, searchCostMax)
	return func() bool { return s.cost < until }
}

// random tries random schedules.
func (s *shrinker) random(scenario engine.Scenario) bool {
	may := s.afford(searchCost)
	for i := 0; i < randomSchedules && may(); i++ {
		if s.try(scenario, strategy.NewRandom(0, i)) {
			return true
		}
	}
	return false
}

// single tries every schedule with one deviation.
func (s *shrinker) single(scenario engine.Scenario) bool {
	may := s.afford(searchCost)
	survey := new(survey)
	if s.try(scenario, survey) {
		return true
	}
	for _, d := range survey.others {
		if !may() {
			return false
		}
		if s.replay(scenario, []engine.Deviation{d}) {
			return true
		}
	}
	return s.fairPhase && s.fairAfter(scenario, nil)
}

// pairs tries every schedule with two deviations, if the present one has more. If it has a fault,
// so have these, as the first of the two.
func (s *shrinker) pairs() bool {
	if s.size[units] < 3 || s.size[faultCount] > 1 {
		return false
	}
	may := s.afford(pairsCost)
	scenario, first := s.scenario, new(survey)
	s.try(scenario, first)
	for _, one := range first.others {
		if (one.Step.Kind == sim.Fault) != (s.size[faultCount] > 0) {
			continue
		}
		second := &survey{Replay: engine.Replay{Deviations: []engine.Deviation{one}}}
		s.try(scenario, second)
		for _, other := range second.others {
			if !may() {
				return false
			}
			if s.replay(scenario, []engine.Deviation{one, other}) {
				return true
			}
		}
	}
	return false
}

// sparser looks for a schedule of the scenario with fewer deviations, the fewest first. (This is
// delay-bounded search, sampled; see [strategy.Sparse].)
func (s *shrinker) sparser(scenario engine.Scenario, deviations int) bool {
	if deviations > 0 && s.single(scenario) || deviations > 1 && s.held(scenario) {
		return true
	}
	horizon := len(s.steps)
	may := s.afford(searchCost)
	for n := 2; n <= min(deviations, sparseMax); n++ {
		for i := 0; i < sparseSchedules && may(); i++ {
			if s.try(scenario, &sparse{
				source: strategy.NewRandom(uint64(n), i), left: n, horizon: horizon,
				fair: s.fair(),
			}) {
				return true
			}
		}
	}
	return false
}

// fair reports whether the schedule begins the fair phase.
func (s *shrinker) fair() bool {
	last := len(s.deviations) - 1
	return last >= 0 && s.deviations[last].Step.Kind == sim.Fair
}
