package engine

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// An IsolatedProcess runs the code of one process alone: nothing reaches it but what the caller
// passes on.
type IsolatedProcess struct {
	loop    *Loop
	process *Process
	log     history.Log
	result  Result
}

// NewIsolatedProcess prepares a process with the given number, attempts and place, in the memory of
// an old one unless that is nil. Only one goroutine may use it, in the bubble in which it was made.
func NewIsolatedProcess(scenario *scenarios.Scenario, number, cycles int, at sim.Place,
	old *IsolatedProcess,
) *IsolatedProcess {
	s := old
	if s == nil {
		s = &IsolatedProcess{loop: new(Loop)}
	}
	s.log.Reset()
	s.result = Result{}
	s.loop.reset(scenario, nil, &s.log, &s.result, nil)
	for len(s.loop.Processes) < number {
		s.loop.newcomer(cycles, at)
	}
	s.process = s.loop.Processes[number-1]
	s.process.Cycles, s.process.Place = cycles, at
	return s
}

// Start starts the process.
func (s *IsolatedProcess) Start() { go s.process.run() }

// System returns the system of the process, which nothing else uses.
func (s *IsolatedProcess) System() sim.System { return s.loop.System }

// Client returns the client of the process.
func (s *IsolatedProcess) Client() sim.Client { return s.process.Client }

// Waits reports whether the process waits at its gate.
func (s *IsolatedProcess) Waits() bool { return s.process.Waiting }

// OpenGate lets the process go on, with the resource in the given state. Resuming is true if the
// process was paused until a moment ago.
func (s *IsolatedProcess) OpenGate(resource Register, resuming bool) {
	*s.process.Register, s.process.Resuming = resource, resuming
	s.process.Waiting = false
	s.process.resume <- struct{}{}
}

// CancelAttempt ends the context of the process's attempt at the lock.
func (s *IsolatedProcess) CancelAttempt() {
	if s.process.cancel != nil {
		s.loop.executor.CancelAttempt(s.process)
	}
}

// CheckLoss lets the process find out whether its hold is lost.
func (s *IsolatedProcess) CheckLoss() { s.process.checkLoss() }

// Take returns the events of the process since the last call, and its state.
func (s *IsolatedProcess) Take() (events []history.Event, state ProcessState, resource Register) {
	s.process.noteForfeit()
	events = append(events, s.process.Pending...)
	s.process.Pending = s.process.Pending[:0]
	return events, s.process.ProcessState, *s.process.Register
}

// Drop forgets the events of the process since the last call of Take.
func (s *IsolatedProcess) Drop() { s.process.Pending = s.process.Pending[:0] }

// Holds reports whether the process has a hold, and whether that brings a resource of its own.
func (s *IsolatedProcess) Holds() (holds, ownsResource bool) {
	return s.process.hold != nil, s.loop.executor.OwnsResource(s.process)
}

// Loss returns the channel that closes when the hold of the process is lost. It returns nil if the
// process has no hold, has been told of its loss, or cannot be told.
func (s *IsolatedProcess) Loss() <-chan struct{} {
	if s.process.hold == nil || s.process.Lost {
		return nil
	}
	return s.process.hold.Done
}

// TearDown ends the process. If the run is judged, a process that has finished is shut down
// cleanly, so that a goroutine that remains is a leak.
func (s *IsolatedProcess) TearDown(judged bool) { s.loop.tearDown(judged) }
