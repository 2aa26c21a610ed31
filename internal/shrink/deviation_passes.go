package shrink

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/sim"
)

// fewerDeviations tries to remove deviations, and reports whether it could.
func (s *shrinker) fewerDeviations() bool {
	return s.dropUseless() || s.dropChunks() || s.dropSegment() || s.joinSegments() ||
		s.shortenTicks() || s.earlierFair()
}

// dropUseless drops the deviations after the violation.
func (s *shrinker) dropUseless() bool {
	kept := 0
	for kept < len(s.deviations) && s.deviations[kept].Index < s.useful {
		kept++
	}
	return kept < len(s.deviations) && s.dropped(kept, len(s.deviations))
}

// dropChunks drops chunks of units, of halving size, which is the first half of delta debugging
// (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 2002).
func (s *shrinker) dropChunks() (any bool) {
	bounds := s.unitBounds()
	for size := len(bounds); size >= 1; size /= 2 {
		// From the end: what comes early decides what the rest means.
		for end := len(bounds); end > 0; end -= size {
			first := bounds[max(0, end-size)]
			if s.dropped(first[0], bounds[end-1][1]) {
				any, bounds = true, s.unitBounds()
				end = min(end, len(bounds))
			}
		}
	}
	return any
}

// unitBounds returns where the units of the schedule begin and end among its deviations.
func (s *shrinker) unitBounds() (bounds [][2]int) {
	from := 0
	for _, segment := range segments(s.steps, s.deviations) {
		for _, unit := range segment.units() {
			bounds = append(bounds, [2]int{from, from + len(unit)})
			from += len(unit)
		}
	}
	return bounds
}

// dropped tries the schedule without some deviations.
func (s *shrinker) dropped(from, to int) bool {
	return s.replay(s.scenario, slices.Concat(s.deviations[:from], s.deviations[to:]))
}

// dropSegment leaves the steps of a segment, or one of its deviations, to the default policy, and
// keeps the order of all others.
func (s *shrinker) dropSegment() bool {
	for _, segment := range slices.Backward(segments(s.steps, s.deviations)) {
		if len(segment.deviations) == 0 {
			continue
		}
		if s.follow(s.scenario, slices.Delete(slices.Clone(s.steps), segment.from, segment.to)) {
			return true
		}
		for _, d := range segment.deviations {
			if s.follow(s.scenario, slices.Delete(slices.Clone(s.steps), d.Index, d.Index+1)) {
				return true
			}
		}
	}
	return false
}

// joinSegments moves the steps of a segment next to those of another one of the same process.
func (s *shrinker) joinSegments() bool {
	var chosen []segment
	for _, segment := range segments(s.steps, s.deviations) {
		if len(segment.deviations) > 0 && !segment.fault() {
			chosen = append(chosen, segment)
		}
	}
	for i, moved := range chosen {
		for j, other := range chosen {
			if i != j && other.continues(moved.first) &&
				s.follow(s.scenario, joined(s.steps, moved, other)) {
				return true
			}
		}
	}
	return false
}

// joined moves the steps of a segment behind an earlier one, or before a later one.
func joined(steps []sim.Step, moved, other segment) []sim.Step {
	part := slices.Clone(steps[moved.from:moved.to])
	if other.from < moved.from {
		return slices.Concat(steps[:other.to], part, steps[other.to:moved.from], steps[moved.to:])
	}
	return slices.Concat(steps[:moved.from], steps[moved.to:other.from], part, steps[other.from:])
}

// earlierFair begins the fair phase earlier, if the failure is one of that phase.
func (s *shrinker) earlierFair() bool {
	return s.fairPhase && s.fairAfter(s.scenario, s.deviations)
}

// oneMinimal drops deviations until the schedule fails with all of them only. Unlike the other
// passes it drops them even if the rest has more switches.
func (s *shrinker) oneMinimal() {
	for from := 0; from < len(s.deviations); {
		from = 0
		for _, unit := range s.unitBounds() {
			rest := slices.Concat(s.deviations[:unit[0]], s.deviations[unit[1]:])
			if s.dropAnyway(rest) {
				break
			}
			from = unit[1]
		}
	}
}

// dropAnyway keeps the schedule with these deviations if it fails, whatever its switches.
func (s *shrinker) dropAnyway(rest []engine.Deviation) bool {
	scenario := s.scenario
	result := s.run(&scenario, &engine.Replay{Deviations: rest})
	if result == nil || !s.same(&scenario, result) {
		return false
	}
	size := s.sizeOf(&scenario, result)
	s.keep(scenario, result, size)
	return true
}

// shortenTicks keeps only the first ticks of a run of them, or only the last.
func (s *shrinker) shortenTicks() bool {
	for _, bounds := range s.unitBounds() {
		from, to := bounds[0], bounds[1]
		for kept := 1; kept < to-from; kept++ {
			if s.dropped(from+kept, to) || s.dropped(from, to-kept) {
				return true
			}
		}
	}
	return false
}
