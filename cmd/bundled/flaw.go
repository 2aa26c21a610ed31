package bundled

import (
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A Flaw is what a bundled lock is known to do wrong.
type Flaw struct {
	Lock     string
	Property history.Property // that a search finds violated first; "" if it finds several
	Faults   string           // the plan under which it shows soonest; "" for the default search
}

// flawSchedules is in how many schedules a default search shows each flaw.
const flawSchedules = "20000"

// Flags returns the flags of interlock check with which it finds the flaw.
func (f *Flaw) Flags() string {
	flags := "--lock " + f.Lock
	if f.Faults != "" {
		flags += " --faults " + f.Faults
	}
	return flags + " --schedules " + flawSchedules
}

// soonest are the plans under which flaws show soonest that a default search takes long to find.
var soonest = map[string]string{
	"redlock": "pause@hold=1", "redlock-5": "pause@hold=1", "redlock-extend": "wipe-server=2",
	"redlock-set-on-extend": "jump-clock=2", "setnx-renew": "wipe-server=1",
}

// KnownFlaw returns what the bundled lock with the name is known to do wrong, and false if nothing
// is known.
func KnownFlaw(name string) (flaw Flaw, broken bool) {
	flaw = Flaw{Lock: name, Faults: soonest[name]}
	for _, d := range subjects.Museum() {
		if d.Name == name {
			flaw.Property = d.Property
			return flaw, true
		}
	}
	lock, err := Named(name)
	return flaw, err == nil && strings.HasPrefix(lock.Summary, "broken: ")
}
