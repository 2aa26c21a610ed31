package scenarios

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk"
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
// one too. That depends on the monitors, which see the process return from Lock, call Unlock or
// learn of a loss in the step: see visible in package history. A hold that begins earlier overlaps
// more, so most grants are invisible to mutual exclusion; a grant by a znode that others could
// delete is visible to loss-notification; an Unlock is visible to most properties. If a claim has
// no monitor, every event of the lock is visible.
//
// An entry suffices if nobody else has the lock and nothing can reach the process before it enters:
// nothing is in flight to or from it, the server has no watch of it, its connection works, and time
// does not pass. Then it commutes with everything that others do, except with another entry. That
// one is visible, and a process that enters early is inside, and has read the resource, whenever
// one that enters later is. An entry does not suffice if it has another effect: the resource stores
// the token of whoever has entered, the process brings its own resource, or the process has been
// told of its loss.
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
func (x *dfs) stubbornSet(all []Step) (first, deferred []Step, ok bool) {
	if len(all) == 1 || x.loop.budget.PhasedOnServers() {
		return nil, nil, false
	}
	if first, deferred, ok := x.serverStubbornSet(all); ok {
		return first, deferred, true
	}
	at := slices.IndexFunc(all, x.entry)
	entry := at >= 0
	if !entry {
		at = slices.IndexFunc(all, x.private)
	}
	if at < 0 || x.search.Scenario.Servers > 1 && !x.noTimeouts(all[at].Process) {
		return nil, nil, false
	}
	first = append(make([]Step, 0, 4), all[at])
	for i, step := range all {
		switch {
		case i == at:
		case step.Kind == Fault && step.Process == all[at].Process && mutated == withoutFaults:
		case step.Kind == Fault && step.Process == all[at].Process:
			first = append(first, step)
		case !entry:
			deferred = append(deferred, step)
		}
	}
	return first, deferred, true
}

