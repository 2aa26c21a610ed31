package scenarios

import (
	"slices"

	"github.com/interlock-sim/interlock/simzk"
)

// stubbornSet picks steps that suffice in a state, if it can: one of a process that can do nothing
// else, and the faults that can strike that process. That step is the delivery of a message, or the
// entry into a critical section. The other steps are deferred: to be tried too only if a delivery
// turns out to be visible.
//
// This is a weak stubborn set (Valmari, "Stubborn Sets for Reduced State Space Generation", 1989;
// Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996). The
// delivery is the key step: it reads and writes nothing but the process and the two ends of its
// queues, so that what others do before it can as well be done after it. That is so only if the
// process has no other way to move: it is not at a gate, and has no request of its own before the
// server. Only faults that strike the process interfere with the delivery. They themselves commute
// with what the others do: what the server posts to a connection that then breaks is lost in either
// order. No step is deferred for ever: only deliveries and entries are put first, and on every way
// back to the same state some request is served, in a state where all is tried.
//
// A delivery is invisible if each property breaks without a delay of it wherever it breaks with
// one. Which events are so is a matter of each property's monitor, which sees the process return
// from Lock, call Unlock or learn of a loss in the step: see visible in package history. A hold
// that begins earlier overlaps more, so that most grants are invisible to mutual exclusion; a grant
// by a node that others could delete is visible to loss, an Unlock is visible to most, and so on.
// If a claim has no monitor, every event of the lock is visible.
//
// An entry suffices where nobody else has the lock and nothing can reach the process before it
// enters: nothing is under way to it or from it, no watch of its stands at the server, its
// connection is whole, and time does not pass. All that others do commutes with it then, but for
// another's coming in. That is visible; and a process that enters at once is inside, and has read
// the resource, whenever one is that enters later. It does not suffice where the entry has an
// effect beyond that: where the resource remembers the token of whoever has entered, where the
// process brings its own resource, or where it has been told of its loss.
//
// In an ensemble of several servers there is more that interferes: a server that dies, that leaves
// its leader or is elected, or that applies the end of a session, drops what is under way to its
// clients. A delivery is put first only where none of these can happen; see calm. Before that come
// the steps of a server with which nothing else interferes; see secluded. Entries are left out
// nowhere there, as an answer can wait at a server.
//
// So does a fault of a server that is bound to a phase of the lock: whether it can strike depends
// on what the first process does that is connected. As long as the plan has one, nothing is left
// out either.
//
// Time is taken to commute with a delivery too, unless it can cost the process its connection. That
// is so for a lock that does not look at the clock. For one that does, the reduced search sees only
// schedules in which a message that can be delivered is not held back while time passes; requests
// still are.
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

// noTimeouts tells whether no server will drop what is under way to a process of which the
// process's own steps, and the faults that strike it, are not the cause, unless time passes: no
// fault of a server or of a link between two can strike any more, the process's session has not
// ended, if it has one, and its server goes on. In an ensemble that is whole, no server but goes
// on. In another one where a client turns to that is without a session depends on who is healed
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
	return x.search.IdleTicks == 0 && link.Attached() && x.loop.cluster.Secure(link.ServerIndex())
}

// serverStubbornSet picks the steps of a server that is about to apply a transaction, and of its
// clients, if what all others do commutes with them: nothing can strike any more, and none of its
// clients is at a gate or asks for what the others have a say in before the server has applied the
// transaction. A client that waits for an answer which comes only after that takes no step that
// matters to the server until then. No client comes to the server meanwhile: all that are connected
// are where they stay, and those that are not connected need time. (One could lose its connection
// by what it asks for itself, such as with wrong credentials; a lock that does so is not searched
// whole.) At most one of the server's clients may have steps to take, as what it does may be
// visible.
//
// The server itself goes on, as one that can apply anything follows a leader with a majority. Nor
// is time among the steps, which passes only where no transaction can be applied.
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

