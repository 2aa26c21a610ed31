package strategy

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
)

// Random is a random walk: every enabled step has a probability, drawn anew for each run. In some
// runs critical sections are long, in some time passes quickly, in some faults strike early or
// rarely (swarm testing: Groce et al., "Swarm Testing", ISSTA 2012). A walk with the same
// probabilities in all runs would hardly ever let a session expire while another process holds the
// lock, which takes several ticks during one critical section.
type Random struct {
	source    *rand.PCG
	faultOdds uint64 // a fault is considered in one of so many decisions
	weights   [sim.Fault]uint64
	kinds     [faults.Kinds]uint64 // weights of the faults
	// weight of a tick once a fault has struck; before, time matters little
	tick uint64
	aim  *aim // nil for none
}

// kindsDrawnFirst is how many kinds of faults there were in the first version. Kinds that came
// later draw their weights from a source of their own, and those that came last draw them after
// everything else, so that schedules without them are what they were.
const kindsDrawnFirst, kindsDrawnLast = faults.Unreachable, faults.SlowLink

// resumeWeights are the weights of the early end of a pause that runs draw from. In half of the
// runs no pause ends early: one that outlasts a lock takes several ticks, and could end before
// each.
var resumeWeights = [...]uint64{0, 0, 1, 4}

// NewRandom returns the random walk for a seed and a schedule's number.
func NewRandom(seed uint64, schedule int) *Random {
	r := &Random{source: rand.NewPCG(seed, uint64(schedule))}
	r.faultOdds = 4 << r.Below(5)
	gate, heal, tick := uint64(16)>>(2*r.Below(3)), uint64(16)>>(2*r.Below(3)),
		uint64(1)<<(2*r.Below(3))
	r.weights = [sim.Fault]uint64{
		sim.Serve: 16, sim.Deliver: 16, sim.Enter: gate, sim.Leave: gate, sim.Heal: heal,
		sim.Tick: 1,
		sim.Log:  16, sim.Apply: 16 >> (2 * (schedule % 3)), // In some runs servers lag far behind.
	}
	for kind := range kindsDrawnFirst {
		r.kinds[kind] = [...]uint64{0, 1, 4, 16}[r.Below(4)]
	}
	var later rand.PCG
	later.Seed(seed, ^uint64(schedule))
	for kind := kindsDrawnFirst; kind < kindsDrawnLast; kind++ {
		r.kinds[kind] = [...]uint64{0, 1, 4, 16}[later.Uint64()%4]
	}
	r.weights[sim.Resume] = resumeWeights[later.Uint64()%uint64(len(resumeWeights))]
	for kind := kindsDrawnLast; kind < faults.Kinds; kind++ {
		r.kinds[kind] = [...]uint64{0, 1, 4, 16}[later.Uint64()%4]
	}
	r.tick = tick
	return r
}

// Choose draws an enabled step.
func (r *Random) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	first := len(enabled) // of the faults, which stand last
	for first > 0 && enabled[first-1].Kind == sim.Fault {
		first--
	}
	if i, ok := r.strikes(enabled, first); ok {
		return i
	}
	total := uint64(0)
	for i := range enabled[:first] {
		total += r.weights[enabled[i].Kind]
	}
	for i, draw := 0, r.Below(total); i < first; i++ {
		w := r.weights[enabled[i].Kind]
		if draw < w {
			return i
		}
		draw -= w
	}
	return defaultIndex
}

// fault draws one of the faults, which start at the given index. In every run some kinds are rare,
// and some are drawn only if there is no other.
func (r *Random) fault(enabled []sim.EnabledStep, first int) int {
	r.weights[sim.Tick] = r.tick
	total := uint64(0)
	for i := range enabled[first:] {
		total += r.kinds[enabled[first+i].Fault]
	}
	if total == 0 {
		return first + int(r.Below(uint64(len(enabled)-first)))
	}
	draw := r.Below(total)
	for i := first; ; i++ {
		w := r.kinds[enabled[i].Fault]
		if draw < w {
			return i
		}
		draw -= w
	}
}

// Below draws a number less than n. The bias of the remainder does not matter to a search.
func (r *Random) Below(n uint64) uint64 { return r.source.Uint64() % n }

// ParseSeed parses a seed: a number, or the word random for a fresh one.
func ParseSeed(text string) (uint64, error) {
	if text == "random" {
		return uint64(rand.Uint32()), nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a number from 0 to 2^64-1 nor the word random", text)
	}
	return seed, nil
}
