package scenarios

import "context"

// A Profile is what some strategies need to know of a scenario in advance: how many steps to
// expect. It comes from one trial run under the default policy, as in Shuttle's uniform random
// walk; schedules with faults take more steps.
//
// To a strategy, the steps of a run belong to threads. Thread p is process p with its connection:
// the server handles p's next request, p receives its next message, p enters or leaves its critical
// section, p's link is healed. Of the enabled steps of a thread, the oldest is its next step.
// Connections are FIFO in both directions, so this hides only the order among a request, a message
// and a gate of the same process. The passing of time and faults belong to no thread; see
// [faultSampler].
type Profile struct {
	Decisions int   // decisions that belong to a thread
	Events    []int // the same, by thread
	// those of them that are interesting, by thread; see [Interesting]
	Interesting []int
}

// Interesting reports whether a step is one whose order locks depend on: the server handles a
// request. [SURW] is uniform over these.
func Interesting(o *EnabledStep) bool { return o.Kind == Serve }

// Add counts a decision.
func (p *Profile) Add(o *EnabledStep, interesting bool) {
	if o.Kind >= Tick {
		return
	}
	for len(p.Events) <= int(o.thread()) {
		p.Events, p.Interesting = append(p.Events, 0), append(p.Interesting, 0)
	}
	p.Decisions++
	p.Events[o.thread()]++
	if interesting {
		p.Interesting[o.thread()]++
	}
}

// A profiler follows the default policy and counts steps.
type profiler struct{ profile Profile }

func (p *profiler) Choose(_ int, enabled []EnabledStep, defaultIndex int) int {
	p.profile.Add(&enabled[defaultIndex], Interesting(&enabled[defaultIndex]))
	return defaultIndex
}

// Profile runs the scenario once under the default policy and counts its steps.
func (r *Runner) Profile(scenario *Scenario) *Profile {
	return r.profileWithin(context.Background(), scenario)
}

// profileWithin does so until the context ends; then the profile is not valid.
func (r *Runner) profileWithin(ctx context.Context, scenario *Scenario) *Profile {
	strategy := new(profiler)
	r.runWithin(ctx, scenario, strategy)
	return &strategy.profile
}

// heads returns the next step of each thread that can take one, in the order of the options: the
// indexes of the oldest options of each process. Time and faults are left out. The slice that is
// given is used again.
func heads(enabled []EnabledStep, space []int) []int {
	found := space[:0]
next:
	for i := range enabled {
		if enabled[i].Kind >= Tick {
			continue
		}
		for n, j := range found {
			if enabled[j].thread() == enabled[i].thread() {
				if enabled[i].Age < enabled[j].Age {
					found[n] = i
				}
				continue next
			}
		}
		found = append(found, i)
	}
	return found
}
