package history

import "fmt"

const reasonOrphan = "an ephemeral node outlived its creator's interest in the lock"

// An ephemeral is a node that lives as long as its session.
type ephemeral struct {
	path    string
	session int64
	process int32
	index   int // of its creation
}

// An interest is what a process has in the lock: from the call of Lock until Lock fails or Unlock returns.
type interest struct {
	process int32
	attempt int32 // the one that is open, 0 for none
	ended   int   // the index of the event that ended the last one
}

// CheckNoOrphan decides [NoOrphan]: no node is left that keeps the lock from others and that nobody will ever delete.
//
// The property holds if at the end of the history there is no live ephemeral node whose session goes on, and whose
// creator has neither crashed nor an open interest in the lock. An interest is open from the call of Lock until it
// returns an error, or until Unlock returns, even if with an error: whoever gives back the lock has no further reason
// to keep a node. A crashed process is apart, because the end of its session will delete what it left. The event of the
// violation is the one since which the node has been an orphan: the end of its creator's last interest, or its own
// creation if that came later.
//
// It takes time linear in the events, times the number of nodes that are live at once and of processes.
func CheckNoOrphan(events []Event) *Violation {
	var nodeSpace [12]ephemeral
	var interestSpace [12]interest
	nodes, interests := nodeSpace[:0], interestSpace[:0]
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case NodeCreated:
			if e.Session != 0 {
				nodes = append(nodes, ephemeral{e.Path, e.Session, e.Process, i})
			}
		case NodeDeleted:
			nodes = withoutEphemeral(nodes, e.Path)
		case LockCall, LockReturn, UnlockReturn:
			interests = follow(interests, e, i)
		}
	}
	for n := range nodes {
		if v := judgeOrphan(events, &nodes[n], interests); v != nil {
			return v
		}
	}
	return nil
}

func judgeOrphan(events []Event, n *ephemeral, interests []interest) *Violation {
	since := n.index
	for _, in := range interests {
		if in.process == n.process {
			if in.attempt != 0 {
				return nil
			}
			since = max(since, in.ended)
		}
	}
	if hasCrashed(events, n.process) || hasEnded(events, n.session) {
		return nil
	}
	return &Violation{
		Property: NoOrphan, Event: since, Reason: reasonOrphan,
		Detail: fmt.Sprintf("%s of c%d, created by event %d, is live at the end", n.path, n.process, n.index),
	}
}

// follow opens or ends an interest. The end of an older attempt does not end a newer one.
func follow(interests []interest, e *Event, i int) []interest {
	for n := range interests {
		in := &interests[n]
		if in.process != e.Process {
			continue
		}
		if e.Kind == LockCall {
			in.attempt = e.Attempt
		} else if in.attempt == e.Attempt && (e.Kind == UnlockReturn || e.Err != "") {
			in.attempt, in.ended = 0, i
		}
		return interests
	}
	if e.Kind == LockCall {
		interests = append(interests, interest{process: e.Process, attempt: e.Attempt})
	}
	return interests
}

func withoutEphemeral(nodes []ephemeral, path string) []ephemeral {
	for n := range nodes {
		if nodes[n].path == path {
			return append(nodes[:n], nodes[n+1:]...)
		}
	}
	return nodes
}

func hasEnded(events []Event, session int64) bool {
	for i := range events {
		if (events[i].Kind == SessionExpired || events[i].Kind == SessionClosed) && events[i].Session == session {
			return true
		}
	}
	return false
}
