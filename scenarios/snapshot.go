package scenarios

import "github.com/interlock-sim/interlock/history"

// A snapshot is the state of a run between two steps, for a run without goroutines; see
// [replayExecutor]. A search continues from a snapshot instead of executing the path to it again.
type snapshot struct {
	loop       loop
	log        history.Mark
	result     Result
	deviations []Deviation
	system     any // as [Snapshotter.Save] returns it
	processes  []savedProcess
	executor   any // as [executor.save] returns it
}

// A savedProcess is the state of a process.
type savedProcess struct {
	process *process
	was     process
	pending []history.Event
}

// save stores the current state of the run in the snapshot.
func (l *loop) save(s *snapshot) {
	s.loop, s.log, s.result = *l, l.log.Mark(), *l.result
	s.deviations = append(s.deviations[:0], l.result.Deviations...)
	s.system = l.system.(Snapshotter).Save(s.system)
	s.executor = l.executor.save(s.executor)
	for len(s.processes) < len(l.processes) {
		s.processes = append(s.processes, savedProcess{})
	}
	s.processes = s.processes[:len(l.processes)]
	for i, p := range l.processes {
		one := &s.processes[i]
		one.process, one.was = p, *p
		one.pending = append(one.pending[:0], p.pending...)
	}
}

// restore returns the run to the snapshot, with a result of its own.
func (l *loop) restore(s *snapshot, result *Result) {
	keys, deviations := result.Keys, result.Deviations
	*result = s.result
	result.Keys, result.Deviations = keys, append(deviations, s.deviations...)
	*l = s.loop
	l.result = result
	l.log.Return(s.log)
	l.system.(Snapshotter).Restore(s.system)
	l.executor.restore(s.executor)
	l.processes = l.processes[:0]
	for i := range s.processes {
		one := &s.processes[i]
		l.processes = append(l.processes, one.process)
		*one.process = one.was
		copy(one.process.pending, one.pending)
	}
}
