package history

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
)

const reasonLateWrite = "a write of an older holder was accepted after one of a newer holder"

// A lastGrant is the place in the order of holders of the grant that a process had last: the
// transaction that created its node, or where no node is known its token.
type lastGrant struct {
	process int32
	zxid    int64
}

// CheckFencing decides [Fencing]: a resource that checks fencing tokens never accepts a write of an
// older holder after one of a newer.
//
// Which holder is older does not depend on the tokens, which may be what is wrong: it is the one
// whose contender node was created earlier, or where no node is known the one whose grant carries
// the lower token. The property holds if no write is accepted whose process had its last grant by a
// node that is older than that of a write which was accepted before. When a write counts as
// accepted is as for [CheckNoLostUpdate]. A write by a process that was never granted the lock is
// not judged.
//
// Source: M. Burrows, The Chubby lock service, OSDI 2006, section 2.4, on sequencers.
//
// It takes time linear in the events, times the number of nodes, processes and resources alive.
func CheckFencing(events []Event) *Violation {
	return decide(Fencing, new(fencingMonitor), events)
}

type fencingMonitor struct {
	// the version of each is the place of the newest holder that has written to it
	resources  []resource
	lastGrants []lastGrant
}

func (m *fencingMonitor) reset() { m.resources, m.lastGrants = m.resources[:0], m.lastGrants[:0] }

func (m *fencingMonitor) copy(from monitor) {
	other := from.(*fencingMonitor)
	m.resources, m.lastGrants = append(m.resources[:0], other.resources...),
		append(m.lastGrants[:0], other.lastGrants...)
}

func (m *fencingMonitor) finish(*queue, []Event) *Violation { return nil }

// state holds the places themselves and not only their order, since a grant by a token alone has a
// place that no node tells. The nodes that may be granted yet have the places that the state of the
// ensemble tells, or the queue if they are gone.
func (m *fencingMonitor) state(q *queue, s *State) {
	resources, grants := uint64(0), uint64(0)
	for i := range m.resources {
		resources += fold(xxhash.Sum64String(m.resources[i].path), uint64(m.resources[i].version))
	}
	for _, f := range m.lastGrants {
		if !s.ended(f.process) {
			grants += fold(uint64(f.process), uint64(f.zxid))
		}
	}
	s.fold(resources, grants)
	for n := range q.nodes {
		if m := &q.nodes[n]; m.deleted != 0 && !s.ended(m.process) {
			s.fold(uint64(n), uint64(m.zxid))
		}
	}
}

// visible: a process's place counts when it writes, and a resource from when it is first read, the
// sooner the more. The order of writes that a process itself reports counts.
func (m *fencingMonitor) visible(q *queue, e *Event) bool {
	return e.Kind == ResourceWrite && e.Path == "" || e.Kind == LockReturn && !q.grantIsLocal(e)
}

func (m *fencingMonitor) observe(q *queue, log []Event, i int) *Violation {
	e := &log[i]
	switch e.Kind {
	case ResourceRead:
		m.resources = withNewest(m.resources, e)
		return nil
	case LockReturn:
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
		return &Violation{
			Property: Fencing, Event: i, Reason: reasonLateWrite,
			Detail: fmt.Sprintf("c%d wrote, granted by zxid %d, after c%d, granted by zxid %d",
				e.Process,
				zxid,
				newest.writer, newest.version),
		}
	}
	newest.version, newest.writer = m.lastGrants[f].zxid, e.Process
	return nil
}

// withNewest returns the resources with that of a reading. Here the version of a resource is the
// newest holder that has written to it.
func withNewest(resources []resource, e *Event) []resource {
	for r := range resources {
		if resources[r].path == e.Path {
			return resources
		}
	}
	return append(resources, resource{path: e.Path})
}

// withLastGrant notes a grant. A grant of which neither node nor token is known leaves the process
// without a place in the order.
func withLastGrant(grants []lastGrant, e *Event, q *queue) []lastGrant {
	now := lastGrant{process: e.Process, zxid: e.Zxid}
	if n := q.granted(e); n >= 0 {
		now.zxid = q.nodes[n].zxid
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
