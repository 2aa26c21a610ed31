package scenarios

import (
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Phase says what a process is doing with its lock.
type Phase uint8

// The phases of a lock, from the outside: what the process has asked of ZooKeeper and not yet been answered.
const (
	Idle           Phase = iota // not using the lock
	CreateInFlight              // its contender node is being created
	Listing                     // the contenders are being listed
	SettingWatch                // a watch is being set
	Asking                      // any other request
	Waiting                     // for the lock, with no request in flight
	Holding                     // the lock
	Releasing                   // the lock

	Phases // how many phases there are
)

var phaseNames = [Phases]string{
	Idle: "idle", CreateInFlight: "create in flight", Listing: "listing", SettingWatch: "watch being set",
	Asking: "other request", Waiting: "waiting", Holding: "holding", Releasing: "releasing",
}

// String returns the name of the phase.
func (p Phase) String() string { return phaseNames[p] }

// phase returns what the process is doing.
func (p *process) phase() Phase {
	switch p.stage {
	case holding:
		return Holding
	case releasing:
		return Releasing
	case locking:
		r := p.link.Pending()
		switch {
		case r == nil:
			return Waiting
		case r.Watch:
			return SettingWatch
		case r.Op == wire.OpCreate:
			return CreateInFlight
		case r.Op == wire.OpGetChildren2:
			return Listing
		}
		return Asking
	}
	return Idle
}

// Landed counts the faults that have struck, by kind and by what the process was doing.
type Landed [faults.Kinds][Phases]int

// Add adds the counts of other.
func (l *Landed) Add(other *Landed) {
	for kind := range l {
		for phase := range l[kind] {
			l[kind][phase] += other[kind][phase]
		}
	}
}

// Total returns how many faults of the kind have struck.
func (l *Landed) Total(kind faults.Kind) int {
	total := 0
	for _, count := range l[kind] {
		total += count
	}
	return total
}
