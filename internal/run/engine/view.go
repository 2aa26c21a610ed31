package engine

import (
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// A View is what a search sees of the run under way. It changes nothing. Processes have the numbers
// of their clients, from 1.
type View struct{ loop *Loop }

func (v View) process(number int32) *Process { return v.loop.contender(number) }

// Processes returns the number of processes, those that have crashed included.
func (v View) Processes() int { return len(v.loop.Processes) }

// Client returns the client of a process.
func (v View) Client(number int32) sim.Client { return v.process(number).Client }

// Independent returns what the system knows of steps that commute.
func (v View) Independent() sim.Independent { return v.loop.System.(sim.Independent) }

// Several reports whether a process has had several connections in this run.
func (v View) Several() bool {
	system, ok := v.loop.System.(sim.Independent)
	return ok && system.Several()
}

// Holds reports whether a process has the lock.
func (v View) Holds(number int32) bool { return v.process(number).Stage == holding }

// Finished reports whether the last call of a process has returned, and the process lives.
func (v View) Finished(number int32) bool { return v.process(number).Stage == finished }

// LastAttempt reports whether a process is in its last attempt, or has finished.
func (v View) LastAttempt(number int32) bool {
	p := v.process(number)
	return int(p.Attempt) == p.Cycles
}

// AtGate reports whether a process waits to enter or leave its critical section.
func (v View) AtGate(number int) bool { return v.process(int32(number)).Waiting }

// Lost reports whether a process has been told that its hold is lost.
func (v View) Lost(number int32) bool { return v.process(number).Lost }

// OwnsResource reports whether the hold of a process brings a resource of its own.
func (v View) OwnsResource(number int32) bool {
	return v.loop.executor.OwnsResource(v.process(number))
}

// Ended reports whether all goroutines of a process are known to have ended.
func (v View) Ended(number int32) bool { return v.loop.executor.Ended(v.process(number)) }

// Twins reports whether nothing tells two processes apart but their names and their random bytes:
// neither replaces another process, their attempts have the same number and the same modes, and
// nothing has happened to them but syncs, which change nothing and whose replies tell nothing, as
// many to each at the same times. No fault has struck them, and no session has changed: what that
// changes at the service is not compared.
func (v View) Twins(a, b int32) bool {
	p, q := v.process(a), v.process(b)
	if p.PID != 1 || q.PID != 1 || p.Cycles != q.Cycles || p.apart || q.apart ||
		p.syncs != q.syncs || p.timeline != q.timeline || p.notified != q.notified ||
		p.Client.Unserved() != q.Client.Unserved() ||
		p.Client.Undelivered() != q.Client.Undelivered() {
		return false
	}
	for cycle := range p.Cycles {
		attempt := int32(cycle + 1)
		if p.subject.Shares(p.Number, attempt) != q.subject.Shares(q.Number, attempt) {
			return false
		}
	}
	return true
}

// Shifts returns a shift of each timer whose phase can move; see [sim.Timers].
func (v View) Shifts() []sim.Step {
	if system, ok := v.loop.System.(sim.Timers); ok {
		return system.Shifts()
	}
	return nil
}

// Events returns the events so far.
func (v View) Events() []history.Event { return v.loop.log.Events() }

// Key returns the key of the present state.
func (v View) Key() uint64 { return v.loop.lastKey() }

// Transactions counts the changes of what the service stores.
func (v View) Transactions() int64 { return v.loop.System.Transactions() }

// Converged reports whether all servers store the same and have nothing left to do.
func (v View) Converged() bool { return v.loop.System.Converged() }

// AwaitsTime reports whether an effect of a fault, an expiry, or what follows it waits only for
// time.
func (v View) AwaitsTime() bool { return v.loop.awaitsTime() }

// Expires reports whether data that the service stores will expire, without a fault.
func (v View) Expires() bool { return v.loop.expires() }

// Expired reports whether data have expired, and time may pass until processes notice it.
func (v View) Expired() bool { return v.loop.expired() }

// Pass returns the step that lets time pass no further than a tick, to the first instant at which a
// timer of a process fires or stored data expire, and whether there is such an instant.
func (v View) Pass() (step sim.Step, stops bool) { return v.loop.pass() }

// Reached reports whether the last step has brought a process anything.
func (v View) Reached() bool { return v.loop.Reached }

// Faultless reports whether the plan allows no more faults.
func (v View) Faultless() bool { return v.loop.faultless }

// Phase returns what the process that a fault strikes is doing, in the terms of fault plans.
func (v View) Phase(fault sim.Step) faults.Phase { return v.loop.phaseOf(fault) }

// Answered reports whether the process that a fault strikes has received all replies, and the
// server has not handled the process's next request.
func (v View) Answered(fault sim.Step) bool {
	p := v.loop.victim(fault)
	return p != nil && p.answered()
}

// PhasedOnServers reports whether the plan binds a fault of a server to what a process does.
func (v View) PhasedOnServers() bool { return v.loop.budget.PhasedOnServers() }

// Unassailable reports whether no fault of a server, or of a link to one, can strike any more.
func (v View) Unassailable() bool { return v.loop.unassailable() }

// Steady reports whether no server can lose its leader any more.
func (v View) Steady() bool { return v.loop.Steady() }

// Leads reports whether a server leads. Servers are counted from 0.
func (v View) Leads(server int) bool { return v.loop.System.Leader(server) }

// CanSave reports whether the run can be saved in a snapshot.
func (v View) CanSave() bool {
	system, ok := v.loop.System.(sim.Snapshotter)
	return ok && system.CanSave()
}

// Save stores the current state of the run in the snapshot.
func (v View) Save(s *Snapshot) { v.loop.save(s) }

// Inspect returns the state of the system for people, or nil if the system cannot be inspected.
func (v View) Inspect() *sim.Inspection {
	if system, ok := v.loop.System.(sim.Inspector); ok {
		return system.Inspect()
	}
	return nil
}

// State returns what the run knows of the code of a process.
func (v View) State(number int32) ProcessState { return v.process(number).ProcessState }

// Now returns the virtual time since the start of the run.
func (v View) Now() time.Duration { return v.loop.System.Now() }
