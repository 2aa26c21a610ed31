package check

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

const reasonForeignRelease = "a process deleted a key that another process had set"

// OwnRelease decides [history.OwnRelease]: no process releases the lock of another by deleting its
// key.
//
// An event of the property is a KeyDeleted. The last KeySet of the same key on the same server is
// by the same process.
//
// The property does not cover keys that expire or that a fault deletes. Package simsql records as a
// KeySet only what makes a process the owner of a row.
//
// The check takes time linear in the events, times the number of keys.
func OwnRelease(events []history.Event) *history.Violation {
	return decide(history.OwnRelease, new(ownReleaseMonitor), events)
}

// A keyOwner is the process that has set a key.
type keyOwner struct {
	path    string
	server  int32
	process int32
	since   int // the index of the KeySet
}

type ownReleaseMonitor struct{ keys []keyOwner }

func (m *ownReleaseMonitor) reset() { m.keys = m.keys[:0] }

func (m *ownReleaseMonitor) copy(from monitor) {
	m.keys = append(m.keys[:0], from.(*ownReleaseMonitor).keys...)
}

func (m *ownReleaseMonitor) finish([]history.Event) *history.Violation { return nil }

func (m *ownReleaseMonitor) state(_ *queue, s *State) {
	sum := uint64(0)
	for i := range m.keys {
		k := &m.keys[i]
		sum += fold(s.text(k.path), uint64(k.server)<<32|uint64(k.process))
	}
	s.fold(sum, 0)
}

// freedom: the order in which commands are executed decides whose key is deleted.
func (m *ownReleaseMonitor) freedom(*queue, *history.Event) freedom { return fixed }

func (m *ownReleaseMonitor) observe(_ *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	at := slices.IndexFunc(m.keys, func(k keyOwner) bool {
		return k.path == e.Path && k.server == e.Server
	})
	if e.Kind == history.KeySet {
		if at < 0 {
			at = len(m.keys)
			m.keys = append(m.keys, keyOwner{path: e.Path, server: e.Server})
		}
		m.keys[at].process, m.keys[at].since = e.Process, i
		return nil
	}
	if at < 0 {
		return nil
	}
	owner := m.keys[at]
	m.keys = slices.Delete(m.keys, at, at+1)
	if e.Kind != history.KeyDeleted || e.Process == owner.process {
		return nil
	}
	return &history.Violation{
		Property: history.OwnRelease, Event: i, Reason: reasonForeignRelease,
		Detail: fmt.Sprintf("c%d deleted %s, which c%d had set at event %d", e.Process, e.Path,
			owner.process, owner.since),
		Evidence: history.Evidence{
			Process: e.Process, Other: owner.process, Path: e.Path, Events: []int{owner.since},
		},
	}
}

// keysDeleted counts the events of the property.
func keysDeleted(events []history.Event) (n int) {
	for i := range events {
		if events[i].Kind == history.KeyDeleted {
			n++
		}
	}
	return n
}