// onlyClient returns the one process whose steps a server and its clients can take by themselves, 0
// if there is none, and false if others have a say in what they do; see secluded.
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
				return 0, false // Once it goes on it may dial at once.
			}
		case !cluster.Secure(l.ServerIndex()), !l.Stays() &&
			!(own && l.Ended() && cluster.FullyConnected()):
			return 0, false
		case own && l.Ended() && l.Waits():
			// What is under way to it is lost when the server applies the end, and what it asks
			// for.
			return 0, false
		case !own || l.Waits():
		case p.waiting || client != 0 || dependent(l):
			return 0, false
		case l.Unserved() > 0 || l.Undelivered() > 0 || l.Down() || l.Paused():
			client = int32(p.Number)
		}
	}
	return client, true
}

// dependent tells whether it depends on others when the client's next request can be served.
func dependent(l *simzk.Link) bool {
	held, _ := l.Stalled()
	_, servable := l.Servable()
	return l.Unserved() > 0 && !servable && !held
}

// split returns the steps that are as asked, deliveries first, and the others.
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

// sleepSet picks what has to be tried right after a process has left its critical section while its
// next request waits to be served: its own steps, and the faults of servers, which are counted by
// what the first client of a server does. What other processes do commutes with the leaving, of
// which nobody learns before that request is served, and has been tried before it: these are sleep
// sets (Godefroid, 1996) with the leaving as the last step of each state. Who is inside for longer
// breaks all that one breaks who is inside for less. Where somebody else has the lock too, time may
// pass in between, or a fault is bound to a phase, everything is tried.
func (x *dfs) sleepSet(all []Step) []Step {
	left := x.lastLeaver()
	if left == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s Step) bool { return s.Process > 0 && s.Process != left })
}

// oneLogs leaves only the first of several servers that can log a proposal. In a steady ensemble
// what a server has logged decides nothing but when a proposal is committed, and that depends on
// how many have logged it.
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

// lastLeaver returns the process that has left its critical section right before, if that is a
// reason to leave something out; else 0.
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

// healed returns the process whose link has been healed right before, 0 if none has.
func (x *dfs) healed() int32 {
	if last := len(x.path) - 1; last >= 0 && x.path[last].heals {
		return x.path[last].step.Process
	}
	return 0
}

// held tells whether a process other than the given one has the lock.
func (x *dfs) held(but int32) bool {
	return slices.ContainsFunc(x.loop.processes, func(p *process) bool {
		return p.Number != int(but) &&
			p.stage == holding
	})
}

// private tells whether a step is a delivery that concerns nobody but its process, which can do
// nothing else. It concerns time too where that can pass before, and lets the client give up the
// connection on which the message is under way.
func (x *dfs) private(step Step) bool {
	if step.Kind != Deliver {
		return false
	}
	p := x.loop.processes[step.Process-1]
	if p.link.Impatient() && x.idleTicks() < x.search.IdleTicks {
		return false
	}
	return !p.waiting && (p.link.Unserved() == 0 || mutated == overRequest)
}

// entry tells whether a step is an entry that concerns nobody but its process, which can do nothing
// else.
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

// commutes tells whether a step need not be tried in this state, because it commutes with all that
// can happen before the next tick, where it is tried. That is so for the mending of a link.
func (x *dfs) commutes(o *EnabledStep) bool {
	mended := x.healed()
	switch {
	case x.heals(o.Step):
		return o.Process < mended
	case x.search.NoReduction:
		return false
	}
	return mended != 0 && o.Kind != Tick
}

// heals tells whether a step heals a link that was cut: nobody takes notice of that until time has
// passed and the client tries to connect. It is otherwise where messages are held, which then get
// through at once.
func (x *dfs) heals(step Step) bool {
	if step.Kind != Heal || step.Process <= 0 || step.Peer != 0 {
		// Once a client can reach a server again, it may go on to that one without a pause.
		return false
	}
	requests, replies := x.loop.processes[step.Process-1].link.Stalled()
	return !requests && !replies
}
