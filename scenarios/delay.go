package scenarios

import "slices"

// Delay is delay-bounded search: the default policy, but at a few random places of the schedule the
// step that it would take is put back behind all that waits by then. Few delays reach most bugs
// (Emmi, Qadeer and Rakamarić, "Delay-Bounded Scheduling", POPL 2011).
//
// It deviates from the paper in this: it samples the schedules with so many delays instead of going
// through all, with places drawn over the length of a trial run; and faults and time beyond what
// the default policy lets pass come by chance, see [chances].
type Delay struct {
	faultSampler
	places    []int // the decisions at which something is delayed, ascending
	decisions int
	delayed   []EnabledStep // as they were
	options   []EnabledStep // with the ages that the delays have given them
}

// NewDelay returns the strategy with so many delays that belongs to the seed and the schedule's
// number.
func NewDelay(profile *Profile, delays int, seed uint64, schedule int) *Delay {
	d := &Delay{faultSampler: newFaultSampler(seed, schedule)}
	for range delays {
		d.places = append(d.places, int(d.below(uint64(max(1, profile.Decisions)))))
	}
	slices.Sort(d.places)
	return d
}

// Choose returns the default policy's step, as it is after the delays.
func (d *Delay) Choose(_ int, enabled []EnabledStep, defaultIndex int) int {
	if i, ok := d.sample(enabled, defaultIndex); ok {
		return i
	}
	chosen := d.usual(enabled)
	for len(d.places) > 0 && d.places[0] <= d.decisions {
		d.places = d.places[1:]
		if enabled[chosen].Kind < Tick {
			d.delayed = append(d.delayed, enabled[chosen])
		}
		chosen = d.usual(enabled)
	}
	d.decisions++
	return chosen
}

// usual returns what the default policy would take if what was delayed were the youngest of all.
func (d *Delay) usual(enabled []EnabledStep) int {
	if len(d.delayed) == 0 {
		return defaultIndex(enabled)
	}
	d.options = append(d.options[:0], enabled...)
	newest := uint64(0)
	for i := range d.options {
		newest = max(newest, d.options[i].Age)
	}
	for i := range d.options {
		o := &d.options[i]
		if at := slices.IndexFunc(d.delayed, func(past EnabledStep) bool {
			return past.Step == o.Step &&
				past.Age == o.Age
		}); at >= 0 {
			o.Age = newest + 1 + uint64(at)
		}
	}
	return defaultIndex(d.options)
}
