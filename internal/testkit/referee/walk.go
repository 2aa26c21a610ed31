package referee

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// This file runs schedules within the scope of a search. It selects their steps from the enabled
// steps of a run and from what the programs say of their timers, independently of the search. In
// every state any step may come next, except that time passes only
//
//   - if no other step is enabled, or if no message is in flight, no process is about to enter its
//     critical section, and something waits for time; see [engine.View.AwaitsTime];
//   - elsewhere as often as the search allows idle ticks;
//   - until something happens: a step is enabled that was not before, a process acts or its timer
//     fires, the service stores something else, or its data expire.
//
// The scope of the search contains other schedules too.

// A pace selects the steps that stay within the scope.
type pace struct {
	lock  *Lock
	view  engine.View
	idle  int  // idle ticks so far
	tick  bool // the last step was a tick, an idle one if idling
	stops bool // the last tick ended where a timer fires or data expire
	// idling jumps over what awaits time only if data expire
	idling bool
	before moment
}

// A moment is what a tick must not pass over, where the tick began.
type moment struct {
	steps        []sim.Step // enabled, except ticks and faults
	transactions int64
	events       int
	clock        int
}

// Watch begins a run.
func (p *pace) Watch(v engine.View) {
	p.view, p.idle, p.tick, p.idling = v, 0, false, false
	p.lock.clock.reset()
}

// epoch is when a run begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (p *pace) now(steps []sim.Step) moment {
	return moment{
		steps, p.view.Transactions(), len(p.view.Events()),
		p.lock.clock.happened(epoch.Add(p.view.Now())),
	}
}

// happened reports whether something has happened since the tick began.
func (p *pace) happened(now *moment) bool {
	return !slices.Equal(now.steps, p.before.steps) || now.transactions != p.before.transactions ||
		now.clock != p.before.clock ||
		slices.ContainsFunc(p.view.Events()[p.before.events:], func(e history.Event) bool {
			return e.Kind <= history.Finished || e.Kind == history.KeyExpired ||
				e.Kind == history.SessionState && slices.ContainsFunc(now.steps,
					func(s sim.Step) bool {
						return s.Kind == sim.Heal && (s.Process == e.Process || s.Process <= 0)
					})
		})
}