// noTimeouts reports whether no server will drop what is in flight to a process, unless the
// process's own steps, faults that strike it, or time are the cause: no fault of a server or of a
// link between servers can strike any more, the session of the process, if it has one, has not
// ended, and its server keeps following its leader. In a fully connected ensemble every server
// does. Otherwise a client without a session may turn to servers that depend on what is healed
// first.
func (x *dfs) noTimeouts(process int32) bool {
	link := x.loop.processes[process-1].link
	switch {
	case mutated == ignoreTimeouts:
		return true
	case !x.loop.unassailable() || link.Ended():
		return false
	case x.loop.cluster.FullyConnected():
		return true
	}
	return x.search.IdleTicks == 0 && link.Attached() &&
		x.loop.cluster.FollowsQuorum(link.ServerIndex())
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
func (x *dfs) serverStubbornSet(all []Step) (first, deferred []Step, ok bool) {
	if !x.loop.faultless || x.search.IdleTicks > 0 {
		return nil, nil, false
	}
	for _, step := range all {
		server, atServer := step.server()
		if !atServer || step.Kind != Apply {
			continue
		}
		if client, ok := x.onlyClient(server); ok {
			first, deferred = split(all, func(s Step) bool {
				return s == step ||
					s.Process == client
			})
			return first, deferred, true
		}
	}
	return nil, nil, false
}

// onlyClient returns the one process that can take steps at the server or at its clients, or 0 if
// there is none. It returns false if others influence what they do; see serverStubbornSet.
func (x *dfs) onlyClient(server int) (client int32, ok bool) {
	cluster := x.loop.cluster
	for _, p := range x.loop.processes {
		l := p.link
		switch own := l.ServerIndex() == server; {
		case l.Crashed():
			if own && l.Unserved() > 0 {
				return 0, false
			}
		case !l.Connected():
			if l.Paused() {
				return 0, false // It may dial as soon as it resumes.
			}
		case !cluster.FollowsQuorum(l.ServerIndex()), !l.WillHaveSession() &&
			!(own && l.Ended() && cluster.FullyConnected()):
			return 0, false
		case own && l.Ended() && l.AwaitsApply():
			// What is under way to it is lost when the server applies the end, and what it asks
			// for.
			return 0, false
		case !own || l.AwaitsApply():
		case p.waiting || client != 0 || dependent(l):
			return 0, false
		case l.Unserved() > 0 || l.Undelivered() > 0 || l.Down() || l.Paused():
			client = int32(p.Number)
		}
	}
	return client, true
}

// dependent reports whether others decide when the client's next request can be served.
func dependent(l *simzk.Link) bool {
	held, _ := l.Stalled()
	_, servable := l.Servable()
	return l.Unserved() > 0 && !servable && !held
}

// split returns the steps that satisfy the condition, deliveries first, and the others.
func split(all []Step, are func(Step) bool) (these, others []Step) {
	for _, step := range all {
		switch {
		case !are(step):
			others = append(others, step)
		case step.Kind == Deliver:
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
// are sleep sets (Godefroid, 1996) in which leaving is the last step of each state. A process that
// stays inside longer violates every property that one violates which stays less long. All steps
// are tried if another process has the lock too, if time may pass in between, or if a fault is
// bound to a phase.
func (x *dfs) sleepSet(all []Step) []Step {
	left := x.lastLeaver()
	if left == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s Step) bool { return s.Process > 0 && s.Process != left })
}

// oneLogs leaves only the first of several servers that can log a proposal. In a steady ensemble
// the logs of servers decide only when a proposal is committed, and that depends on how many
// servers have logged it.
func (x *dfs) oneLogs(all []Step) []Step {
	if !x.loop.steady() {
		return all
	}
	logs := 0
	return slices.DeleteFunc(all, func(s Step) bool {
		if s.Kind == Log {
			logs++
		}
		return s.Kind == Log && logs > 1
	})
}

// lastLeaver returns the process that left its critical section in the last step, if [dfs.sleepSet]
// applies, or else 0.
func (x *dfs) lastLeaver() int32 {
	last := len(x.path) - 1
	if last < 0 || x.path[last].step.Kind != Leave && !(mutated == afterDelivery &&
		x.path[last].step.Kind == Deliver) || x.search.Scenario.Servers > 1 ||
		x.search.IdleTicks > 0 ||
		x.search.NoReduction || x.loop.budget.PhasedOnServers() {
		return 0
	}
	left := x.path[last].step.Process
	if _, servable := x.loop.processes[left-1].link.Servable(); !servable || x.held(left) &&
		mutated != leavingAmongHolders {
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
	return slices.ContainsFunc(x.loop.processes, func(p *process) bool {
		return p.Number != int(but) &&
			p.stage == holding
	})
}

// private reports whether a step is a delivery that concerns only its process, which has no other
// step. It concerns time too where time can pass before it and can make the client give up the
// connection.
func (x *dfs) private(step Step) bool {
	if step.Kind != Deliver {
		return false
	}
	p := x.loop.processes[step.Process-1]
	if p.link.MayTimeOut() && x.idleTicks() < x.search.IdleTicks {
		return false
	}
	return !p.waiting && (p.link.Unserved() == 0 || mutated == overRequest)
}

// entry reports whether a step is an entry that concerns only its process, which has no other step.
func (x *dfs) entry(step Step) bool {
	if step.Kind != Enter || x.search.IdleTicks > 0 || x.search.Scenario.Servers > 1 ||
		x.search.Scenario.Subject.Guard == TokenChecked && mutated != entryBeforeToken {
		return false
	}
	p := x.loop.processes[step.Process-1]
	if p.lost || x.loop.executor.ownsResource(p) {
		return false
	}
	requests, replies := p.link.Stalled()
	if !p.link.Connected() || requests || replies || p.link.Unserved() > 0 ||
		p.link.Undelivered() > 0 || p.link.Watching() {
		return false
	}
	return !x.held(step.Process)
}

// commutes reports whether a step need not be tried in this state, because it commutes with
// everything until the next tick, where it is tried. That is so for healing a link.
func (x *dfs) commutes(o *EnabledStep) bool {
	healed := x.healed()
	switch {
	case x.heals(o.Step):
		return o.Process < healed
	case x.search.NoReduction:
		return false
	}
	return healed != 0 && o.Kind != Tick
}

// heals reports whether a step heals a link that was cut. Nobody notices that until time has passed
// and the client dials. A stalled link differs: its messages arrive at once.
func (x *dfs) heals(step Step) bool {
	if step.Kind != Heal || step.Process <= 0 || step.Peer != 0 {
		// Once a client can reach a server again, it may go on to that one without a pause.
		return false
	}
	requests, replies := x.loop.processes[step.Process-1].link.Stalled()
	return !requests && !replies
}
