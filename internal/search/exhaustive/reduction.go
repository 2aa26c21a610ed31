package exhaustive

import (
	"slices"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// stubbornSet returns, if it can, steps that suffice in a state: one step of a process that has no
// other, and the faults that can strike that process. The step is the delivery of a message or the
// entry into a critical section. The other steps are deferred: they are tried too if a delivery
// turns out to be visible.
//
// This is a weak stubborn set (Valmari, "Stubborn Sets for Reduced State Space Generation", 1989;
// Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996). The
// delivery is the key step: it reads and writes only the process and the two ends of its queues, so
// that whatever others do before it can as well be done after it. That holds only if the process
// has no other step: it is not at a gate, and no request of its own waits to be served. Only faults
// that strike the process interfere with the delivery. They commute with what the others do: what
// the server posts to a connection that then breaks is lost in either order. No step is deferred
// for ever: only deliveries and entries are put first, and every cycle of states contains a request
// that is served in a state where all steps are tried.
//
// A delivery is invisible if every property that a later delivery violates is violated by the early
// one too. That depends on the monitors, which see the events of the step; see
// [check.Monitor.SoonerHides]. A hold that begins earlier overlaps more, so most grants are
// invisible to mutual exclusion; a grant by a znode that others could delete is visible to
// loss-notification; an Unlock is visible to most properties. If a claim has no monitor, nothing is
// deferred.
//
// An entry suffices if nobody else has the lock and nothing can reach the process before it enters:
// nothing is in flight to or from it, the server has no watch of it, its connection works, and time
// does not pass. Then it commutes with everything that others do, unless a property sees it, as it
// sees a delivery: the other steps are deferred. An entry is not put first if it has another
// effect: the resource stores the token of the process that has entered, the process brings its own
// resource, or the process has been told of its loss.
//
// In an ensemble of several servers more interferes: a server that dies, leaves its leader, is
// elected, or applies the end of a session drops what is in flight to its clients. A delivery is
// put first only where none of that can happen; see noTimeouts. Before deliveries come the steps of
// a server with which nothing else interferes; see serverStubbornSet. Entries are never put first
// there, because a reply can wait at a server.
//
// A fault of a server that is bound to a phase of the lock interferes too: whether it can strike
// depends on what the first process connected to the server does. While the plan has one, nothing
// is deferred.
//
// Time is assumed to commute with a delivery unless it can cost the process its connection. That is
// true of a lock that does not read the clock. For one that does, the reduced search covers only
// schedules in which a deliverable message is not held back while time passes; requests still are.
func (x *dfs) stubbornSet(all []sim.Step) (first, deferred []sim.Step, ok bool) {
	if len(all) == 1 || x.view.PhasedOnServers() {
		return nil, nil, false
	}
	if first, deferred, ok := x.serverStubbornSet(all); ok {
		return first, deferred, true
	}
	at := slices.IndexFunc(all, x.entry)
	if at < 0 {
		at = slices.IndexFunc(all, x.private)
	}
	if at < 0 || x.search.Scenario.EffectiveServers() > 1 && !x.noTimeouts(all[at].Process) {
		return nil, nil, false
	}
	first = append(x.scratch.first[:0], all[at])
	for i, step := range all {
		switch {
		case i == at:
		case step.Kind == sim.Fault && step.Process == all[at].Process:
			first = append(first, step)
		default:
			deferred = append(slices.Grow(deferred, len(all)-i), step)
		}
	}
	x.scratch.first = first
	return first, deferred, true
}

// noTimeouts reports whether no server will drop what is in flight to a process, unless the
// process's own steps, faults that strike it, or time are the cause: no fault of a server or of a
// link between servers can strike any more, the session of the process, if it has one, has not
// ended, and its server keeps following its leader. In a fully connected ensemble every server
// does. Otherwise a client without a session may turn to servers that depend on what is healed
// first.
func (x *dfs) noTimeouts(process int32) bool {
	return x.view.Unassailable() &&
		x.view.Independent().Retains(x.view.Client(process), x.search.IdleTicks == 0)
}

// client returns the client of a process.
func (x *dfs) client(process int32) sim.IndependentClient {
	return x.view.Client(process).(sim.IndependentClient)
}

// serverStubbornSet returns the steps of a server that is about to apply a transaction, and of its
// clients, if they commute with everything that others do: no fault can strike any more, and no
// client of the server is at a gate or has a request whose outcome others influence before the
// server applies the transaction. A client that waits for a reply which comes only after that takes
// no step that matters to the server until then. No client moves to the server meanwhile: connected
// clients stay where they are, and the others need time. (A client could lose its connection by its
// own request, such as one with wrong credentials; a lock that does so is not searched completely.)
// At most one client of the server may have steps to take, because these may be visible.
//
// The server keeps going, because a server that can apply a transaction follows a leader with a
// majority. Time is not among the steps, because it passes only where no transaction can be
// applied.
func (x *dfs) serverStubbornSet(all []sim.Step) (first, deferred []sim.Step, ok bool) {
	if !x.view.Faultless() || x.search.IdleTicks > 0 {
		return nil, nil, false
	}
	for _, step := range all {
		server, atServer := step.Server()
		if !atServer || step.Kind != sim.Apply {
			continue
		}
		if client, ok := x.view.Independent().OnlyClient(server, x.view.AtGate); ok {
			first, deferred = split(all, func(s sim.Step) bool {
				return s == step ||
					s.Process == client
			})
			return first, deferred, true
		}
	}
	return nil, nil, false
}

// split returns the steps that satisfy the condition, deliveries first, and the others.
func split(all []sim.Step, are func(sim.Step) bool) (these, others []sim.Step) {
	for _, step := range all {
		switch {
		case !are(step):
			others = append(others, step)
		case step.Kind == sim.Deliver:
			these = slices.Insert(these, 0, step)
		default:
			these = append(these, step)
		}
	}
	return these, others
}

// sleepSet returns the steps to try right after a process has left its critical section while its
// next request waits to be served: its own steps, and the faults of servers, because those are
// counted by what the first client of a server does. The steps of other processes commute with the
// leaving, which nobody notices before that request is served, and have been tried before it. These
// are sleep sets (Godefroid, 1996) in which leaving is the last step of each state. All steps are
// tried if a leaving that came later could hide a violation (see [check.Monitor.LaterHides]), as
// one with which the process calls Lock again; if another process has the lock too, if time may
// pass in between, or if a fault is bound to a phase.
func (x *dfs) sleepSet(all []sim.Step) []sim.Step {
	left := x.lastLeaver()
	if left == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s sim.Step) bool {
		return s.Process > 0 &&
			s.Process != left
	})
}

