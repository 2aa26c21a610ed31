package strategy

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// A nearMiss is a timing with the margin of its run.
type nearMiss struct {
	margin time.Duration
	timing *timing
}

// nearMissOf returns the timing of a run with its margin, or nil if the run had no timing or no
// holder's session ended.
func nearMissOf(t *timing, result *engine.Result) *nearMiss {
	m := &result.Margins[check.LossToGrant]
	if t == nil || m.Times == 0 {
		return nil
	}
	return &nearMiss{margin: m.Smallest, timing: t}
}

// nearMissesMax is how many timings are kept.
const nearMissesMax = 12

// nearMisses are the timings with the smallest margins, ascending. There is one for each margin, so
// that equal timings do not displace all others.
type nearMisses []*nearMiss

// with returns the timings with one more, and does not change the receiver. Of two with the same
// margin it keeps the later, so that a search leaves a plateau. It reports whether the margin is
// new among them.
func (n nearMisses) with(near *nearMiss) (all nearMisses, added bool) {
	at, found := slices.BinarySearchFunc(n, near, func(a, b *nearMiss) int {
		return cmp.Compare(a.margin, b.margin)
	})
	switch {
	case found:
		n = slices.Clone(n)
		n[at] = near
		return n, false
	case at == nearMissesMax:
		return n, false
	}
	n = slices.Insert(slices.Clone(n), at, near)
	return n[:min(len(n), nearMissesMax)], true
}
