package check

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// unreleased holds the keys that their processes have set and that no command has changed or set
// again since. Commands that the process itself sent before it called Unlock do not count.
type unreleased struct {
	inFlight []int32 // the process of each command that no server has executed
	keys     []unreleasedKey
}

// An unreleasedKey is a key with the last event that concerns it: its KeySet, an UnlockCall of its
// process, or an UnlockReturn that must have freed the lock. No command of the process was in
// flight then, and it has neither sent one nor asked for the lock since.
type unreleasedKey struct {
	attemptSet
	last  history.Kind
	index int // of the UnlockReturn
}

// unreleasedKinds holds the kinds of events that an unreleased observes beside undisturbedKinds.
const unreleasedKinds = 1<<history.Command | 1<<history.Executed

func (u *unreleased) copy(from *unreleased) {
	u.inFlight = append(u.inFlight[:0], from.inFlight...)
	u.keys = append(u.keys[:0], from.keys...)
}

// key does not depend on the order of commands and keys.
func (u *unreleased) key(s *State) (sum uint64) {
	for _, p := range u.inFlight {
		sum += scatter(uint64(p))
	}
	for i := range u.keys {
		k := &u.keys[i]
		sum += fold(s.text(k.path)^uint64(k.last), uint64(k.server)<<32|uint64(k.process))
	}
	return sum
}

// matter reports whether the place of an event among others can decide whether a key expires
// unreleased.
func (u *unreleased) matter(e *history.Event) bool {
	return len(u.keys) > 0 || e.Kind == history.Command
}

// expires returns the key that the event lets expire although an unlock must have freed it, or nil.
func (u *unreleased) expires(e *history.Event) *unreleasedKey {
	for i := range u.keys {
		if k := &u.keys[i]; e.Kind == history.KeyExpired && k.last == history.UnlockReturn &&
			k.path == e.Path && k.server == e.Server {
			return k
		}
	}
	return nil
}

// observe processes event i. If it is an UnlockReturn, freed reports whether the lock must be free
// soon after.
func (u *unreleased) observe(e *history.Event, i int, freed bool) {
	if len(u.keys)+len(u.inFlight) == 0 && e.Kind != history.Command && e.Kind != history.KeySet {
		return
	}
	process, _ := history.ProcessOf(e.Process) // Threads share its keys.
	switch at := slices.Index(u.inFlight, process); {
	case e.Kind == history.Command:
		u.inFlight = append(u.inFlight, process)
	case e.Kind == history.Executed && at >= 0:
		u.inFlight = slices.Delete(u.inFlight, at, at+1)
	case e.Kind == history.UnlockCall:
		u.advance(e, history.KeySet, i)
	case e.Kind == history.UnlockReturn && freed && at < 0:
		u.advance(e, history.UnlockCall, i)
	}
	u.keys = slices.DeleteFunc(u.keys, func(k unreleasedKey) bool { return k.ends(e, process) })
	if e.Kind == history.KeySet {
		set := attemptSet{e.Process, e.Server, e.Path}
		u.keys = append(u.keys, unreleasedKey{attemptSet: set, last: e.Kind})
	}
}

// advance notes event i of a process for each of its keys whose last event is of the given kind.
func (u *unreleased) advance(e *history.Event, last history.Kind, i int) {
	for n := range u.keys {
		if k := &u.keys[n]; k.process == e.Process && k.last == last {
			k.last, k.index = e.Kind, i
		}
	}
}

// ends reports whether an event of the process ends the interest in the key.
func (k *unreleasedKey) ends(e *history.Event, process int32) bool {
	own := k.process == process
	switch e.Kind {
	case history.KeySet, history.KeyDeleted, history.KeyExpired, history.KeyLost:
		return k.path == e.Path && k.server == e.Server
	case history.Executed:
		return e.MayEndLock && !(own && k.last == history.KeySet)
	case history.Command:
		return own && k.last == history.UnlockReturn
	case history.LockCall:
		return own
	case history.LockReturn:
		return own && (e.Err != "" || k.last != history.KeySet)
	case history.UnlockReturn:
		return own && k.last != history.UnlockReturn
	}
	return false
}
