package exhaustive

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/interlock-sim/interlock/internal/search/flat"
	"github.com/interlock-sim/interlock/internal/search/replay"
	"github.com/interlock-sim/interlock/internal/search/stateset"
)

// states are all that the workers of a search have stored. Workers look for states, and read what
// is known of one whose continuations are all known, without the mutex.
type states struct {
	mutex sync.Mutex     // guards what follows, and additions to the lists
	seen  stateset.Set   // if local histories are distinguished, unless there is
	bits  *stateset.Bits // see [Search.Bitstate]

	// If states are merged:
	records       flat.List[stateRecord] // by state - 1
	byKey         flat.Index             // of the last state stored with each key
	continuations flat.List[continuation]
	histories     flat.Tuples[replay.LocalHistory]
	openings      map[state]*opening // by state whose continuations are not all known
	// the results of comparing the local history of a process in a state with another one, by
	// pairKey; it is computed again where it has been forgotten
	compared stateset.Answers
}

// An opening is a stored state whose continuations are not all known.
type opening struct {
	state state
	// what has not been explored to its end yet: the frame of the state, states that continue it,
	// and tasks
	pending int
	parent  *opening   // a state that it continues, or nil
	others  []*opening // more of them
	parked  []*task    // that wait for its end
}

// newStates returns an empty set of states: of any size, or with bitstate hashing in that number of
// bytes unless it is 0.
func newStates(bitstate int) *states {
	s := &states{openings: make(map[state]*opening)}
	if bitstate > 0 {
		s.bits = stateset.NewBits(bitstate)
	}
	return s
}

// len returns the number of stored states.
func (s *states) len() int {
	if stored := s.records.Len(); stored > 0 {
		return stored
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.bits != nil {
		return s.bits.Len()
	}
	return s.seen.Len()
}

func (s *states) record(of state) *stateRecord { return s.records.At(uint32(of) - 1) }

// has reports whether a key is in the set of a search that distinguishes local histories.
func (s *states) has(key uint64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.bits != nil {
		return s.bits.Has(key)
	}
	return s.seen.Has(key)
}

// addKey adds a key to that set, and reports whether it is new.
func (s *states) addKey(key uint64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.bits != nil {
		return s.bits.Add(key)
	}
	return s.seen.Add(key)
}

// omissions returns how many new states bitstate hashing is expected to have taken for visited.
func (s *states) omissions() float64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.bits.Omissions()
}

// last returns the last state stored with the key, or 0. Without the mutex it may miss what another
// worker has just stored; see [states.add].
func (s *states) last(key uint64) state {
	number, ok := s.byKey.Find(key, func(number uint32) bool {
		return s.records.At(number).key == key
	})
	if !ok {
		return 0
	}
	return state(number + 1)
}

// open reports whether some continuations of a state are not known yet.
func (s *states) open(of state) bool { return s.flags(of)&stateOpen != 0 }

func (s *states) flags(of state) uint32 { return atomic.LoadUint32(&s.record(of).flags) }

// add stores a state whose continuations are not known yet, as one that continues its parent. The
// mask is of processes that have crashed. If last is not the last state with the key any more, it
// stores nothing and returns nil.
func (s *states) add(key uint64, histories []replay.LocalHistory, crashed uint32, last state,
	parent *opening,
) *opening {
	own := s.find(histories)
	continued := own
	if parent != nil {
		continued = s.find(s.those(parent.state, histories))
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.last(key) != last {
		return nil
	}
	number := s.records.Append(stateRecord{
		key: key, histories: s.number(own), flags: crashed | stateOpen, other: last,
	})
	if last != 0 {
		s.byKey.Replace(key, uint32(last)-1, number)
	} else {
		s.byKey.Add(key, number)
	}
	o := &opening{state: state(number + 1), pending: 1, parent: parent}
	s.openings[o.state] = o
	if parent != nil {
		parent.pending++
		s.addContinuation(parent.state, o.state, s.number(continued))
	}
	return o
}

// join stores that a continuation of a state leads to another one, with these local histories. The
// first state stays open as long as the other one.
func (s *states) join(from *opening, to state, histories []replay.LocalHistory) {
	if from == nil {
		return
	}
	continued := s.find(s.those(from.state, histories))
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.addContinuation(from.state, to, s.number(continued))
	if to != 0 && s.open(to) {
		from.pending++
		o := s.openings[to]
		o.others = append(o.others, from)
	}
}

// park lets a task wait until all continuations of a state are known. It returns false if they are
// known already.
func (s *states) park(t *task, at state) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	o := s.openings[at]
	if o == nil {
		return false
	}
	s.hold(t.parent)
	o.parked = append(o.parked, t)
	return true
}

