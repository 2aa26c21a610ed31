package conform

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

const (
	// attempts is how many epochs may be spent on leaving steps out.
	attempts = 500
	// lastSteps is how many steps are shown of a difference that has not shown again.
	lastSteps = 20
)

// reproduce does the steps up to a difference again and leaves out as many as possible. So many
// operations preceded the epoch.
//
// Sending operations together is faster; sending the few that are left one by one tells better
// which of them it is. The error is that of an epoch that could not be done, unless the context has
// ended: the difference is none the less one.
func (d *differ) reproduce(steps []step, found *Difference, before int) (*Difference, error) {
	stats := d.stats
	defer func() { d.stats = stats }()
	d.stats.Ops, d.stats.Codes = map[wire.Op]int{}, map[wire.Code]int{}

	s := &shrinker{steps: steps[:min(found.Operation, len(steps))], found: found, left: attempts}
	again := false
	var failed error
	for _, careful := range []bool{false, true} {
		if !careful && d.options.OneByOne {
			continue
		}
		s.fails = func(steps []step) *Difference {
			found, err := d.epoch(steps, careful)
			if err != nil {
				failed, s.left = err, 0
				return nil
			}
			return found
		}
		if s.try(s.steps) {
			s.shrink()
			again = true
			s.found.Together = !careful
		}
	}
	if failed != nil && d.ctx.Err() == nil {
		return nil, failed
	}
	s.found.Operation, s.found.Reproduced = before+found.Operation, again
	if !again {
		s.found.Steps = s.found.Steps[max(0, len(s.found.Steps)-lastSteps):]
	}
	return s.found, nil
}

// A shrinker leaves out steps as long as there is a difference.
type shrinker struct {
	fails func([]step) *Difference
	left  int // attempts
	steps []step
	found *Difference
}

// try keeps steps that show a difference.
func (s *shrinker) try(steps []step) bool {
	if s.left == 0 {
		return false
	}
	s.left--
	found := s.fails(steps)
	if found == nil {
		return false
	}
	s.steps, s.found = steps[:min(found.Operation, len(steps))], found
	return true
}

// shrink leaves out whole kinds of steps, and then ever fewer steps at a time, from the end, until
// no single one can be left out.
func (s *shrinker) shrink() {
	s.kinds(func(s step) string { return fmt.Sprint("client ", s.client) })
	s.kinds(func(s step) string {
		if s.request == nil {
			return fmt.Sprint("action ", s.action)
		}
		return s.request.Op.String()
	})
	s.kinds(func(s step) string {
		if s.request == nil {
			return ""
		}
		return s.request.Path
	})
	for size := len(s.steps) / 2; size > 0; size /= 2 {
		for again := true; again; {
			again = s.chunks(size) && size == 1
		}
	}
	s.operations()
}

// kinds leaves out all steps that have a kind in common, one kind after the other.
func (s *shrinker) kinds(kind func(step) string) {
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

// chunks leaves out steps, so many at a time, wherever it can.
func (s *shrinker) chunks(size int) bool {
	success := false
	for end := len(s.steps); end > 0; end -= size {
		end = min(end, len(s.steps))
		if s.try(slices.Concat(s.steps[:max(end-size, 0)], s.steps[end:])) {
			success = true
		}
	}
	return success
}

// operations leaves out operations of multis.
func (s *shrinker) operations() {
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
