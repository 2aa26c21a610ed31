package strategy

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A nearMiss is a schedule with the margin of its run.
type nearMiss struct {
	margin time.Duration
	shifts []engine.Deviation // the phases of timers, which come first
	rest   []engine.Deviation // with indexes that do not count the shifts
}

// nearMissOf returns the schedule of a run, up to its fair phase, or nil if no holder's session
// ended.
func nearMissOf(result *engine.Result) *nearMiss {
	m := &result.Margins[check.LossToGrant]
	if m.Times == 0 {
		return nil
	}
	deviations := result.Deviations
	if n := len(deviations); n > 0 && deviations[n-1].Step.Kind == sim.Fair {
		deviations = deviations[:n-1]
	}
	deviations = slices.Clone(deviations)
	shifts := 0
	for shifts < len(deviations) && deviations[shifts].Step.Kind == sim.Shift {
		shifts++
	}
	near := &nearMiss{
		margin: m.Smallest, shifts: deviations[:shifts:shifts], rest: deviations[shifts:],
	}
	for i := range near.rest {
		near.rest[i].Index -= shifts
	}
	return near
}

// nearMissesMax is how many schedules are kept.
const nearMissesMax = 32

// nearMisses are the schedules with the smallest margins, ascending. There is one for each margin,
// so that equal schedules do not displace all others.
type nearMisses []*nearMiss

// with returns the schedules with one more, and does not change the receiver. Of two schedules with
// the same margin it keeps the shorter, or the later if they are equally long, so that a search
// leaves a plateau.
func (n nearMisses) with(near *nearMiss) nearMisses {
	at, found := slices.BinarySearchFunc(n, near, func(a, b *nearMiss) int {
		return cmp.Compare(a.margin, b.margin)
	})
	switch {
	case at == nearMissesMax || found && len(n[at].rest) < len(near.rest):
		return n
	case found:
		n = slices.Clone(n)
		n[at] = near
		return n
	}
	n = slices.Insert(slices.Clone(n), at, near)
	return n[:min(len(n), nearMissesMax)]
}
