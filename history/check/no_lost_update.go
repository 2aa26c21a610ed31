package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// ReasonLostUpdate is a reason of violations of [history.NoLostUpdate].
const ReasonLostUpdate = "a write was accepted that did not take an earlier write into account"

// NoLostUpdate decides [history.NoLostUpdate]: no process overwrites a version of the resource that
// it has not read. This is the effect of mutual exclusion, measured at the resource.
//
// An event of the property is an accepted write of a process that has read the resource. The last
// version that the process has read or written is the current version of the resource.
//   - Versions are the Zxids of ResourceRead and ResourceWrite events.
//   - For a znode, which the ResourceRead names by its Path, versions are zxids, and each
//     NodeCreated or NodeChanged is an accepted write, whether or not its process learns of it.
//
// The property does not cover a write of a process that has read nothing.
//
// The check takes time linear in the events, times the number of resources and processes.
// [LostUpdates] counts the violations.
func NoLostUpdate(events []history.Event) *history.Violation {
	return decide(history.NoLostUpdate, new(updateMonitor), events)
}

// LostUpdates returns the number of writes that break [history.NoLostUpdate] and the number of
// accepted writes.
func LostUpdates(events []history.Event) (lost, writes int) {
	var m updateMonitor
	for i := range events {
		if m.observe(nil, events, i) != nil {
			lost++
		}
	}
	return lost, m.writes
}

type updateMonitor struct {
	resources []resource
	readings  []reading
	writes    int // accepted writes
}

func (m *updateMonitor) reset() {
	m.resources, m.readings, m.writes = m.resources[:0], m.readings[:0], 0
}

func (m *updateMonitor) copy(from monitor) {
	other := from.(*updateMonitor)
	m.resources, m.readings = append(m.resources[:0], other.resources...),
		append(m.readings[:0], other.readings...)
	m.writes = other.writes
}

func (m *updateMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *updateMonitor) state(_ *queue, s *State) {
	resources, readings := uint64(0), uint64(0)
	for i := range m.resources {
		resources += fold(s.text(m.resources[i].path), uint64(m.resources[i].version))
	}
	for i := range m.readings {
		if r := &m.readings[i]; !s.ended(r.process) {
			readings += fold(s.text(r.path)+uint64(r.process), uint64(r.version))
		}
	}
	s.fold(resources, readings)
}

// freedom: what a process has read of a znode matters only when it writes, unless the reading
// decides which version of the znode is the first. For any other resource the order of all reported
// reads and writes matters, but only holders read and write.
func (m *updateMonitor) freedom(_ *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.ResourceRead:
		known := slices.ContainsFunc(m.resources,
			func(r resource) bool { return r.path == e.Path })
		return free(e.Path != "" && known, sooner)
	case history.ResourceWrite:
		return later | free(e.Path != "", sooner)
	}
	return fixed
}

func (m *updateMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	if e.Kind == history.ResourceRead {
		if e.Err == "" {
			m.read(e)
		}
		return nil
	}
	n := accepted(m.resources, e)
	if n < 0 {
		return nil
	}
	m.writes++
	before := m.resources[n]
	m.resources[n].version, m.resources[n].writer = e.Zxid, e.Process
	r := findReading(m.readings, e.Process, e.Path)
	if r < 0 {
		return nil
	}
	base := m.readings[r].version
	m.readings[r].version = e.Zxid
	if base == before.version {
		return nil
	}
	return &history.Violation{
		Property: history.NoLostUpdate, Event: i, Reason: ReasonLostUpdate,
		Detail: fmt.Sprintf("c%d made version %d of version %d, and overwrote version %d of c%d",
			e.Process, e.Zxid, base, before.version, before.writer),
		Evidence: history.Evidence{
			Process: e.Process, Other: before.writer, Zxid: base, After: before.version,
		},
	}
}

func (m *updateMonitor) read(e *history.Event) {
	m.resources = withResource(m.resources, e)
	if r := findReading(m.readings, e.Process, e.Path); r >= 0 {
		m.readings[r].version = e.Zxid
	} else {
		m.readings = append(m.readings, reading{e.Process, e.Path, e.Zxid})
	}
}
