package strategy

import (
	"slices"

	"github.com/interlock-sim/interlock/sim"
)

// A timing describes a schedule by a few times instead of its decisions: when faults strike and
// heal, how long processes stay in their critical sections, which threads are late, and the phases
// of timers. The default policy decides everything else. So a small change of a timing is a small
// change of the run, as a search that minimises a margin needs. S-TaLiRo calls such values control
// points (see [Margin]).
//
// Times count in time steps, which pass time up to the next deadline. A timing is immutable once it
// is drawn.
type timing struct {
	phases  []uint8         // of the timers of [Profile.Shifts], in parts
	stays   [sections]uint8 // time steps for which a process is kept in its critical section
	strikes []strike
	delays  []delay
}

// A strike is a fault.
type strike struct {
	section  uint8
	time     uint8        // time steps since the entry
	messages uint8        // steps of threads since the last time step
	passes   sim.StepKind // the last time step before the fault: Tick, Before or After
	kind     uint8        // which of the kinds that are possible, modulo their number
	victim   uint8        // which of the faults of that kind, modulo their number
	lasts    uint8        // time steps until its effect may heal
}

// A delay holds the thread back that would take the next step.
type delay struct {
	section  uint8
	messages uint8 // steps of threads since the entry
	lasts    uint8 // time steps
}

const (
	// sections is how many critical sections are told apart, in the order of entry. Section 0 is
	// the time before the first entry. Entries beyond the last section belong to it.
	sections = 8
	// sectionsDrawn bounds the sections in which faults and delays are drawn: each of them moves
	// what follows, so later ones are hard to aim.
	sectionsDrawn = 4

	timeMax     = 64 // time steps; the session timeout of 4 s takes about 30
	messagesMax = 16
	steadyMax   = 4 // steps of threads between two time steps
	// lateMax bounds the time steps of a delay, and heldMax those of a run in which anything is
	// held back. Waits of many session timeouts show nothing more, and readers of package lock,
	// which poll once in each, would break no-herd.
	lateMax    = 8
	heldMax    = 40
	strikesMax = 3
	delaysMax  = 4
)

// drawTiming draws a timing at random.
func drawTiming(draw *Random, p *Profile) *timing {
	t := &timing{phases: make([]uint8, len(p.Shifts))}
	for i := range t.phases {
		t.phases[i] = uint8(draw.Below(sim.PhaseParts))
	}
	for range 1 + draw.Below(1+draw.Below(strikesMax)) {
		t.strikes = append(t.strikes, drawStrike(draw))
	}
	for range draw.Below(delaysMax) {
		t.delays = append(t.delays, drawDelay(draw))
	}
	for i := range t.stays {
		if draw.Below(4) == 0 {
			t.stays[i] = drawTime(draw, timeMax)
		}
	}
	// A session ends under its holder only if the holder stays for long after the fault.
	if draw.Below(4) > 0 {
		t.stays[t.strikes[0].section] = timeMax
	}
	return t
}

func drawStrike(draw *Random) strike {
	return strike{
		section: 1 + drawSection(draw),
		time:    drawTime(draw, timeMax), messages: uint8(draw.Below(steadyMax)),
		kind: uint8(draw.Below(256)), victim: uint8(draw.Below(256)),
		lasts:  timeMax >> draw.Below(4),
		passes: [...]sim.StepKind{sim.Tick, sim.Tick, sim.Before, sim.After}[draw.Below(4)],
	}
}

func drawDelay(draw *Random) delay {
	return delay{
		section: drawSection(draw), messages: uint8(draw.Below(messagesMax)),
		lasts: drawTime(draw, lateMax),
	}
}

// drawSection draws a section, early ones more often.
func drawSection(draw *Random) uint8 { return uint8(draw.Below(1 + draw.Below(sectionsDrawn))) }

// drawTime draws a number of time steps below n, a power of two; small ones more often.
func drawTime(draw *Random, n uint64) uint8 { return uint8(draw.Below(max(2, n>>draw.Below(6)))) }

// mutated returns a timing that differs in a few values.
func (t *timing) mutated(draw *Random) *timing {
	m := &timing{
		phases: slices.Clone(t.phases), stays: t.stays,
		strikes: slices.Clone(t.strikes), delays: slices.Clone(t.delays),
	}
	for again := true; again; again = draw.Below(2) == 0 {
		m.mutate(draw)
	}
	return m
}

// mutate changes one value.
func (t *timing) mutate(draw *Random) {
	switch draw.Below(6) {
	case 0, 1:
		if len(t.phases) > 0 {
			move(draw, &t.phases[draw.Below(uint64(len(t.phases)))], sim.PhaseParts)
		}
	case 2, 3:
		t.strikes[draw.Below(uint64(len(t.strikes)))].mutate(draw)
	case 4:
		t.mutateDelays(draw)
	case 5:
		move(draw, &t.stays[1+draw.Below(sectionsDrawn)], timeMax+1)
	}
}

// mutate changes one value of the fault, the time when it strikes more often than others.
func (s *strike) mutate(draw *Random) {
	fresh := drawStrike(draw)
	switch draw.Below(8) {
	case 0, 1, 2:
		move(draw, &s.time, timeMax)
	case 3:
		s.messages = fresh.messages
	case 4:
		s.passes = fresh.passes
	case 5:
		s.kind, s.victim = fresh.kind, fresh.victim
	case 6:
		s.lasts = fresh.lasts
	case 7:
		s.section = fresh.section
	}
}

// mutateDelays adds, removes or changes a delay.
func (t *timing) mutateDelays(draw *Random) {
	n := uint64(len(t.delays))
	if n == 0 || n < delaysMax && draw.Below(3) == 0 {
		t.delays = append(t.delays, drawDelay(draw))
		return
	}
	at := int(draw.Below(n))
	switch d := &t.delays[at]; draw.Below(3) {
	case 0:
		t.delays = slices.Delete(t.delays, at, at+1)
	case 1:
		move(draw, &d.lasts, lateMax)
	case 2:
		move(draw, &d.messages, messagesMax)
	}
}

// move moves a value on the circle of n values, in half of all cases only a little.
func move(draw *Random, value *uint8, n uint64) {
	by := draw.Below(n)
	if draw.Below(2) == 0 {
		by = n - 2 + draw.Below(5)
	}
	*value = uint8((uint64(*value) + by) % n)
}