// oneLogs leaves only the first of several servers that can log a proposal. In a steady ensemble
// the logs of servers decide only when a proposal is committed, and that depends on how many
// servers have logged it.
func (x *dfs) oneLogs(all []sim.Step) []sim.Step {
	if !x.view.Steady() {
		return all
	}
	logs := 0
	return slices.DeleteFunc(all, func(s sim.Step) bool {
		if s.Kind == sim.Log {
			logs++
		}
		return s.Kind == sim.Log && logs > 1
	})
}

// lastLeaver returns the process that left its critical section in the last step, if [dfs.sleepSet]
// applies, or else 0.
func (x *dfs) lastLeaver() int32 {
	last := len(x.path) - 1
	if last < 0 || x.path[last].step.Kind != sim.Leave || x.search.IdleTicks > 0 ||
		x.search.Scenario.EffectiveServers() > 1 || x.search.NoReduction ||
		x.view.PhasedOnServers() {
		return 0
	}
	left := x.path[last].step.Process
	if !x.client(left).CanServe() || x.held(left) || x.monitor.LaterHides(x.lastStep) {
		return 0
	}
	return left
}

// healed returns the process whose link was healed in the last step, or 0.
func (x *dfs) healed() int32 {
	if last := len(x.path) - 1; last >= 0 && x.path[last].heals {
		return x.path[last].step.Process
	}
	return 0
}

// held reports whether a process other than the given one has the lock.
func (x *dfs) held(but int32) bool {
	for number := int32(1); int(number) <= x.view.Processes(); number++ {
		if number != but && x.view.Holds(number) {
			return true
		}
	}
	return false
}

// private reports whether a step is a delivery that concerns only its process, which has no other
// step. It concerns time too where time can pass before it and can make the client give up the
// connection.
func (x *dfs) private(step sim.Step) bool {
	if step.Kind != sim.Deliver {
		return false
	}
	if x.client(step.Process).MayTimeOut() &&
		(x.idleTicks() < x.search.IdleTicks || x.continuesIdle()) {
		return false
	}
	return !x.view.AtGate(int(step.Process)) && x.view.Client(step.Process).Unserved() == 0
}

// entry reports whether a step is an entry that concerns only its process, which has no other step.
func (x *dfs) entry(step sim.Step) bool {
	if step.Kind != sim.Enter || x.search.IdleTicks > 0 ||
		x.search.Scenario.EffectiveServers() > 1 ||
		x.search.Scenario.Subject.Guard == scenarios.TokenChecked {
		return false
	}
	if x.view.Lost(step.Process) || x.view.OwnsResource(step.Process) {
		return false
	}
	return x.client(step.Process).Silent() && !x.held(step.Process)
}

// commutes reports whether a step need not be tried in this state, because it commutes with
// everything until the next tick, where it is tried. That is so for healing a link.
func (x *dfs) commutes(o *sim.EnabledStep) bool {
	healed := x.healed()
	switch {
	case x.heals(o.Step):
		return o.Process < healed
	case x.search.NoReduction:
		return false
	}
	return healed != 0 && o.Kind != sim.Tick
}

// heals reports whether a step heals a link that was cut. Nobody notices that until time has passed
// and the client dials. A stalled link differs: its messages arrive at once.
func (x *dfs) heals(step sim.Step) bool {
	if step.Kind != sim.Heal || step.Process <= 0 || step.Peer != 0 {
		// Once a client can reach a server again, it may go on to that one without a pause.
		return false
	}
	client, ok := x.view.Client(step.Process).(sim.IndependentClient)
	return ok && !client.Stalled()
}
