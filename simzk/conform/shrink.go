package conform

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

const (
	// maxAttempts limits the rounds spent on shrinking.
	maxAttempts = 500
	// lastSteps is the number of steps shown if the difference is not reproduced.
	lastSteps = 20
)

// reproduce repeats the steps up to a difference and removes as many as possible. before is the
// number of operations before the round.
//
// It first pipelines steps, which is faster, and then executes the remaining ones one by one, which
// identifies the cause better. It returns an error if a round fails, but not if the context ends:
// the difference remains valid.
func (d *differ) reproduce(steps []step, found *Difference, before int) (*Difference, error) {
	stats := d.stats
	defer func() { d.stats = stats }()
	d.stats.Ops, d.stats.Codes = map[wire.Op]int{}, map[wire.Code]int{}

	s := &shrinker{
		steps: steps[:min(found.Operation, len(steps))], found: found,
		attemptsLeft: maxAttempts,
	}
	reproduced := false
	var failed error
	for _, oneByOne := range []bool{false, true} {
		if !oneByOne && d.options.OneByOne {
			continue
		}
		s.run = func(steps []step) *Difference {
			found, err := d.runRound(steps, oneByOne)
			if err != nil {
				failed, s.attemptsLeft = err, 0
				return nil
			}
			return found
		}
		if s.try(s.steps) {
			s.shrink()
			reproduced = true
			s.found.Together = !oneByOne
		}
	}
	if failed != nil && d.ctx.Err() == nil {
		return nil, failed
	}
	s.found.Operation, s.found.Reproduced = before+found.Operation, reproduced
	if !reproduced {
		s.found.Steps = s.found.Steps[max(0, len(s.found.Steps)-lastSteps):]
	}
	return s.found, nil
}

// A shrinker removes steps while the difference remains.
type shrinker struct {
	run          func([]step) *Difference
	attemptsLeft int // remaining attempts
	steps        []step
	found        *Difference
}

// try adopts the steps if they show a difference.
func (s *shrinker) try(steps []step) bool {
	if s.attemptsLeft == 0 {
		return false
	}
	s.attemptsLeft--
	found := s.run(steps)
	if found == nil {
		return false
	}
	s.steps, s.found = steps[:min(found.Operation, len(steps))], found
	return true
}

// shrink removes kinds of steps, then chunks of decreasing size from the end until no single step
// can be removed (like ddmin by Zeller and Hildebrandt), and then operations of multis.
func (s *shrinker) shrink() {
	s.removeKinds(func(s step) string { return fmt.Sprint("client ", s.client) })
	s.removeKinds(func(s step) string {
		if s.request == nil {
			return fmt.Sprint("action ", s.action)
		}
		return operation.Name(s.request.Op)
	})
	s.removeKinds(func(s step) string {
		if s.request == nil {
			return ""
		}
		return s.request.Path
	})
	for size := len(s.steps) / 2; size > 0; size /= 2 {
		for reproduced := true; reproduced; {
			reproduced = s.removeChunks(size) && size == 1
		}
	}
	s.removeOperations()
}

// removeKinds removes, for each kind, all of its steps.
func (s *shrinker) removeKinds(kind func(step) string) {
	tried := map[string]bool{}
	for i := 0; i < len(s.steps); i++ {
		this := kind(s.steps[i])
		if tried[this] {
			continue
		}
		tried[this] = true
		others := slices.DeleteFunc(slices.Clone(s.steps),
			func(s step) bool { return kind(s) == this })
		if s.try(others) {
			i = -1
		}
	}
}

// removeChunks removes chunks of size steps where possible.
func (s *shrinker) removeChunks(size int) bool {
	success := false
	for end := len(s.steps); end > 0; end -= size {
		end = min(end, len(s.steps))
		if s.try(slices.Concat(s.steps[:max(end-size, 0)], s.steps[end:])) {
			success = true
		}
	}
	return success
}

// removeOperations removes operations of multis.
func (s *shrinker) removeOperations() {
	for i := 0; i < len(s.steps); i++ {
		for j := 0; i < len(s.steps) && s.steps[i].request != nil &&
			j < len(s.steps[i].request.Ops); {
			smaller := slices.Clone(s.steps)
			request := *s.steps[i].request
			request.Ops = slices.Delete(slices.Clone(request.Ops), j, j+1)
			smaller[i].request = &request
			if !s.try(smaller) {
				j++
			}
		}
	}
}
