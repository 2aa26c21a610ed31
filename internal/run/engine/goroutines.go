package engine

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/scheduler"
	"github.com/interlock-sim/interlock/sim"
)

// A GoroutineStrategy is a strategy that also decides in which order the goroutines of a process
// run, in a program in which that can be decided; see package scheduler.
type GoroutineStrategy interface {
	// ChooseGoroutine returns the index of one of at least two steps of the kind [sim.Wake] or
	// [sim.Case], or [Prune]. Index is the number of decisions before this one in the run. The
	// default policy takes the first step.
	ChooseGoroutine(index int, choices []sim.EnabledStep) int
}

// control starts to decide the order of goroutines, if that is possible, and returns the function
// that ends it. It takes the first choice until there is a loop: clients have goroutines and timers
// before that.
func control(loop **Loop) (end func()) {
	if !scheduler.Enabled {
		return func() {}
	}
	go schedule(loop)
	scheduler.Begin()
	return scheduler.End
}

// schedule is the goroutine that chooses which goroutine runs next. It runs only while all others
// of the bubble are blocked.
func schedule(loop **Loop) {
	for {
		n, kind := scheduler.Next()
		if kind == scheduler.Done {
			return
		}
		choice := 0
		if l := *loop; n > 1 && l != nil && !l.ending {
			choice = l.chooseGoroutine(min(n, sim.ChoicesMax), kind)
		}
		scheduler.Take(choice)
	}
}

// chooseGoroutine asks the strategy for a choice, which is a decision of the schedule. It ends the
// run if the strategy prunes it or panics.
func (l *Loop) chooseGoroutine(n int, kind scheduler.Kind) (chosen int) {
	step := sim.Step{Kind: sim.Wake}
	if kind == scheduler.Cases {
		step.Kind = sim.Case
	}
	l.choices = l.choices[:0]
	for i := range n {
		step.Peer = uint8(i + 1)
		l.choices = append(l.choices, sim.EnabledStep{Step: step})
	}
	defer func() {
		if r := recover(); r != nil {
			l.ending, l.thrown, chosen = true, r, 0
		}
	}()
	if !l.fair && l.goroutines != nil {
		chosen = l.goroutines.ChooseGoroutine(l.steps, l.choices)
	}
	if chosen == Prune {
		l.ending, l.result.Pruned = true, true
		return 0
	}
	if chosen = max(0, chosen); chosen != 0 { // The fair phase begins only between steps.
		l.result.Deviations = append(l.result.Deviations,
			Deviation{Index: l.steps, Step: l.choices[chosen].Step})
	}
	if l.log.GathersFacts() {
		l.result.Starts = append(l.result.Starts, len(l.log.Events()))
	}
	l.recorder.Decide(l.steps, l.choices[chosen].Step, chosen != 0)
	l.steps++
	l.progress.Add(1)
	if l.stop != nil && l.steps == l.stop.steps {
		l.standStill(l.choices[chosen].Step)
	}
	l.touchGoroutine(uint64(n)<<16 | uint64(chosen)<<8 | uint64(step.Kind))
	return chosen
}

// act notes which process the present step concerns, by the number of one of its threads or
// connections. Goroutines that the step starts, such as those of a context that ends, compete with
// the others of the process.
func (l *Loop) act(number int32) {
	l.acting = number
	if number > 0 {
		l.acting, _ = history.ProcessOf(number)
	}
	scheduler.Join(max(0, l.acting))
}

// touchGoroutine adds a choice to the timeline of the process that takes part in the present step,
// or of all processes if time passes.
func (l *Loop) touchGoroutine(choice uint64) {
	for _, p := range l.Processes {
		if l.acting <= 0 || l.acting == int32(p.Number) {
			p.timeline = hash64.Mix(p.timeline, choice<<32)
		}
	}
}

// aborted reports whether the strategy has ended the run while goroutines ran. It panics with what
// the strategy panicked with.
func (l *Loop) aborted() bool {
	if l.thrown != nil {
		panic(l.thrown)
	}
	return l.result.Pruned
}
