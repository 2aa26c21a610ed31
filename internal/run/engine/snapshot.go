package engine

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/sim"
)

// A Snapshot is the state of a run between two steps, for a run whose [Executor] has no goroutines.
// A search continues from a snapshot instead of executing the path to it again.
type Snapshot struct {
	loop       Loop
	log        history.Mark
	result     Result
	deviations []Deviation
	system     any // as [sim.Snapshotter.Save] returns it
	processes  []savedProcess
	executor   any // as [Executor.Save] returns it
}

// A savedProcess is the state of a process.
type savedProcess struct {
	process *Process
	was     Process
	pending []history.Event
}

// save stores the current state of the run in the snapshot.
func (l *Loop) save(s *Snapshot) {
	s.loop, s.log, s.result = *l, l.log.Mark(), *l.result
	s.deviations = append(s.deviations[:0], l.result.Deviations...)
	s.system = l.System.(sim.Snapshotter).Save(s.system)
	s.executor = l.executor.Save(s.executor)
	for len(s.processes) < len(l.Processes) {
		s.processes = append(s.processes, savedProcess{})
	}
	s.processes = s.processes[:len(l.Processes)]
	for i, p := range l.Processes {
		one := &s.processes[i]
		one.process, one.was = p, *p
		one.pending = append(one.pending[:0], p.Pending...)
	}
}

// restore returns the run to the snapshot, with a result of its own.
func (l *Loop) restore(s *Snapshot, result *Result) {
	keys, deviations := result.Keys, result.Deviations
	*result = s.result
	result.Keys, result.Deviations = keys, append(deviations, s.deviations...)
	*l = s.loop
	l.result = result
	l.log.Return(s.log)
	l.System.(sim.Snapshotter).Restore(s.system)
	l.executor.Restore(s.executor)
	l.Processes, l.Contenders = l.Processes[:0], l.Contenders[:0]
	for i := range s.processes {
		one := &s.processes[i]
		l.Processes = append(l.Processes, one.process)
		l.Contenders = append(l.Contenders, one.process)
		*one.process = one.was
		copy(one.process.Pending, one.pending)
	}
}
