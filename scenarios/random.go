package scenarios

import "math/rand/v2"

// Random is a random walk: every step that can happen has its chance. Messages and processes are equally likely,
// time passes and links heal less often, and how often faults strike is drawn anew for every run, so that some runs
// see them early, some late and some hardly at all (swarm testing: Groce et al., "Swarm Testing", ISSTA 2012).
type Random struct {
	source    *rand.PCG
	faultOdds uint64 // a fault is considered in one of so many decisions
}

// NewRandom returns the random walk that belongs to the seed and the schedule's number in the campaign.
func NewRandom(seed uint64, schedule int) *Random {
	r := &Random{source: rand.NewPCG(seed, uint64(schedule))}
	r.faultOdds = 4 << r.below(5)
	return r
}

// The weights of a random walk among the steps that are no faults.
const (
	messageWeight = 16
	healWeight    = 4
	tickWeight    = 1
)

// Choose draws an option.
func (r *Random) Choose(_ int, options []Option, usual int) int {
	first := len(options) // of the faults, which stand last
	for first > 0 && options[first-1].Kind == Fault {
		first--
	}
	if first < len(options) && r.below(r.faultOdds) == 0 {
		return first + int(r.below(uint64(len(options)-first)))
	}
	total := uint64(0)
	for i := range options[:first] {
		total += weight(options[i].Kind)
	}
	for i, draw := 0, r.below(total); i < first; i++ {
		w := weight(options[i].Kind)
		if draw < w {
			return i
		}
		draw -= w
	}
	return usual
}

func weight(kind StepKind) uint64 {
	switch kind {
	case Heal:
		return healWeight
	case Tick:
		return tickWeight
	}
	return messageWeight
}

// below draws a number less than n. The bias of the remainder is far below anything that a search could notice.
func (r *Random) below(n uint64) uint64 { return r.source.Uint64() % n }
