package exhaustive

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/sim"
)

// A search by deviations can be divided into parts that know nothing of each other. The schedules
// with a bound on deviations are the nodes of a tree: the root follows the default policy, and the
// children of a schedule deviate once more, after its last deviation. The search visits them in
// preorder. Each subtree gets a span of numbers. Its first schedule has the lowest of them, and the
// subtrees of that schedule's children divide the rest, by their estimated sizes. A part runs
// the schedules whose numbers are in its share of the numbers from 0 to 1 (Mezmaz, Melab and Talbi,
// "A Grid-enabled Branch and Bound Algorithm for Solving Challenging Combinatorial Optimization
// Problems", IPDPS 2007).
//
// A schedule's number depends only on the runs of the schedules from which it deviates. So all
// parts agree on it, and each schedule is in exactly one part, however wrong the estimates are:
// they decide only how equal the parts are. A part skips the subtrees outside of it. It runs a
// schedule of another part only where it has to know its steps to find its own first schedule: at
// most one for each deviation.

// A span are the numbers of the schedules of a subtree, both included. Subtrees that are too small
// for the precision of the numbers share one.
type span struct{ from, to float64 }

// A division is the part of the schedules with one bound on deviations that a search runs.
type division struct {
	share   span // of the part; its end belongs to the next part
	node    span // of the run under way
	base    int  // how many frames the run under way shares with the one from which it deviates
	guiding int  // runs of other parts so far
	edges   report.Edges
}

// newDivision returns the division of a shard.
func newDivision(s report.Shard) *division {
	d := &division{node: span{0, 1}}
	d.share.from = float64(s.Index) / float64(s.Of)
	if d.share.to = float64(s.Index+1) / float64(s.Of); s.Index+1 == s.Of {
		d.share.to = math.Inf(1)
	}
	return d
}

// guides reports whether the run under way belongs to another part.
func (d *division) guides() bool { return d != nil && d.node.from < d.share.from }

// backtrackInPart returns to the last frame with a step that leads to schedules of the part. It
// returns false if there is none.
func (x *dfs) backtrackInPart() bool {
	d := x.division
	if d.guides() {
		d.guiding++
	}
	x.divide()
	for n := len(x.path); n > 0; n-- {
		for b := &x.path[n-1]; len(b.rest) > 0; {
			node := b.spans[0]
			b.step, b.rest, b.spans = b.rest[0], b.rest[1:], b.spans[1:]
			if node.from >= d.share.from && d.edges.Begin == nil {
				d.edges.Begin = deviationsOf(x.path[:n])
			}
			if node.from >= d.share.to {
				d.edges.End = deviationsOf(x.path[:n])
				return false
			}
			leaf := b.deviations+1 == x.bound
			if node.to < d.share.from || leaf && node.from < d.share.from {
				continue
			}
			x.shorten(n)
			d.node, d.base = node, n
			return true
		}
	}
	return false
}

// divide divides the span of the last run among the steps to be tried in its frames, in the order
// in which they will be.
func (x *dfs) divide() {
	d := x.division
	if len(x.path) <= d.base {
		return
	}
	later := choices{
		deviations: x.bound - 1 - x.path[d.base].deviations,
		faults:     x.faultsLeft(x.path[:d.base]),
	}
	total := 1.0 // estimated number of schedules
	for i := len(x.path) - 1; i >= d.base; i-- {
		total = later.extend(&x.path[i], total)
	}
	place := func(before float64) float64 {
		return min(d.node.to, d.node.from+(d.node.to-d.node.from)*(before/total))
	}
	for i := range x.path[d.base:] {
		for j := range x.path[d.base+i].spans {
			s := &x.path[d.base+i].spans[j]
			s.from, s.to = place(s.from), place(s.to)
		}
	}
}

// choices are the steps by which a schedule can deviate from a run, after some step of it.
type choices struct {
	deviations, faults int // how many more deviations, and faults among them, there may be
	steps, strikes     int // that are no faults, and that are
}