// choices returns the indexes of the steps within the scope, those of faults last. There is at
// least one.
func (p *pace) choices(enabled []sim.EnabledStep) (indexes []int) {
	messages, tick := false, -1
	var steps []sim.Step
	for i := range enabled {
		o := &enabled[i]
		switch o.Kind {
		case sim.Tick:
			tick = i
			continue
		case sim.Fault:
			continue
		case sim.Serve, sim.Deliver, sim.Enter, sim.Log, sim.Apply:
			messages = true
		}
		steps = append(steps, o.Step)
	}
	now, waits := p.now(steps), p.view.AwaitsTime()
	jumps := len(steps) == 0 || waits && (!p.idling || !p.lock.expires() || p.view.Expires())
	if p.tick && jumps && !p.stops && !p.view.Reached() && !p.happened(&now) {
		p.before.events = now.events
		return []int{tick}
	}
	p.tick, p.idling, p.before = false, len(steps) > 0 && (messages || !waits), now
	for i := range enabled {
		if i != tick || !p.idling || p.idle < p.lock.Search.IdleTicks {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// take chooses a step, and returns what [engine.Strategy.Choose] returns. Time passes to the first
// instant at which code of a process can act or data expire.
func (p *pace) take(enabled []sim.EnabledStep, i int) int {
	step := enabled[i].Step
	ticks := step.Kind == sim.Tick
	if ticks {
		step, p.stops = p.view.Pass()
	}
	if !p.tick { // Otherwise the jump goes on.
		if p.tick = ticks; ticks && p.idling {
			p.idle++
		}
	}
	if step.Unlisted() {
		return engine.Ask(step)
	}
	return i
}

// A randomWalk draws random schedules within the scope. Each process, and each kind of step, has a
// rate of its own in each run, and one process may be late for long.
type randomWalk struct {
	pace
	source *rand.Rand
	odds   int // a fault is considered in one of odds decisions
	kinds  [sim.Fault]int
	late   int32 // the process, 0 for none
	fair   int   // the fair phase begins at one of fair decisions, 0 for never
}

// newRandomWalk returns the walk with that number, which seeds it.
func newRandomWalk(l *Lock, number int) *randomWalk {
	source := rand.New(rand.NewPCG(uint64(number), 1))
	w := &randomWalk{pace: pace{lock: l}, source: source, odds: 2 << source.IntN(5)}
	for kind := range w.kinds {
		w.kinds[kind] = 1 << (2 * source.IntN(3))
	}
	if number%2 == 0 { // In half of the walks all steps are alike.
		for kind := range w.kinds {
			w.kinds[kind] = 1
		}
	}
	w.late = int32(source.IntN(l.Clients + 2))
	if l.Search.FairSuffixes {
		w.fair = 8 << source.IntN(3)
	}
	return w
}

// Choose implements [engine.Strategy].
func (w *randomWalk) Choose(_ int, enabled []sim.EnabledStep, _ int) int {
	indexes := w.choices(enabled)
	first := slices.IndexFunc(indexes,
		func(i int) bool { return enabled[i].Kind == sim.Fault })
	switch {
	case !w.tick && w.fair > 0 && w.source.IntN(w.fair) == 0:
		return engine.BeginFair
	case first < 0:
		first = len(indexes)
	case first == 0 || w.source.IntN(w.odds) == 0:
		return w.take(enabled, indexes[first+w.source.IntN(len(indexes)-first)])
	}
	return w.take(enabled, w.draw(enabled, indexes[:first]))
}

// ChooseGoroutine implements [engine.GoroutineStrategy].
func (w *randomWalk) ChooseGoroutine(_ int, choices []sim.EnabledStep) int {
	return w.source.IntN(len(choices))
}

// lateness is how much less often the late process moves than it would.
const lateness = 64

// draw draws a step by the rates.
func (w *randomWalk) draw(enabled []sim.EnabledStep, indexes []int) int {
	rate := func(i int) int {
		o := &enabled[i]
		process, _ := history.ProcessOf(o.Process)
		if process == w.late && w.late > 0 {
			return w.kinds[o.Kind]
		}
		return w.kinds[o.Kind] * lateness
	}
	total := 0
	for _, i := range indexes {
		total += rate(i)
	}
	left := w.source.IntN(total)
	for _, i := range indexes {
		if left -= rate(i); left < 0 {
			return i
		}
	}
	panic("referee: no step drawn") // impossible: the rates add up to the total
}

// An enumeration runs all schedules within the scope in turn, without any reduction or stored
// states.
type enumeration struct {
	pace
	path []choicePoint
}

// A choicePoint is a decision on the path, and the number of its choices.
type choicePoint struct{ taken, choices int }

// Choose implements [engine.Strategy].
func (e *enumeration) Choose(index int, enabled []sim.EnabledStep, _ int) int {
	indexes := e.choices(enabled)
	return e.take(enabled, indexes[e.follow(index, len(indexes))])
}

// ChooseGoroutine implements [engine.GoroutineStrategy].
func (e *enumeration) ChooseGoroutine(index int, choices []sim.EnabledStep) int {
	return e.follow(index, len(choices))
}

// follow follows the path, and takes the first choice beyond.
func (e *enumeration) follow(index, choices int) int {
	if index == len(e.path) {
		e.path = append(e.path, choicePoint{0, choices})
	}
	return e.path[index].taken
}

// next advances to the next schedule, and reports whether there is one.
func (e *enumeration) next() bool {
	for n := len(e.path) - 1; n >= 0; n-- {
		if b := &e.path[n]; b.taken+1 < b.choices {
			b.taken++
			e.path = e.path[:n+1]
			return true
		}
	}
	return false
}
