package strategy

import "github.com/interlock-sim/interlock/sim"

// A faultSampler decides when a fault strikes, a pause ends or time passes, for strategies that
// only order the steps of threads. It samples as a random walk does, with probabilities drawn for
// each schedule; see [Random].
type faultSampler struct {
	*Random
	buffer []int
}

// threadsExpected is the initial capacity for threads.
const threadsExpected = 5

// newFaultSampler returns the sampler of a seed and a schedule's number.
func newFaultSampler(seed uint64, schedule int) faultSampler {
	return faultSampler{Random: NewRandom(seed, schedule), buffer: make([]int, 0, threadsExpected)}
}

// sample returns the index of a fault, of the tick or of the end of a pause if one is drawn, and
// the default step where no thread can take one.
func (c *faultSampler) sample(enabled []sim.EnabledStep, defaultIndex int) (index int, ok bool) {
	first, passes, total := len(enabled), false, uint64(0)
	for i := range enabled {
		if enabled[i].Kind == sim.Fault {
			first = i
			break
		}
		passes = passes || enabled[i].Kind == sim.Tick
		total += c.weights[enabled[i].Kind]
	}
	if i, ok := c.strikes(enabled, first); ok {
		return i, true
	}
	switch {
	case !passes:
		return 0, false
	case first == 1:
		return defaultIndex, true
	}
	draw := c.Below(total)
	for i := range enabled[:first] {
		if ofThread(enabled[i].Kind) {
			continue
		}
		w := c.weights[enabled[i].Kind]
		if draw < w {
			return i, true
		}
		draw -= w
	}
	return 0, false
}

// heads returns the next step of each thread; see [Profile].
func (c *faultSampler) heads(enabled []sim.EnabledStep) []int {
	c.buffer = heads(enabled, c.buffer)
	return c.buffer
}
