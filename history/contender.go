package history

import (
	"slices"
	"strings"
)

// A node is a znode as the checkers of contention follow it: who made it, and who was granted the lock by it.
type node struct {
	path          string
	zxid          int64 // of its creation
	process       int32 // its creator
	ephemeral     bool
	waiting       bool  // the creator's attempt during which it was created has not returned
	holder        int32 // the process that was granted the lock by this node, 0 for none
	attempt       int32 // the attempt of the holder
	renounced     bool  // the holder has called Unlock for that attempt
	created       int   // the index of the event that created it, which tells two nodes of one path apart
	deleted       int   // the index of the event that deleted it, 0 while it is live
	directoryEnds int   // path[:directoryEnds] is its parent
}

// An opening is an attempt that has been called and has not returned. A process has one at a time.
type opening struct {
	process int32
	call    int // the index of the call
}

// contends reports whether track, or a checker that uses it, has anything to do for events of that kind. Most have
// nothing to do with who contends for the lock, and this keeps them cheap.
func contends(k Kind) bool {
	const kinds = 1<<LockCall | 1<<LockReturn | 1<<UnlockCall | 1<<UnlockReturn | 1<<NodeCreated | 1<<NodeDeleted
	return uint64(kinds)>>k&1 != 0
}

// track brings nodes and open attempts up to date with event number i. It takes and returns slices, rather than being
// a method of a struct that holds them, so that the callers' arrays stay on the stack.
//
// A deleted node is dropped at once, except while the attempt that created it is open: the grant that ends the attempt
// may still name it. The slices thus stay as short as the number of nodes and processes that are alive, and a step is
// linear in that. So do those of a service's history, which knows of a node only that a process has queued with it: it goes
// with its attempt.
func track(nodes []node, open []opening, e *Event, i int) ([]node, []opening) {
	switch e.Kind {
	case LockCall:
		open = append(withoutOpening(open, e.Process), opening{e.Process, i})
	case NodeCreated:
		nodes = append(nodes, node{
			path: e.Path, zxid: e.Zxid, process: e.Process, ephemeral: e.Session != 0, created: i,
			waiting: findOpening(open, e.Process) >= 0, directoryEnds: len(directory(e.Path)),
		})
	case NodeDeleted:
		nodes = withoutDeleted(nodes, e.Path, i)
	case LockReturn:
		open = withoutOpening(open, e.Process)
		if n := grantedNode(nodes, e); n >= 0 {
			nodes[n].holder, nodes[n].attempt, nodes[n].renounced = e.Process, e.Attempt, false
		}
		nodes = endWaiting(nodes, e.Process)
		if e.Err != "" {
			nodes = withoutHearsay(nodes, e.Process, 0, 0)
		}
	case UnlockReturn:
		nodes = withoutHearsay(nodes, e.Process, e.Process, e.Attempt)
	case UnlockCall:
		for n := range nodes {
			if nodes[n].holder == e.Process && nodes[n].attempt == e.Attempt {
				nodes[n].renounced = true
			}
		}
	}
	return nodes, open
}

// grantedNode returns which node a LockReturn grants the lock by, or -1 if it grants nothing or its node is unknown.
//
// A path that the lock tells is looked for among the process's own nodes first: of a lock whose contenders share one
// path, the process's own node may be deleted while another process has made one of the same path. Only if the process
// never made such a node has it taken over somebody else's. Without a path it is the last ephemeral node that the
// process made in this attempt; one that is live goes before one that is not, because a lock that made two by a retry
// deletes the one that it does not use.
func grantedNode(nodes []node, e *Event) int {
	if e.Kind != LockReturn || e.Err != "" || e.Process == 0 {
		return -1
	}
	found := -1
	for n := len(nodes) - 1; n >= 0; n-- {
		m := &nodes[n]
		switch {
		case e.Path == "":
			if m.process == e.Process && m.ephemeral && m.waiting {
				if m.deleted == 0 {
					return n
				}
				if found < 0 {
					found = n
				}
			}
		case m.path != e.Path:
		case m.process == e.Process:
			return n
		case m.ephemeral && m.deleted == 0:
			found = n
		}
	}
	return found
}

// sameDirectory reports whether two nodes contend for the same lock.
func sameDirectory(a, b *node) bool {
	return a.path[:a.directoryEnds] == b.path[:b.directoryEnds]
}

// directory returns the path of the parent.
func directory(path string) string {
	slash := strings.LastIndexByte(path, '/')
	if slash == 0 {
		return path[:1]
	}
	return path[:max(slash, 0)]
}

func findLive(nodes []node, path string) int {
	for n := range nodes {
		if nodes[n].deleted == 0 && nodes[n].path == path {
			return n
		}
	}
	return -1
}

func withoutDeleted(nodes []node, path string, i int) []node {
	n := findLive(nodes, path)
	switch {
	case n < 0:
		return nodes
	case nodes[n].waiting:
		nodes[n].deleted = i
		return nodes
	}
	return append(nodes[:n], nodes[n+1:]...)
}

func endWaiting(nodes []node, process int32) []node {
	kept := nodes[:0]
	for n := range nodes {
		if nodes[n].process == process {
			if nodes[n].deleted != 0 {
				continue
			}
			nodes[n].waiting = false
		}
		kept = append(kept, nodes[n])
	}
	return kept
}

// withoutHearsay drops the nodes of a process of which no event of the ensemble tells, and by which the holder has the lock in
// that attempt; a holder 0 stands for nobody.
func withoutHearsay(nodes []node, process, holder, attempt int32) []node {
	return slices.DeleteFunc(nodes, func(n node) bool {
		return n.zxid == 0 && !n.ephemeral && n.process == process && n.holder == holder && n.attempt == attempt
	})
}

func findOpening(open []opening, process int32) int {
	for o := range open {
		if open[o].process == process {
			return o
		}
	}
	return -1
}

func withoutOpening(open []opening, process int32) []opening {
	if o := findOpening(open, process); o >= 0 {
		return append(open[:o], open[o+1:]...)
	}
	return open
}

// hasCrashed reports whether the process has crashed by the end of the events. The checkers ask it only about a
// process that they are about to accuse, so that a history that is right costs them nothing.
func hasCrashed(events []Event, process int32) bool {
	for i := range events {
		if events[i].Kind == Crashed && events[i].Process == process {
			return true
		}
	}
	return false
}
