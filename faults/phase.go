package faults

import "strings"

// A Phase is what a process is doing with its lock, seen from outside: which request it has sent to
// ZooKeeper that is not yet answered.
type Phase uint8

// The phases of a lock.
const (
	Idle           Phase = iota // not using the lock
	CreateInFlight              // creating its node
	Listing                     // listing the nodes of the queue
	SettingWatch                // setting a watch
	Asking                      // any other request is in flight
	Waiting                     // waiting for the lock, with no request in flight
	// a watch event has arrived, and the process does not wait again yet
	Woken
	Holding   // holding the lock
	Releasing // releasing the lock

	Phases // the number of phases
)

// phaseNames holds the name of each phase in plans and texts (key), and in events (name).
var phaseNames = [Phases]struct{ key, name string }{
	Idle:           {"idle", "idle"},
	CreateInFlight: {"create", "create in flight"},
	Listing:        {"list", "listing"},
	SettingWatch:   {"watch", "watch being set"},
	Asking:         {"ask", "other request"},
	Waiting:        {"wait", "waiting"},
	Woken:          {"woken", "woken"},
	Holding:        {"hold", "holding"},
	Releasing:      {"release", "releasing"},
}

// String returns the name of the phase in events and files; texts show its key.
func (p Phase) String() string { return phaseNames[p].name }

// Key returns the name of the phase in plans and texts.
func (p Phase) Key() string { return phaseNames[p].key }

// Requests reports whether a process in the phase often has a request in flight.
func (p Phase) Requests() bool { return p != Idle && p != Waiting && p != Holding }

func phaseNamed(key string) (Phase, bool) {
	for p := range Phases {
		if phaseNames[p].key == key {
			return p, true
		}
	}
	return 0, false
}

// PhaseKey returns the name in plans of a phase that a fault's event names, or the same text if
// that names no phase.
func PhaseKey(name string) string {
	for _, names := range phaseNames {
		if names.name == name {
			return names.key
		}
	}
	return name
}

// PhaseKeys returns the names of the phases in plans.
func PhaseKeys() []string {
	keys := make([]string, Phases)
	for p := range Phases {
		keys[p] = p.Key()
	}
	return keys
}

// A phaseSet is a set of phases, one bit each.
type phaseSet uint16

func setOf(phases ...Phase) phaseSet {
	var set phaseSet
	for _, p := range phases {
		set |= 1 << p
	}
	return set
}

func (s phaseSet) has(p Phase) bool { return s>>p&1 != 0 }

// String returns the names of the phases in plans.
func (s phaseSet) String() string {
	var keys []string
	for p := range Phases {
		if s.has(p) {
			keys = append(keys, p.Key())
		}
	}
	return strings.Join(keys, ", ")
}
