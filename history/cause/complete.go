package cause

import (
	"cmp"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// Complete adds the events that explain the others to events that are shown, in order: the return
// of each shown call, and the grant and the release of each hold during which an event is shown,
// for processes that have a shown event. It adds no event after the last one, unless the end of the
// history is shown too.
func (g *Graph) Complete(show []int, toEnd bool) []int {
	if len(show) == 0 {
		return show
	}
	last := show[len(show)-1]
	if toEnd {
		last = len(g.Events) - 1
	}
	in, processes := make(map[int]bool, len(show)), make(map[int32]bool)
	for _, i := range show {
		in[i] = true
		processes[g.Events[i].Process] = true
	}
	calls := g.calls(last)
	for again := true; again; {
		again = false
		for _, c := range calls {
			shown := in[c.from]
			if c.hold && processes[c.process] { // The process has a lane, which shows the hold.
				n, _ := slices.BinarySearch(show, c.from)
				shown = n < len(show) && show[n] < c.to || toEnd && c.to > last
			}
			for _, i := range []int{c.from, c.to} {
				if shown && i <= last && !in[i] {
					in[i], again = true, true
					n, _ := slices.BinarySearch(show, i)
					show = slices.Insert(show, n, i)
				}
			}
		}
	}
	return show
}

// An interval reaches from a call to its return, or from a grant to the release of a hold.
type interval struct {
	process  int32
	from, to int // events; to is after the last one if the interval does not end
	hold     bool
}

// calls returns the calls and the holds that begin before an event, in the order of their ends.
func (g *Graph) calls(last int) []interval {
	var found []interval
	open := make(map[int32]int) // the call of each process, plus one
	held := make(map[int32]int) // the grant of each process, plus one
	release := func(p int32, i int) {
		if held[p] > 0 {
			found = append(found, interval{p, held[p] - 1, i, true})
			held[p] = 0
		}
	}
	for i := range g.Events[:last+1] {
		e := &g.Events[i]
		p := e.Process
		switch e.Kind {
		case history.LockCall, history.UnlockCall, history.ReenterCall:
			open[p] = i + 1
			continue
		case history.LockReturn:
			if e.Err != "" {
				release(p, i)
			} else if held[p] == 0 {
				held[p] = i + 1
			}
		case history.UnlockReturn, history.Crashed, history.Finished:
			release(p, i)
		case history.ReenterReturn, history.Exited:
		default:
			continue
		}
		if open[p] > 0 {
			found = append(found, interval{p, open[p] - 1, i, false})
			open[p] = 0
		}
	}
	for p := range g.program {
		release(p, last+1)
	}
	slices.SortFunc(found, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
	})
	return found
}
