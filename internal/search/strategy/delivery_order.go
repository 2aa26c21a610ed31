package strategy

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// behavioursMax bounds the memory for behaviours to about 3 MB.
const behavioursMax = 1 << 17

// A delivery is what has reached a process, as a 64-bit hash of its kind without names and numbers.
type delivery struct {
	process      int32
	last, before uint64
}

// Behaviour appends what a run showed of the order of deliveries: for each reply, watch event,
// answer and state change of a connection that reached a process, a 64-bit hash of it, of the two
// before it that reached the process, and of the last that reached another process. It takes time
// linear in the events times the number of processes.
func Behaviour(shown []uint64, events []history.Event) []uint64 {
	var space [12]delivery
	processes := space[:0]
	latest, latestTo := uint64(0), int32(0) // that has reached a process, and the one
	other := uint64(0)                      // the last that has reached another process than that
	for i := range events {
		e := &events[i]
		var sort uint64
		switch e.Kind {
		case history.Reply, history.WatchEvent, history.SessionState:
			sort = hash64.Mix(uint64(e.Kind), xxhash.Sum64String(e.Op))
			sort = hash64.Mix(hash64.Mix(sort, xxhash.Sum64String(e.Name)),
				xxhash.Sum64String(e.Err))
		case history.Answer:
			sort = hash64.Mix(uint64(e.Kind), outcomeHash(e.Op))
			sort = hash64.Mix(sort, outcomeHash(e.Name))
		default:
			continue
		}
		if e.Process != latestTo {
			other, latestTo = latest, e.Process
		}
		latest = sort
		var d *delivery
		for p := range processes {
			if processes[p].process == e.Process {
				d = &processes[p]
			}
		}
		if d == nil {
			processes = append(processes, delivery{process: e.Process})
			d = &processes[len(processes)-1]
		}
		shown = append(shown, hash64.Mix(hash64.Mix(d.before, d.last), hash64.Mix(sort, other)))
		d.before, d.last = d.last, sort
	}
	return shown
}

// outcomeMax is the length of the longest first word of a result that is no random value.
const outcomeMax = 8

// outcomeHash returns a hash of the first word of a command or of its result, such as SET, OK or
// error. Random values, which are longer, have the same hash.
func outcomeHash(text string) uint64 {
	word, _, _ := strings.Cut(text, " ")
	if len(word) > outcomeMax {
		word = ""
	}
	return xxhash.Sum64String(word)
}
