package scenarios

import "github.com/interlock-sim/interlock/history"

// An isolated process runs the code of one process alone: nothing reaches it but what the caller
// passes on.
type isolated struct {
	loop    *loop
	process *process
}

// newIsolated prepares a process with the given number and attempts, in the memory of an old one
// unless that is nil. Only one goroutine may use it, in the bubble in which it was made.
func newIsolated(scenario *Scenario, number, cycles int, old *isolated) *isolated {
	s := old
	if s == nil {
		s = &isolated{loop: new(loop)}
	}
	s.loop.reset(scenario, nil, new(history.Log), &Result{})
	for len(s.loop.processes) < number {
		s.loop.newcomer(cycles)
	}
	s.process = s.loop.processes[number-1]
	s.process.cycles = cycles
	return s
}

// start starts the process.
func (s *isolated) start() { go s.process.run() }

// system returns the system of the process, which nothing else uses.
func (s *isolated) system() System { return s.loop.system }

// client returns the client of the process.
func (s *isolated) client() Client { return s.process.client }

// openGate lets the process go on, with the resource in the given state. Resuming tells whether the
// process was paused until a moment ago.
func (s *isolated) openGate(resource register, resuming bool) {
	*s.process.register, s.process.resuming = resource, resuming
	s.process.waiting = false
	s.process.resume <- struct{}{}
}

// cancelAttempt ends the context of the process's attempt at the lock.
func (s *isolated) cancelAttempt() { s.loop.executor.cancelAttempt(s.process) }

// checkLoss lets the process find out whether its hold is lost.
func (s *isolated) checkLoss() { s.process.checkLoss() }

// take returns the events of the process since the last call, and its state.
func (s *isolated) take() (events []history.Event, state processState, resource register) {
	events = append(events, s.process.pending...)
	s.process.pending = s.process.pending[:0]
	return events, s.process.processState, *s.process.register
}

// holds reports whether the process has a hold, and whether that brings a resource of its own.
func (s *isolated) holds() (holds, ownsResource bool) {
	return s.process.hold != nil, s.loop.executor.ownsResource(s.process)
}

// loss returns the channel that closes when the hold of the process is lost. It returns nil if the
// process has no hold, has been told of its loss, or cannot be told.
func (s *isolated) loss() <-chan struct{} {
	if s.process.hold == nil || s.process.lost {
		return nil
	}
	return s.process.hold.Done
}

// tearDown ends the process. If the run is judged, a process that has finished is shut down
// cleanly, so that a goroutine that remains is a leak.
func (s *isolated) tearDown(judged bool) { s.loop.tearDown(judged) }
