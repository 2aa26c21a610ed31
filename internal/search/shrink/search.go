package shrink

import (
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

const (
	// randomSchedules is how many random schedules of a smaller scenario are tried.
	randomSchedules = 500
	// sparseSchedules is how many random schedules are tried with each number of switches from 2
	// to sparseMax.
	sparseSchedules = 1000
	sparseMax       = 3
	// searchCost bounds the cost of each of these searches.
	searchCost = 400_000
	// pairsCost bounds the cost of trying pairs of deviations.
	pairsCost = 1_500_000
)

// search looks for the failure in another scenario, which has other schedules.
func (s *shrinker) search(scenario scenarios.Scenario) bool {
	defer s.searchAnywhere()()
	name := scenario.String()
	if s.searched[name] {
		return false
	}
	s.searched[name] = true
	return s.single(scenario) || s.held(scenario) || s.random(scenario) ||
		s.sparse(scenario, sparseMax)
}

// searchHere looks for a smaller schedule of the present scenario.
func (s *shrinker) searchHere() bool {
	defer s.searchAnywhere()()
	fewer := s.size[units] - 1
	return fewer > 0 && s.single(s.scenario) || fewer > 1 && (s.held(s.scenario) || s.pairs() ||
		s.sparse(s.scenario, min(fewer, sparseMax)))
}

// otherFault looks for a schedule with one fault of another kind that needs less besides.
func (s *shrinker) otherFault() bool {
	defer s.searchAnywhere()()
	scenario := s.scenario
	scenario.Faults = s.plan
	if s.size[faultCount] != 1 || s.size[switches] == 0 || s.searched[scenario.String()] {
		return false
	}
	s.searched[scenario.String()] = true
	return s.single(scenario) || s.size[switches] > 1 && s.held(scenario)
}

// budget returns a function that reports whether the search that begins now may go on.
func (s *shrinker) budget(cost int) (remains func() bool) {
	until := min(s.cost+cost, SearchCostMax)
	return func() bool { return s.cost < until }
}

// random tries random schedules.
func (s *shrinker) random(scenario scenarios.Scenario) bool {
	remains := s.budget(searchCost)
	for i := 0; i < randomSchedules && remains(); i++ {
		if s.try(scenario, strategy.NewRandom(0, i)) {
			return true
		}
	}
	return false
}

// single tries every schedule with one deviation.
func (s *shrinker) single(scenario scenarios.Scenario) bool {
	remains := s.budget(searchCost)
	survey := new(survey)
	if s.try(scenario, survey) {
		return true
	}
	for _, d := range survey.others {
		if !remains() {
			return false
		}
		if s.replay(scenario, []engine.Deviation{d}) {
			return true
		}
	}
	return s.fairPhase && s.fairAfter(scenario, nil)
}

// pairs tries every schedule with two deviations. If the present schedule has a fault, so have
// these, as the first of the two.
func (s *shrinker) pairs() bool {
	if s.size[faultCount] > 1 {
		return false
	}
	remains := s.budget(pairsCost)
	scenario, first := s.scenario, new(survey)
	s.try(scenario, first)
	for _, one := range first.others {
		if (one.Step.Kind == sim.Fault) != (s.size[faultCount] > 0) {
			continue
		}
		second := &survey{Replay: engine.Replay{Deviations: []engine.Deviation{one}}}
		s.try(scenario, second)
		for _, other := range second.others {
			if !remains() {
				return false
			}
			if s.replay(scenario, []engine.Deviation{one, other}) {
				return true
			}
		}
	}
	return false
}

// sparse tries random schedules with few switches, the fewest first.
func (s *shrinker) sparse(scenario scenarios.Scenario, switchesMax int) bool {
	remains := s.budget(searchCost)
	for n := 2; n <= switchesMax; n++ {
		for i := 0; i < sparseSchedules && remains(); i++ {
			if s.try(scenario, &sparse{
				source: strategy.NewRandom(uint64(n), i), left: n, horizon: len(s.steps),
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
