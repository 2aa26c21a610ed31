package history

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
)

const reasonLateWrite = "a write of an older holder was accepted after one of a newer holder"

// A fence is the place in the order of holders of the grant that a process had last.
type fence struct {
	process int32
	zxid    int64
	tells   bool // by its token, as no node is known
	holds   bool // and has not begun to give the lock back
}

// CheckFencedExclusion decides [FencedExclusion]: a resource that checks fencing tokens never accepts a write of an
// older holder after one of a newer.
//
// Which holder is older does not depend on the tokens, which may be what is wrong: it is the one whose contender node
// was created earlier, or where no node is known the one whose grant carries the lower token. The property holds if no
// write is accepted whose process had its last grant by a node that is older than that of a write which was accepted
// before. When a write counts as accepted is as for [CheckNoLostUpdate]. A write by a process that was never granted the
// lock is not judged.
//
// Source: M. Burrows, The Chubby lock service, OSDI 2006, section 2.4, on sequencers.
//
// It takes time linear in the events, times the number of nodes, processes and resources alive.
func CheckFencedExclusion(events []Event) *Violation {
	_, v := fencing(events)
	return v
}

// Outrun returns 64 bits over who may not write any more by [FencedExclusion]: which of the holders, and of the nodes that may be
// granted yet, are older than the newest that has written. Where a grant had no node that is known, they are over the newest itself,
// as nobody knows what tokens come yet. It takes as long.
func Outrun(events []Event) uint64 {
	outrun, _ := fencing(events)
	return outrun
}

// fencing decides the property, and returns what [Outrun] does if it holds.
func fencing(events []Event) (outrun uint64, v *Violation) {
	var nodeSpace [12]node
	var openSpace [12]opening
	var resourceSpace [4]resource
	var fenceSpace [12]fence
	nodes, open, resources, fences := nodeSpace[:0], openSpace[:0], resourceSpace[:0], fenceSpace[:0]
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == ResourceRead:
			resources = withNewest(resources, e)
		case e.Kind == LockReturn && e.Err == "":
			fences = withFence(fences, e, nodes)
		case e.Kind == UnlockCall:
			if f := findFence(fences, e.Process); f >= 0 {
				fences[f].holds = false
			}
		default:
			n := accepted(resources, e)
			if n < 0 {
				break
			}
			f := findFence(fences, e.Process)
			if f < 0 {
				break
			}
			if zxid := fences[f].zxid; zxid < resources[n].version {
				return 0, &Violation{Property: FencedExclusion, Event: i, Reason: reasonLateWrite,
					Detail: fmt.Sprintf("c%d wrote, granted by zxid %d, after c%d, granted by zxid %d", e.Process, zxid,
						resources[n].writer, resources[n].version)}
			}
			resources[n].version, resources[n].writer = fences[f].zxid, e.Process
		}
		if contends(e.Kind) {
			nodes, open = track(nodes, open, e, i)
		}
	}
	for r := range resources {
		outrun += outrunBy(resources[r].version, nodes, fences)
	}
	return outrun, nil
}

// outrunBy returns the same for one resource to which that holder has written. It does not depend on the order of nodes and of grants.
func outrunBy(newest int64, nodes []node, fences []fence) (sum uint64) {
	for n := range nodes {
		if nodes[n].zxid < newest {
			sum += xxhash.Sum64String(nodes[n].path)
		}
	}
	for _, f := range fences {
		if f.holds && f.zxid < newest {
			sum += 1 << (f.process % 64)
		}
		if f.tells {
			sum += uint64(newest) * 0x9e3779b97f4a7c15
		}
	}
	return sum
}

// withNewest returns the resources with that of a reading. Here the version of a resource is the newest holder that has
// written to it.
func withNewest(resources []resource, e *Event) []resource {
	for r := range resources {
		if resources[r].path == e.Path {
			return resources
		}
	}
	return append(resources, resource{path: e.Path})
}

// withFence notes a grant. One of which neither node nor token is known leaves the process without a place in the order.
func withFence(fences []fence, e *Event, nodes []node) []fence {
	now := fence{process: e.Process, zxid: e.Zxid, tells: true, holds: true}
	if n := grantedNode(nodes, e); n >= 0 {
		now.zxid, now.tells = nodes[n].zxid, false
	}
	f := findFence(fences, e.Process)
	switch {
	case f >= 0 && now.zxid == 0:
		return append(fences[:f], fences[f+1:]...)
	case f >= 0:
		fences[f] = now
	case now.zxid != 0:
		fences = append(fences, now)
	}
	return fences
}

func findFence(fences []fence, process int32) int {
	for f := range fences {
		if fences[f].process == process {
			return f
		}
	}
	return -1
}
