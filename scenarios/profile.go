package scenarios

import "context"

// A Profile is what some strategies have to know of a scenario before the first schedule: how many
// steps to expect. It is taken from one trial run under the default policy, as Shuttle takes the
// counts for its uniform random walk; schedules with faults take more steps than it says.
//
// To a strategy, the steps of a run are those of threads. Thread p is process p with its
// connection: the server handles p's next request, p gets its next message, p enters or leaves its
// critical section, p's link works again. Of the steps that thread p can take at one time the
// oldest is its next; a connection is FIFO both ways, so that hides nothing but the order among a
// request, a message and a gate of the same process. What is no thread's is the passing of time and
// the faults; see [chances].
type Profile struct {
	Decisions   int   // how many decisions belong to a thread
	Events      []int // how many of them to each thread, by its number
	Interesting []int // how many of those are interesting; see [Interesting]
}

// Interesting tells whether the order of a step among the others of its sort is what a lock depends
// on: the server handles a request. It is what [SURW] is uniform over.
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

// A profiler takes the default policy and counts.
type profiler struct{ profile Profile }

func (p *profiler) Choose(_ int, enabled []EnabledStep, defaultIndex int) int {
	p.profile.Add(&enabled[defaultIndex], Interesting(&enabled[defaultIndex]))
	return defaultIndex
}

// Profile runs the scenario once under the default policy and counts its steps.
func (r *Runner) Profile(scenario *Scenario) *Profile {
	return r.profileWithin(context.Background(), scenario)
}

// profileWithin does so until the context ends; then the profile is good for nothing.
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
