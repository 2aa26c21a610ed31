package report

import "github.com/interlock-sim/interlock/internal/search/stateset"

const (
	// StatesMax bounds how many states a campaign counts, and the memory for that to 16 MB.
	StatesMax = 1 << 20
	// HistoriesMax bounds how many distinct histories a campaign counts, and the memory for that to
	// 2 MB.
	HistoriesMax = 1 << 17
)

// Seen are the states and histories that a campaign has counted. Those of several ranges of
// schedules can be merged, because the keys are kept: the numbers are those of all schedules. The
// zero value is empty.
type Seen struct {
	states, histories stateset.Set
	statesCapped      bool // there were more than StatesMax
	historiesFull     bool // there were at least HistoriesMax
}

// AddHistory counts a history by its trace hash.
func (s *Seen) AddHistory(hash uint64) {
	if !s.historiesFull {
		s.histories.Add(hash)
		s.historiesFull = s.histories.Len() == HistoriesMax
	}
}

// AddStates counts states by their keys.
func (s *Seen) AddStates(keys []uint64) {
	if s.statesCapped {
		return
	}
	s.states.Prefetch(keys)
	for _, key := range keys {
		if s.states.Len() == StatesMax && !s.states.Has(key) {
			s.statesCapped = true
			return
		}
		s.states.Add(key)
	}
}

// States returns the number of states up to [StatesMax], and whether there were more.
func (s *Seen) States() (count int, capped bool) {
	if s.statesCapped {
		return StatesMax, true
	}
	return s.states.Len(), false
}

// Histories returns the number of histories up to [HistoriesMax].
func (s *Seen) Histories() int {
	if s.historiesFull {
		return HistoriesMax
	}
	return s.histories.Len()
}

// A SeenRecord is the stored form of a [Seen]. A set that has reached its bound is not stored,
// because its number no longer depends on what is merged. So a record has at most 13 MB.
type SeenRecord struct {
	States        stateset.Keys `json:"states,omitempty"`
	StatesCapped  bool          `json:"states_capped,omitempty"`
	Histories     stateset.Keys `json:"histories,omitempty"`
	HistoriesFull bool          `json:"histories_full,omitempty"`
}

// Record returns the stored form.
func (s *Seen) Record() *SeenRecord {
	r := &SeenRecord{StatesCapped: s.statesCapped, HistoriesFull: s.historiesFull}
	if !r.StatesCapped {
		r.States = s.states.Sorted()
	}
	if !r.HistoriesFull {
		r.Histories = s.histories.Sorted()
	}
	return r
}

// Full returns which sets are full, as a record without keys.
func (s *Seen) Full() SeenRecord {
	return SeenRecord{StatesCapped: s.statesCapped, HistoriesFull: s.historiesFull}
}

// Merge counts the states and histories of a record too.
func (s *Seen) Merge(r *SeenRecord) {
	s.statesCapped = s.statesCapped || r.StatesCapped
	s.historiesFull = s.historiesFull || r.HistoriesFull
	s.AddStates(r.States)
	for _, hash := range r.Histories {
		s.AddHistory(hash)
	}
}
