package scenarios

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
)

// A snapshot is what a run was at one moment, between two steps, where no goroutines run; see
// [past]. With it a search goes on from a state on its way, and need not run the way to it again.
type snapshot struct {
	loop       loop
	log        history.Mark
	result     Result
	deviations []Deviation
	cluster    simzk.Snapshot
	processes  []savedProcess
	executor   any // as [executor.save] returns it
	monitor    *history.Monitor
}

// A savedProcess is what a process was.
type savedProcess struct {
	process *process
	was     process
	pending []history.Event
}

// save makes the snapshot one of the run as it is now.
func (l *loop) save(s *snapshot) {
	s.loop, s.log, s.result = *l, l.log.Mark(), *l.result
	s.deviations = append(s.deviations[:0], l.result.Deviations...)
	l.cluster.Save(&s.cluster)
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

// restore makes the run what it was when the snapshot was taken of it, with a result of its own.
func (l *loop) restore(s *snapshot, result *Result) {
	keys, deviations := result.Keys, result.Deviations
	*result = s.result
	result.Keys, result.Deviations = keys, append(deviations, s.deviations...)
	*l = s.loop
	l.result = result
	l.log.Return(s.log)
	l.cluster.Restore(&s.cluster)
	l.executor.restore(s.executor)
	l.processes = l.processes[:0]
	for i := range s.processes {
		one := &s.processes[i]
		l.processes = append(l.processes, one.process)
		*one.process = one.was
		copy(one.process.pending, one.pending)
	}
}

// snapshotEvery is how far two snapshots on a way are from each other. To take one costs about as
// much as two steps.
const snapshotEvery = 3

// snapshot takes a snapshot of the state to which the way has come, if none was taken lately and
// the run can be taken back.
func (x *dfs) snapshot() *snapshot {
	if x.validatedRunner == nil || x.search.noSnapshots || !x.loop.cluster.CanSave() {
		return nil
	}
	for i := max(0, len(x.path)-snapshotEvery+1); i < len(x.path); i++ {
		if x.path[i].snapshot != nil {
			return nil
		}
	}
	var s *snapshot
	if last := len(x.freeSnapshots) - 1; last >= 0 {
		s, x.freeSnapshots = x.freeSnapshots[last], x.freeSnapshots[:last]
	} else {
		s = &snapshot{monitor: x.search.newMonitor()}
	}
	x.loop.save(s)
	s.monitor.Copy(x.monitor)
	return s
}

// latest returns the last snapshot on the way, nil if there is none.
func (x *dfs) latest() *snapshot {
	for _, b := range slices.Backward(x.path) {
		if b.snapshot != nil {
			return b.snapshot
		}
	}
	return nil
}

// shorten leaves no more than the first n states on the way.
func (x *dfs) shorten(n int) {
	for i := n; i < len(x.path); i++ {
		if s := x.path[i].snapshot; s != nil {
			x.freeSnapshots = append(x.freeSnapshots, s)
		}
		if s := x.path[i].state; s != nil {
			s.open = false
		}
	}
	x.path = x.path[:n]
}
