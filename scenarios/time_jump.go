package scenarios

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// A timeJump is time that passes, tick by tick, until something has happened: a transaction,
// something that a process has done, or a step that could not be taken before. A client that has
// tried in vain to connect is something only where its link could be healed. Where nothing is bound
// to happen a timeJump is a single tick.
type timeJump struct {
	active bool // way
	zxid   int64
	steps  []Step // that could be taken before
}

// begin notes what the leap begins with, in the state before its first tick.
func (l *timeJump) begin(loop *loop, enabled []EnabledStep) {
	l.active, l.zxid = true, loop.cluster.Zxid()
	l.steps = possible(l.steps[:0], enabled)
}

// continues tells, in the state after a tick, whether nothing has happened yet. The events from the
// given one on are those of the tick.
func (l *timeJump) continues(loop *loop, enabled []EnabledStep, from int) bool {
	if !l.active {
		return false
	}
	l.active = (len(l.steps) == 0 || loop.awaitsTime()) && loop.cluster.Zxid() == l.zxid &&
		slices.Equal(possible(nil, enabled), l.steps) &&
		!slices.ContainsFunc(loop.log.Events()[from:],
			func(e history.Event) bool { return e.Kind <= history.Finished || l.changed(&e) })
	return l.active
}

// changed tells whether an event is that of a client that has tried in vain to connect, and that
// could have succeeded if its link had been healed before.
func (l *timeJump) changed(e *history.Event) bool {
	return e.Kind == history.SessionState &&
		slices.ContainsFunc(l.steps, func(s Step) bool {
			return s.Kind == Heal &&
				s.Process == e.Process
		})
}

// possible appends the steps among the options that are neither ticks nor faults.
func possible(steps []Step, enabled []EnabledStep) []Step {
	for i := range enabled {
		if enabled[i].Kind < Tick {
			steps = append(steps, enabled[i].Step)
		}
	}
	return steps
}

func tickOf(enabled []EnabledStep) int {
	return slices.IndexFunc(enabled, func(o EnabledStep) bool { return o.Kind == Tick })
}
