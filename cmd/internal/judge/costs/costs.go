// Package costs measures what locks cost: requests, round trips, messages, and virtual time. Its
// tests print the tables of docs/costs.md and verify what the page says.
package costs

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Cost is what one process causes.
type Cost struct {
	Requests   int // to any server
	RoundTrips int // one after another; a request before the reply to another adds none
	Messages   int // between the process and the servers, and between servers
	Leader     int // the part that the leader sends or receives
}

// minus returns the difference of two costs.
func (c Cost) minus(other Cost) Cost {
	return Cost{
		c.Requests - other.Requests, c.RoundTrips - other.RoundTrips,
		c.Messages - other.Messages, c.Leader - other.Leader,
	}
}

// Measure counts the messages in a history of one process, which is connected to a follower if the
// ensemble has several servers. The follower forwards a write to the leader. Each follower applies
// it after a proposal, an acknowledgement and a commit (Junqueira, Reed and Serafini, DSN 2011).
func Measure(events []history.Event, servers int) (c Cost) {
	waiting := false // since the last reply a request has left
	for i := range events {
		own, between := 0, 0
		switch events[i].Kind {
		case history.Send, history.Command:
			own = 1
			c.Requests++
			if !waiting {
				c.RoundTrips++
			}
			waiting = true
		case history.Reply, history.Answer:
			own = 1
			waiting = false
		case history.NodeCreated, history.NodeDeleted:
			between = min(1, servers-1)
		case history.Applied:
			between = 3
		}
		c.Messages += own + between
		c.Leader += between
		if servers == 1 {
			c.Leader += own
		}
	}
	return c
}

// Cycle returns what a further acquisition with its release costs a process that has the lock for
// itself. The scenario gives the lock, the client and the servers. An error says that the lock
// panics, or does not finish.
func Cycle(runner *engine.Runner, scenario scenarios.Scenario) (Cost, error) {
	scenario.Clients, scenario.Cycles, scenario.Faults = 1, 2, faults.Plan{}
	servers := scenario.EffectiveServers()
	before, err := whole(runner, &scenario)
	if err != nil {
		return Cost{}, err
	}
	first := Measure(before, servers)
	scenario.Cycles = 3
	after, err := whole(runner, &scenario)
	return Measure(after, servers).minus(first), err
}

// whole returns the events of the run without faults, or an error if the lock panics or the run
// does not end.
func whole(runner *engine.Runner, scenario *scenarios.Scenario) ([]history.Event, error) {
	r := runner.Run(scenario, undisturbed{})
	switch {
	case r.Panic != "":
		return nil, fmt.Errorf("%v: %s", scenario, r.Panic)
	case r.CutOff:
		return nil, fmt.Errorf("%v: a run without faults does not end", scenario)
	}
	return r.Events, nil
}

// A HandOff is how a lock passes from one process to the next.
type HandOff struct {
	// Latency is the virtual time from the call of Unlock to the next grant of a process that
	// waited. It has no message delays: what remains are timers of the lock.
	Latency    time.Duration
	RoundTrips int // of the next holder, from that call to its grant
}

// Release returns the slowest hand-off after a release, and false if no process had to wait. The
// scenario gives the lock, the client and the servers.
func Release(runner *engine.Runner, scenario scenarios.Scenario) (slowest HandOff, waited bool) {
	scenario.Clients, scenario.Cycles, scenario.Faults = 2, 2, faults.Plan{}
	events := runner.Run(&scenario, AllWait{}).Events
	for i := range events {
		if events[i].Kind != history.UnlockCall {
			continue
		}
		if h, ok := handOff(events, i); ok {
			waited = true
			slowest.Latency = max(slowest.Latency, h.Latency)
			slowest.RoundTrips = max(slowest.RoundTrips, h.RoundTrips)
		}
	}
	return slowest, waited
}

// handOff returns the hand-off after a call of Unlock, to the next process that is granted the lock
// among those waiting at the call.
func handOff(events []history.Event, unlock int) (h HandOff, ok bool) {
	waits := make(map[int32]bool)
	for _, e := range events[:unlock] {
		switch e.Kind {
		case history.LockCall:
			waits[e.Process] = true
		case history.LockReturn:
			waits[e.Process] = false
		}
	}
	for i, e := range events[unlock:] {
		if e.Kind != history.LockReturn || !waits[e.Process] {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(events[unlock:unlock+i]),
			func(other history.Event) bool { return other.Process != e.Process })
		return HandOff{e.At - events[unlock].At, Measure(own, 1).RoundTrips}, e.Err == ""
	}
	return HandOff{}, false
}

// A Recovery is what follows the crash of a holder.
type Recovery struct {
	Delay   time.Duration // virtual time to the next grant or, without one, to the end of the run
	Granted bool          // to another process
	Ends    bool          // all other processes complete their cycles
}

// Crash returns what follows the crash of the first holder. The scenario gives the lock, the client
// and the servers.
func Crash(runner *engine.Runner, scenario scenarios.Scenario) (after Recovery) {
	scenario.Clients, scenario.Cycles, scenario.Faults = 2, 2, faults.Of(faults.Crash, 1)
	r := runner.Run(&scenario, crashHolder{})
	after.Ends = !r.CutOff
	crashed := slices.IndexFunc(r.Events, func(e history.Event) bool {
		return e.Kind == history.Crashed
	})
	if crashed < 0 {
		return after
	}
	for _, e := range r.Events[crashed:] {
		after.Delay = e.At - r.Events[crashed].At
		if after.Granted = e.Kind == history.LockReturn && e.Err == ""; after.Granted {
			break
		}
	}
	return after
}

// undisturbed takes the steps of the default policy.
type undisturbed struct{}

// Choose implements [engine.Strategy].
func (undisturbed) Choose(_ int, _ []sim.EnabledStep, defaultIndex int) int { return defaultIndex }

// AllWait keeps processes in their critical sections until all others wait.
type AllWait struct{}

// Choose implements [engine.Strategy].
func (AllWait) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	if enabled[defaultIndex].Kind != sim.Leave {
		return defaultIndex
	}
	oldest := defaultIndex
	for i := range enabled {
		switch enabled[i].Kind {
		case sim.Serve, sim.Deliver, sim.Enter:
			if oldest == defaultIndex || enabled[i].Age < enabled[oldest].Age {
				oldest = i
			}
		}
	}
	return oldest
}

// crashHolder crashes the first process that is in its critical section.
type crashHolder struct{}

// Choose implements [engine.Strategy].
func (crashHolder) Choose(_ int, enabled []sim.EnabledStep, defaultIndex int) int {
	for i := range enabled {
		for k := range enabled {
			if enabled[i].Kind == sim.Fault && enabled[i].Fault == faults.Crash &&
				enabled[k].Kind == sim.Leave && enabled[k].Process == enabled[i].Process {
				return i
			}
		}
	}
	return defaultIndex
}
