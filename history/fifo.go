package history

import "fmt"

const reasonOvertaken = "the lock was granted while a process with an older node was waiting"

// CheckFIFO decides [FIFO]: the lock is granted in the order in which the ensemble created the contenders' nodes.
//
// The property holds if at every grant of a node no other process has, in the same directory, a live ephemeral node
// that was created by an earlier transaction, has not been granted, and was created during an attempt of that process
// which has not returned. A process that crashed while it waited keeps its place until its node is deleted. One that
// gave up, so that its attempt returned with an error, does not: its node is merely left over. A node that is already
// deleted when it is granted is judged like any other, since it cannot have come before an older one at any time.
//
// It takes time linear in the events, times the number of nodes that are live at once, and allocates only if more than
// a few are.
func CheckFIFO(events []Event) *Violation {
	var nodeSpace [12]node
	var openSpace [12]opening
	nodes, open := nodeSpace[:0], openSpace[:0]
	for i := range events {
		e := &events[i]
		if !contends(e.Kind) {
			continue
		}
		if n := grantedNode(nodes, e); n >= 0 {
			if m := findOlder(nodes, n, e.Process); m >= 0 {
				return &Violation{
					Property: FIFO, Event: i, Reason: reasonOvertaken,
					Detail: fmt.Sprintf("c%d was granted %s (zxid %d) while c%d waited with %s (zxid %d)",
						e.Process, nodes[n].path, nodes[n].zxid, nodes[m].process, nodes[m].path, nodes[m].zxid),
				}
			}
		}
		nodes, open = track(nodes, open, e, i)
	}
	return nil
}

// findOlder returns a node that waits before node n and is not of the given process, or -1.
func findOlder(nodes []node, n int, process int32) int {
	for m := range nodes {
		other := &nodes[m]
		if other.waiting && other.ephemeral && other.deleted == 0 && other.holder == 0 && other.process != process &&
			other.zxid < nodes[n].zxid && sameDirectory(other, &nodes[n]) {
			return m
		}
	}
	return -1
}
