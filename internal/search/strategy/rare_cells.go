package strategy

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// rareCells are the cells of the fault coverage table at which schedules aim, rare ones more often.
// They are immutable.
type rareCells struct {
	cells   []faults.CoverageCell
	weights []float64
	total   float64 // of the weights
}

// draw draws the index of a cell by its weight.
func (r *rareCells) draw(draw *Random) int {
	const parts = 1 << 32
	at, last := float64(draw.Below(parts))/parts*r.total, len(r.cells)-1
	for i, weight := range r.weights[:last] {
		if at -= weight; at < 0 {
			return i
		}
	}
	return last
}

// A cellScore counts how often a fault struck in a cell, and how many schedules aimed at it first.
type cellScore struct{ struck, tried float64 }

// tryWeight is what a try without success counts beside a fault that struck. Cells that no schedule
// can reach then get three times as many tries as cells that each schedule reaches, and no more.
const tryWeight = 0.5

// evenCells returns cells with equal weights, or nil if there are none.
func evenCells(cells []faults.CoverageCell) *rareCells {
	if len(cells) == 0 {
		return nil
	}
	return (&rareCells{cells: cells}).weigh(make([]cellScore, len(cells)))
}

// len returns the number of cells; nil has none.
func (r *rareCells) len() int {
	if r == nil {
		return 0
	}
	return len(r.cells)
}

// weigh returns the same cells with other weights: the rarer a fault in a cell, the more tries.
func (r *rareCells) weigh(scores []cellScore) *rareCells {
	if r == nil {
		return nil
	}
	r = &rareCells{cells: r.cells, weights: make([]float64, len(r.cells))}
	for i, s := range scores {
		r.weights[i] = 1 / (1 + s.struck + tryWeight*s.tried)
		r.total += r.weights[i]
	}
	return r
}

// struck returns the indexes of the cells in which faults struck a run.
func (r *rareCells) struck(coverage *engine.FaultCoverage) (struck []int) {
	for i := range r.len() {
		if cell := r.cells[i]; coverage[cell.Kind][cell.Phase] > 0 {
			struck = append(struck, i)
		}
	}
	return struck
}
