package strategy

import (
	"slices"

	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// Delay is delay-bounded search: it follows the default policy, but at a few random decisions puts
// the step of the policy behind everything that waits by then. Few delays reach most bugs (Emmi,
// Qadeer and Rakamarić, "Delay-Bounded Scheduling", POPL 2011).
//
// It deviates from the paper: it samples the schedules with a number of delays instead of
// enumerating them, with decisions drawn over the length of a trial run; faults and additional time
// come from the [faultSampler].
type Delay struct {
	faultSampler
	places    []int // decisions at which a step is delayed, ascending
	decisions int
	delayed   []sim.EnabledStep // as they were
	options   []sim.EnabledStep // with the ages that delays gave them
}

// NewDelay returns the strategy with a number of delays for a seed and a schedule's number.
func NewDelay(profile *Profile, delays int, seed uint64, schedule int) *Delay {
	d := &Delay{faultSampler: newFaultSampler(seed, schedule)}
	for range delays {
		d.places = append(d.places, int(d.Below(uint64(max(1, profile.Decisions)))))
	}
	slices.Sort(d.places)
	return d
}

// Choose returns the step of the default policy after the delays.
func (d *Delay) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if i, ok := d.sample(enabled, defaultIndex); ok {
		return i
	}
	chosen := d.usual(enabled)
	for len(d.places) > 0 && d.places[0] <= d.decisions {
		d.places = d.places[1:]
		if enabled[chosen].Kind < sim.Tick {
			d.delayed = append(d.delayed, enabled[chosen])
		}
		chosen = d.usual(enabled)
	}
	d.decisions++
	return chosen
}

// usual returns the step of the default policy if delayed messages were the youngest.
func (d *Delay) usual(enabled []sim.EnabledStep) int {
	if len(d.delayed) == 0 {
		return engine.DefaultIndex(enabled)
	}
	d.options = append(d.options[:0], enabled...)
	newest := uint64(0)
	for i := range d.options {
		newest = max(newest, d.options[i].Age)
	}
	for i := range d.options {
		o := &d.options[i]
		if at := slices.IndexFunc(d.delayed, func(past sim.EnabledStep) bool {
			return past.Step == o.Step &&
				past.Age == o.Age
		}); at >= 0 {
			o.Age = newest + 1 + uint64(at)
		}
	}
	return engine.DefaultIndex(d.options)
}
