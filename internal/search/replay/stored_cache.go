package replay

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/flat"
)

// A cache can be stored, although the starts, inputs and reactions of processes have no encoding.
// There are few different ones, and code is deterministic. So starts and inputs are stored as
// hashes and as schedules in which they come up, which are run again. Reactions are stored as
// hashes, and the code runs again up to one local history with each reaction. All else are numbers.

// A Witness is a schedule in which a start or an input of a process came up first.
type Witness struct {
	Deviations []engine.Deviation `json:"deviations"`
	End        int                `json:"end"` // number of decisions, or -1 if it ran to its end
}

// WitnessOf returns the schedule of a run, of which the result may be reused.
func WitnessOf(result *engine.Result) Witness {
	w := Witness{slices.Clone(result.Deviations), -1}
	if result.Pruned {
		w.End = result.Steps
	}
	return w
}

// strategy returns the strategy that follows the schedule.
func (w *Witness) strategy() engine.Strategy {
	return &replayTo{engine.Replay{Deviations: w.Deviations}, w.End}
}

// Learned reports whether a start or an input of a process was new since the last call, so that the
// last run is a witness of it.
func (t *historyTree) Learned() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	learned := t.learned
	t.learned = false
	return learned
}

// Encode writes a cache that merges local histories, of which nobody executes one.
func (t *historyTree) Encode(e *flat.Encoder) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	e.Number(uint64(t.steps.Len()))
	for i := range uint32(t.steps.Len()) {
		e.Key((*t.steps.At(i)).hash)
	}
	e.Number(uint64(t.reactions.Len()))
	for i := range uint32(t.reactions.Len()) {
		r := *t.reactions.At(i)
		e.Key(r.reacts)
		e.Number(number(r.dead))
	}
	e.Number(uint64(t.predictions.Len()))
	for i := range uint32(t.predictions.Len()) {
		p := t.predictions.At(i)
		e.Number(uint64(p.fires))
		e.Number(uint64(p.Until))
		e.Number(number(p.probed) | number(p.leaks)<<1 | number(p.loses)<<2)
	}
	e.Number(uint64(t.nodes.Len()))
	for h := uint32(1); h < uint32(t.nodes.Len()); h++ {
		n := t.nodes.At(h)
		e.Difference(uint32(n.parent), h)
		e.Number(uint64(n.step))
		e.Number(uint64(n.reaction &^ executed))
		e.Number(uint64(n.prediction))
	}
	e.Number(uint64(len(t.roots)))
	for _, root := range t.sortedRoots() {
		e.Number(uint64(root.at))
		e.Key(root.begins.hash())
	}
	e.Number(number(t.endless))
	e.Number(uint64(t.outlived))
}

func number(flag bool) uint64 {
	if flag {
		return 1
	}
	return 0
}

// A root is a process's start and its local history there.
type root struct {
	begins initialState
	at     LocalHistory
}

// sortedRoots returns all roots in the order of their numbers.
func (t *historyTree) sortedRoots() (roots []root) {
	for begins, at := range t.roots {
		roots = append(roots, root{begins, at})
	}
	slices.SortFunc(roots, func(a, b root) int { return int(a.at) - int(b.at) })
	return roots
}

// errUnlike says that code did not run as before.
var errUnlike = errors.New("the lock does not run as before: " + engine.LikelyCauses)

// Decode fills an empty cache with one that was written. It runs the witnesses of all starts and
// inputs, and the code of processes once for each reaction. It returns an error if that did not run
// as before.
func (t *Cache) Decode(d *flat.Decoder, witnesses []Witness) error {
	defer t.Close()
	steps, begins := t.witnessed(witnesses)
	for range d.Number() {
		hash := d.Key()
		if steps[hash] == nil {
			return errUnlike
		}
		t.stepNumbers.Add(hash, t.steps.Append(steps[hash]))
	}
	reactions := make([]reaction, d.Number())
	for i := range reactions {
		reactions[i].reacts, reactions[i].dead = d.Key(), d.Number() == 1
	}
	t.decodePredictions(d)
	first := make([]LocalHistory, len(reactions)) // with each reaction; 0 if there is none
	end := uint32(d.Number())
	for h := uint32(1); h < end; h++ {
		n := node{
			LocalHistory(d.Difference(h)), uint32(d.Number()), uint32(d.Number()),
			uint32(d.Number()),
		}
		if first[n.reaction] == 0 {
			first[n.reaction] = LocalHistory(h)
		}
		n.reaction |= executed
		t.nodes.Append(n)
		if n.parent != 0 {
			t.children.Add(edgeHash(n.parent, n.step), h)
		}
	}
	initials := make(map[LocalHistory]*initialState)
	for range d.Number() {
		at := LocalHistory(d.Number())
		if initials[at] = begins[d.Key()]; initials[at] == nil {
			return errUnlike
		}
		t.roots[*initials[at]] = at
	}
	t.endless, t.outlived = d.Number() == 1, int(d.Number())
	return t.reenact(reactions, first, initials)
}

// witnessed runs the witnesses. It returns the inputs and the starts that came up, by hash.
func (t *Cache) witnessed(witnesses []Witness) (steps map[uint64]*step,
	begins map[uint64]*initialState,
) {
	known := NewCache(t.scenario, t.t, true)
	defer known.Close()
	runner := engine.NewRunner(t.t)
	for i := range witnesses {
		runner.RunOn(context.Background(), t.scenario, witnesses[i].strategy(), known.On, nil)
	}
	steps, begins = make(map[uint64]*step), make(map[uint64]*initialState)
	for i := range uint32(known.steps.Len()) {
		s := *known.steps.At(i)
		steps[s.hash] = s
	}
	for _, root := range known.sortedRoots() {
		begins[root.begins.hash()] = &root.begins
	}
	return steps, begins
}

// decodePredictions reads what processes do by themselves.
func (t *Cache) decodePredictions(d *flat.Decoder) {
	for range d.Number() {
		p := Prediction{fires: time.Duration(d.Number()), Until: time.Duration(d.Number())}
		flags := d.Number()
		p.probed, p.leaks, p.loses = flags&1 != 0, flags&2 != 0, flags&4 != 0
		if i := t.predictions.Append(p); i > 0 { // The first one is none.
			t.predictionNumbers[p] = i
		}
	}
}

// reenact runs the code of processes up to the first local history with each reaction, to find out
// what that is. Reactions without one are not needed any more.
func (t *Cache) reenact(stored []reaction, first []LocalHistory,
	initials map[LocalHistory]*initialState,
) error {
	for i, h := range first {
		for h != 0 && t.Parent(h) != 0 {
			h = t.Parent(h)
		}
		stored[i].initial = initials[h]
		t.reactions.Append(&stored[i])
	}
	for i, h := range first {
		if h == 0 {
			continue
		}
		r, _ := t.observe(h, stored[i].initial)
		if stored[i].dead {
			r = t.died(h, r)
		}
		if r.reacts != stored[i].reacts {
			return errUnlike
		}
		*t.reactions.At(uint32(i)) = r
		t.reactionNumbers[r.reacts] = append(t.reactionNumbers[r.reacts], uint32(i))
	}
	return nil
}
