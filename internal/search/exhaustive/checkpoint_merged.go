package exhaustive

import (
	"io"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/flat"
	"github.com/interlock-sim/interlock/internal/search/replay"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// A mergedRecord is what a checkpoint of a search that merges states has besides, before the
// numbers of local histories and states.
type mergedRecord struct {
	Witnesses []replay.Witness `json:"witnesses"` // of the replay cache
	// how many runs there were in all parts of the search, which decides which ones are validated
	Runs      int `json:"runs"`
	Validated int `json:"validated"`

	cache  *replay.Cache
	states *states
}

// A mergedFrame is what a frame has besides.
type mergedFrame struct {
	Opening   state                 `json:"opening,omitempty"`
	Last      state                 `json:"last,omitempty"`
	Histories []replay.LocalHistory `json:"histories,omitempty"`
	Crashed   uint32                `json:"crashed,omitempty"`
}

// newCache returns the replay cache of a search, which the checkpoint has if there is one.
func (e *Search) newCache(t *testing.T) *replay.Cache {
	if c := e.resumed; c != nil && c.Merged != nil {
		return c.Merged.cache
	}
	return replay.NewCache(&e.Scenario, t, e.merges())
}

// saves reports whether checkpoints have merged states.
func (x *dfs) saves() bool { return x.search.Checkpoint != "" && x.merges() }

// witness keeps the schedule of the last run for checkpoints if it has taught the cache something.
func (x *dfs) witness(result *engine.Result) {
	if x.saves() && x.Cache.Learned() {
		x.witnesses = append(x.witnesses, replay.WitnessOf(result))
	}
}

// mergedRecord returns the record of a search that merges states, or nil.
func (x *dfs) mergedRecord(r *report.Exhaustive) *mergedRecord {
	if !x.saves() {
		return nil
	}
	return &mergedRecord{Witnesses: x.witnesses, Runs: x.Runs, Validated: r.Validated}
}

// mergedFrame returns the record of a frame of a search that merges states, or nil.
func (x *dfs) mergedFrame(b *frame) *mergedFrame {
	if !x.saves() {
		return nil
	}
	f := &mergedFrame{Last: b.last, Crashed: b.crashed}
	if b.opening != nil {
		f.Opening = b.opening.state
	}
	if b.historiesEnd > b.histories {
		f.Histories = x.histories[b.histories:b.historiesEnd]
	}
	return f
}

// encode writes the local histories and the states. One worker searches, so the open states are
// those on the path: a run ends in no other open state.
func (x *dfs) encode(w io.Writer) error {
	e := flat.NewEncoder(w)
	x.Cache.Encode(e)
	x.states.encode(e)
	return e.Close()
}

// restore decodes the local histories and the states of a checkpoint, for which it runs code.
func (e *Search) restore(t *testing.T, c *checkpoint) error {
	c.Merged.cache, c.Merged.states = replay.NewCache(&e.Scenario, t, true), newStates(0)
	if err := c.Merged.cache.Decode(c.numbers, c.Merged.Witnesses); err != nil {
		return err
	}
	c.Merged.states.decode(c.numbers)
	c.numbers = nil
	return nil
}

// resumeMerged restores what frames and the search have besides if states are merged.
func (x *dfs) resumeMerged(c *checkpoint, r *report.Exhaustive) {
	x.states, x.witnesses, x.Runs = c.Merged.states, c.Merged.Witnesses, c.Merged.Runs
	r.Validated = c.Merged.Validated
	var parent *opening
	for i := range x.path {
		b, f := &x.path[i], c.Path[i].Merged
		b.last, b.crashed, b.histories = f.Last, f.Crashed, len(x.histories)
		x.histories = append(x.histories, f.Histories...)
		b.historiesEnd = len(x.histories)
		if f.Opening == 0 {
			continue
		}
		b.opening = &opening{state: f.Opening, pending: 1, parent: parent}
		x.states.openings[f.Opening] = b.opening
		if parent != nil {
			parent.pending++
		}
		parent = b.opening
	}
}

// encode writes all states.
func (s *states) encode(e *flat.Encoder) {
	var before stateRecord
	e.Number(uint64(s.records.Len()))
	for i := range uint32(s.records.Len()) {
		r := s.records.At(i)
		e.Key(r.key)
		e.Difference(r.histories, before.histories)
		e.Number(uint64(r.flags))
		e.Number(uint64(r.other))
		e.Difference(r.last, before.last)
		before = *r
	}
	var last continuation
	e.Number(uint64(s.continuations.Len()))
	for i := range uint32(s.continuations.Len()) {
		c := s.continuations.At(i)
		e.Difference(uint32(c.to), uint32(last.to))
		e.Difference(c.histories, last.histories)
		e.Difference(c.next, i)
		last = *c
	}
	s.histories.Encode(e)
}

// decode reads states into an empty set.
func (s *states) decode(d *flat.Decoder) {
	var r stateRecord
	for range d.Number() {
		r = stateRecord{
			d.Key(), d.Difference(r.histories), uint32(d.Number()), state(d.Number()),
			d.Difference(r.last),
		}
		number := s.records.Append(r)
		if r.other != 0 {
			s.byKey.Replace(r.key, uint32(r.other)-1, number)
		} else {
			s.byKey.Add(r.key, number)
		}
	}
	var c continuation
	for i := range d.Number() {
		c = continuation{
			state(d.Difference(uint32(c.to))), d.Difference(c.histories), d.Difference(uint32(i)),
		}
		s.continuations.Append(c)
	}
	s.histories.Decode(d)
}

// A saving says when a search writes the next checkpoint: after checkpointEvery, or later if that
// takes long.
type saving struct{ next time.Duration }

func newSaving(now time.Duration) *saving { return &saving{now + checkpointEvery} }

func (s *saving) due(now time.Duration) bool { return now >= s.next }

// done says that a checkpoint has been written.
func (s *saving) done(began, now time.Duration) {
	s.next = now + max(checkpointEvery, 20*(now-began))
}
