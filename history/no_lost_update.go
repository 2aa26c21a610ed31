package history

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
)

const reasonLostUpdate = "a write was accepted that did not take an earlier write into account"

// CheckNoLostUpdate decides [NoLostUpdate]: a process that reads, computes and writes while it has
// the lock never overwrites what it has not seen. It is the effect that a lock is there for,
// measured at the resource and not at the lock.
//
// The property holds if whenever the resource accepts a write of a process, the version that the
// process read last, or made itself since, is the last version that there was. Versions are what
// the resource says: the Zxid of a ResourceRead and of a ResourceWrite. Where the resource is a
// znode, its Path stands in the ResourceRead, versions are zxids, and a write is accepted at its
// NodeCreated or NodeChanged, whether or not the process ever heard of that. A write of a process
// that has read nothing is not judged.
//
// It takes time linear in the events, times the number of resources and processes. [LostUpdates]
// counts.
func CheckNoLostUpdate(events []Event) *Violation {
	return decide(NoLostUpdate, new(updateMonitor), events)
}

// LostUpdates counts the writes that [NoLostUpdate] forbids, and all that were accepted.
func LostUpdates(events []Event) (lost, writes int) {
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
	writes    int // that were accepted
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

func (m *updateMonitor) finish(*queue, []Event) *Violation { return nil }

func (m *updateMonitor) state(_ *queue, s *State) {
	resources, readings := uint64(0), uint64(0)
	for i := range m.resources {
		resources += fold(xxhash.Sum64String(m.resources[i].path), uint64(m.resources[i].version))
	}
	for i := range m.readings {
		if r := &m.readings[i]; !s.ended(r.process) {
			readings += fold(xxhash.Sum64String(r.path)+uint64(r.process), uint64(r.version))
		}
	}
	s.fold(resources, readings)
}

// visible: what a process has read of a znode counts when it writes. Of any other resource the
// order of all that processes report counts.
func (m *updateMonitor) visible(_ *queue, e *Event) bool {
	return (e.Kind == ResourceRead || e.Kind == ResourceWrite) && e.Path == ""
}

func (m *updateMonitor) observe(_ *queue, log []Event, i int) *Violation {
	e := &log[i]
	if e.Kind == ResourceRead {
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
	return &Violation{
		Property: NoLostUpdate, Event: i, Reason: reasonLostUpdate,
		Detail: fmt.Sprintf("c%d made version %d of version %d, and overwrote version %d of c%d",
			e.Process, e.Zxid, base, before.version, before.writer),
	}
}

func (m *updateMonitor) read(e *Event) {
	m.resources = withResource(m.resources, e)
	if r := findReading(m.readings, e.Process, e.Path); r >= 0 {
		m.readings[r].version = e.Zxid
	} else {
		m.readings = append(m.readings, reading{e.Process, e.Path, e.Zxid})
	}
}