// extend adds the choices in a frame before the others. It sets the spans of its steps in numbers
// of schedules that come before and after them, of which there are so many before those of the
// frame, and returns how many there are then.
func (c *choices) extend(b *frame, before float64) (after float64) {
	b.spans = make([]span, len(b.rest))
	for j, step := range b.rest {
		after = before + c.continuations(step)
		b.spans[j] = span{before, after}
		before = after
	}
	for _, step := range b.rest {
		if step.Kind == sim.Fault {
			c.strikes++
		} else {
			c.steps++
		}
	}
	return before
}

// continuations estimates how many schedules deviate first by a step: as if they had the same
// choices then.
func (c *choices) continuations(step sim.Step) (schedules float64) {
	faults := c.faults
	switch step.Kind {
	case sim.Fair: // No step follows.
		return 1
	case sim.Fault:
		faults--
	}
	strikes := 1.0 // ways to choose that many faults
	for n := 0; n <= min(faults, c.deviations, c.strikes); n++ {
		if n > 0 {
			strikes *= float64(c.strikes-n+1) / float64(n)
		}
		others := 1.0 // ways to choose that many other steps
		for m := 0; m <= min(c.deviations-n, c.steps); m++ {
			if m > 0 {
				others *= float64(c.steps-m+1) / float64(m)
			}
			schedules += strikes * others
		}
	}
	return max(1, schedules)
}

// faultsLeft returns how many faults the plan allows after a path, if each of them was one of it.
func (x *dfs) faultsLeft(path []frame) (left int) {
	for _, entry := range x.search.Scenario.Faults.Entries() {
		left += int(entry.Left)
	}
	for i := range path {
		if path[i].step.Kind == sim.Fault {
			left--
		}
	}
	return left
}

// deviationsOf returns the deviations of a path.
func deviationsOf(path []frame) []engine.Deviation {
	deviations := []engine.Deviation{}
	for i := range path {
		if b := &path[i]; b.step != b.defaultStep {
			deviations = append(deviations, engine.Deviation{Index: i, Step: b.step})
		}
	}
	return deviations
}

// A level is the search of a part with one bound on deviations.
type level struct {
	bound    int
	before   int // schedules of the part with lower bounds
	states   *states
	division *division
}

// first returns the number of the first schedule of a level, or 0 without one.
func (l *level) first() int {
	if l == nil {
		return 0
	}
	return l.before
}

// runPart runs the part with each bound on deviations.
func (e *Search) runPart(ctx context.Context, t *testing.T) *report.Exhaustive {
	part := &report.Part{Shard: e.Shard}
	r := &report.Exhaustive{
		Runs: report.Runs{KeptGoing: e.KeepGoing}, Scope: e.Scope(), Part: part,
	}
	var known []uint64
	all := newStates(0)
	for bound := 1; bound <= e.MaxDeviations; bound++ {
		one, d := *e, newDivision(e.Shard)
		if e.Shard.Index == 0 {
			d.edges.Begin = []engine.Deviation{}
		}
		one.MaxDeviations = bound
		one.level = &level{bound: bound, before: r.Schedules, states: all, division: d}
		if e.Progress != nil {
			one.Progress = func(now *report.Exhaustive) {
				shown := *now
				shown.Schedules += r.Schedules
				shown.Elapsed += r.Elapsed
				e.Progress(&shown)
			}
		}
		done := one.Run(ctx, t)
		r.Append(done)
		r.States, part.Guiding = all.len(), part.Guiding+d.guiding
		keys := all.seen.Sorted()
		fresh := slices.DeleteFunc(slices.Clone(keys), func(key uint64) bool {
			_, old := slices.BinarySearch(known, key)
			return old
		})
		known = keys
		part.Levels = append(part.Levels,
			report.Level{Exhaustive: *done, Edges: d.edges, Keys: fresh})
		if !done.Covered {
			return r
		}
		r.Deviations = bound
	}
	r.Cover(e.MaxDeviations)
	return r
}