// unpark returns the first task that waits for the end of the first state for which one does.
func (s *states) unpark() *task {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var first *opening
	for _, o := range s.openings {
		if len(o.parked) > 0 && (first == nil || o.state < first.state) {
			first = o
		}
	}
	if first == nil {
		return nil
	}
	t := first.parked[0]
	first.parked = first.parked[1:]
	t.past = first.state
	return t
}

// delegate keeps a state open until [states.finish] is called once more for it.
func (s *states) delegate(o *opening) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.hold(o)
}

func (s *states) hold(o *opening) {
	if o != nil {
		o.pending++
	}
}

// finish says that one thing that keeps a state open has been explored to its end. It returns the
// tasks that need not wait any more.
func (s *states) finish(o *opening) (released []*task) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.settle(o, nil)
}

func (s *states) settle(o *opening, released []*task) []*task {
	if o == nil {
		return released
	}
	if o.pending--; o.pending > 0 {
		return released
	}
	r := s.record(o.state)
	atomic.StoreUint32(&r.flags, r.flags&^stateOpen)
	delete(s.openings, o.state)
	released = s.settle(o.parent, append(released, o.parked...))
	for _, other := range o.others {
		released = s.settle(other, released)
	}
	return released
}

// historiesOf returns the local histories to which the processes had come in a state.
func (s *states) historiesOf(of state) []replay.LocalHistory {
	return s.histories.At(s.record(of).histories)
}

// those returns the local histories of the processes that existed in a state. Processes that have
// joined since do not matter to its continuations.
func (s *states) those(of state, histories []replay.LocalHistory) []replay.LocalHistory {
	return histories[:len(s.historiesOf(of))]
}

// A tuple is local histories of all processes, with their number in the set if it is known.
type tuple struct {
	of     []replay.LocalHistory
	number uint32
	known  bool
}

// find looks for a tuple without the mutex, so that other workers need not wait for it.
func (s *states) find(histories []replay.LocalHistory) tuple {
	number, known := s.histories.Find(histories)
	return tuple{histories, number, known}
}

// number returns the number of a tuple, which it adds if it was not found.
func (s *states) number(t tuple) uint32 {
	if t.known {
		return t.number
	}
	return s.histories.Number(t.of)
}

// addContinuation stores that a continuation of a state leads to another one, or to the end of the
// run, with local histories of that number.
func (s *states) addContinuation(from, to state, histories uint32) {
	r := s.record(from)
	w := continuation{to: to, histories: histories}
	if r.last == 0 {
		w.next = uint32(s.continuations.Len())
		r.last = s.continuations.Append(w) + 1
		return
	}
	last := s.continuations.At(r.last - 1)
	w.next = last.next
	last.next = s.continuations.Append(w)
	r.last = last.next + 1
}

// continuationsOf returns the continuations of a state in the order in which they were added.
func (s *states) continuationsOf(of state) iter.Seq[continuation] {
	return func(yield func(continuation) bool) {
		end := s.record(of).last
		for at := end; at != 0; {
			at = s.continuations.At(at-1).next + 1
			if !yield(*s.continuations.At(at - 1)) || at == end {
				return
			}
		}
	}
}

// without reports whether a process, counted from 0, is known to have crashed. From the 32nd on it
// returns false, which only makes the search distinguish more states.
func (s *states) without(of state, process int) bool {
	return s.flags(of)&^stateOpen>>process&1 != 0
}
