package faults

// A Phase says what a process is doing with its lock.
type Phase uint8

// The phases of a lock, from the outside: what the process has asked of ZooKeeper and not yet been
// answered.
const (
	Idle           Phase = iota // not using the lock
	CreateInFlight              // its contender node is being created
	Listing                     // the contenders are being listed
	SettingWatch                // a watch is being set
	Asking                      // any other request
	Waiting                     // for the lock, with no request in flight
	Woken                       // a watch event has reached it, and it has not gone back to waiting
	Holding                     // the lock
	Releasing                   // the lock

	Phases // how many phases there are
)

// In a plan a phase goes by the first name, in reports by the second.
var phases = [Phases]struct{ key, name string }{
	Idle: {"idle", "idle"}, CreateInFlight: {"create", "create in flight"},
	Listing:      {"list", "listing"},
	SettingWatch: {"watch", "watch being set"}, Asking: {"ask", "other request"},
	Waiting: {"wait", "waiting"},
	Woken:   {"woken", "woken"}, Holding: {"hold", "holding"}, Releasing: {"release", "releasing"},
}

// String returns the name of the phase.
func (p Phase) String() string { return phases[p].name }

// Key returns the name of the phase in a plan.
func (p Phase) Key() string { return phases[p].key }

func phaseNamed(key string) (Phase, bool) {
	for p := range Phases {
		if phases[p].key == key {
			return p, true
		}
	}
	return 0, false
}

// PhaseKeys returns the names of the phases in a plan.
func PhaseKeys() []string {
	keys := make([]string, Phases)
	for p := range Phases {
		keys[p] = p.Key()
	}
	return keys
}
