package check

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

// ReasonLateWrite is a reason of violations of [history.Fencing].
const ReasonLateWrite = "a write of an older holder was accepted after one of a newer holder"

// A lastGrant is the position of a process's last grant in the order of holders: the transaction
// that created the node of the grant, or its token if no node is known.
type lastGrant struct {
	process int32
	zxid    int64
}

// Fencing decides [history.Fencing]: no resource accepts a write of an older holder after a write
// of a newer one.
//
// An event of the property is an accepted write, as for [NoLostUpdate]. Its holder is the last
// grant of its process. Of two holders the older one is the one whose node was created earlier; if
// no node is known, the one whose grant has the lower token. The order does not depend on the
// tokens, if nodes are known, because the tokens themselves may be wrong.
//
// The property does not cover the writes of a process that was never granted the lock.
//
// Source: M. Burrows, The Chubby lock service, OSDI 2006, section 2.4, on sequencers.
//
// The check takes time linear in the events, times the number of live nodes, processes and
// resources.
func Fencing(events []history.Event) *history.Violation {
	return decide(history.Fencing, new(fencingMonitor), events)
}

type fencingMonitor struct {
	resources  []resource // the version of each is the position of the newest holder that wrote it
	lastGrants []lastGrant
}

func (m *fencingMonitor) reset() { m.resources, m.lastGrants = m.resources[:0], m.lastGrants[:0] }

func (m *fencingMonitor) copy(from monitor) {
	other := from.(*fencingMonitor)
	m.resources, m.lastGrants = append(m.resources[:0], other.resources...),
		append(m.lastGrants[:0], other.lastGrants...)
}

func (m *fencingMonitor) finish([]history.Event) *history.Violation { return nil }

// state folds in the positions and not only their order, because the position of a grant by a token
// alone is not part of any node. The nodes that may still be granted have positions in the state of
// the ensemble, or in the queue if they are deleted.
func (m *fencingMonitor) state(q *queue, s *State) {
	resources, grants := uint64(0), uint64(0)
	for i := range m.resources {
		resources += fold(s.text(m.resources[i].path), uint64(m.resources[i].version))
	}
	for _, f := range m.lastGrants {
		if !s.ended(f.process) {
			grants += fold(uint64(f.process), uint64(f.zxid))
		}
	}
	s.fold(resources, grants)
	for n := range q.Nodes {
		if m := &q.Nodes[n]; m.Deleted != 0 && !s.ended(m.Process) {
			s.fold(uint64(n), uint64(m.Zxid))
		}
	}
}

// freedom: the position of a process matters when it writes, and a resource matters from its first
// read, which must not come later. The order of the writes that processes report matters, but only
// holders write.
func (m *fencingMonitor) freedom(q *queue, e *history.Event) freedom {
	switch e.Kind {
	case history.ResourceRead:
		return sooner
	case history.ResourceWrite:
		return later | free(e.Path != "", sooner)
	case history.UnlockCall:
		return anywhere
	}
	return queueFreedom(q, e)
}

func (m *fencingMonitor) observe(q *queue, log []history.Event, i int) *history.Violation {
	e := &log[i]
	switch e.Kind {
	case history.ResourceRead:
		m.resources = withNewest(m.resources, e)
		return nil
	case history.LockReturn:
		if e.Err == "" {
			m.lastGrants = withLastGrant(m.lastGrants, e, q)
		}
		return nil
	}
	n, f := accepted(m.resources, e), findLastGrant(m.lastGrants, e.Process)
	if n < 0 || f < 0 {
		return nil
	}
	newest := &m.resources[n]
	if zxid := m.lastGrants[f].zxid; zxid < newest.version {
		return &history.Violation{
			Property: history.Fencing, Event: i, Reason: ReasonLateWrite,
			Detail: lateWriteDetail(log, i, newest.writer),
			Evidence: history.Evidence{
				Process: e.Process, Other: newest.writer, Zxid: zxid, After: newest.version,
			},
		}
	}
	newest.version, newest.writer = m.lastGrants[f].zxid, e.Process
	return nil
}

// withNewest returns the resources with the one of a reading, as not written by any holder.
func withNewest(resources []resource, e *history.Event) []resource {
	for r := range resources {
		if resources[r].path == e.Path {
			return resources
		}
	}
	return append(resources, resource{path: e.Path})
}

// lateWriteDetail names the grants by which two processes wrote a resource, the last in event i.
func lateWriteDetail(log []history.Event, i int, other int32) string {
	resource := []resource{{path: log[i].Path}}
	writes := func(e *history.Event) bool { return accepted(resource, e) == 0 }
	wrote := lastOf(log[:i], other, writes)
	granted := func(e *history.Event) bool { return e.Kind == history.LockReturn && e.Err == "" }
	return fmt.Sprintf("c%d wrote by its grant of event %d after c%d had written (event %d) by "+
		"its grant of event %d", log[i].Process, lastOf(log[:i], log[i].Process, granted), other,
		wrote, lastOf(log[:wrote], other, granted))
}

// lastOf returns the last event of a process that matches, or 0 if none does.
func lastOf(log []history.Event, process int32, matches func(*history.Event) bool) int {
	for n := len(log) - 1; n >= 0; n-- {
		if log[n].Process == process && matches(&log[n]) {
			return n
		}
	}
	return 0
}

// withLastGrant records a grant. A grant with neither a known node nor a token removes the position
// of the process.
func withLastGrant(grants []lastGrant, e *history.Event, q *queue) []lastGrant {
	now := lastGrant{process: e.Process, zxid: e.Zxid}
	if n := q.Granted(e); n >= 0 {
		now.zxid = q.Nodes[n].Zxid
	}
	f := findLastGrant(grants, e.Process)
	switch {
	case f >= 0 && now.zxid == 0:
		return append(grants[:f], grants[f+1:]...)
	case f >= 0:
		grants[f] = now
	case now.zxid != 0:
		grants = append(grants, now)
	}
	return grants
}

func findLastGrant(grants []lastGrant, process int32) int {
	for f := range grants {
		if grants[f].process == process {
			return f
		}
	}
	return -1
}
