package history

// A hold is what a process has of the lock between a grant and the return of the Unlock that ends it.
type hold struct {
	process int32
	attempt int32
	node    int // the index of the creation of its node, -1 if none is known
	gone    int // the index of the deletion of its node, if that came before Unlock was called; 0 if not
	told    int // the index of the Lost event, 0 if there is none
	asking  int // the index of the last ReenterCall, 0 if there is none
	refused int // the index of a ReenterReturn with an error that nothing has explained yet, 0 if there is none
	leaving bool
	freed   bool // its node is deleted, before Unlock was called or after
}

// holdsMatter reports whether trackHolds, or a checker that uses it, has anything to do for events of that kind.
func holdsMatter(k Kind) bool {
	const kinds = 1<<LockReturn | 1<<NodeDeleted | 1<<Lost | 1<<UnlockCall | 1<<ReenterCall | 1<<ReenterReturn | 1<<Crashed | 1<<UnlockReturn
	return uint64(kinds)>>k&1 != 0
}

// trackHolds brings the holds up to date with event number i. The nodes are those before the event.
func trackHolds(holds []hold, nodes []node, e *Event, i int) []hold {
	if e.Kind == NodeDeleted {
		noteDeletion(holds, nodes, e, i)
		return holds
	}
	h := findHold(holds, e.Process)
	if e.Kind == LockReturn && e.Err == "" {
		granted := hold{process: e.Process, attempt: e.Attempt, node: -1}
		if n := grantedNode(nodes, e); n >= 0 {
			granted.node, granted.gone, granted.freed = nodes[n].created, nodes[n].deleted, nodes[n].deleted != 0
		}
		if h >= 0 {
			holds[h] = granted
			return holds
		}
		return append(holds, granted)
	}
	if h < 0 || e.Kind != Crashed && holds[h].attempt != e.Attempt {
		return holds
	}
	switch e.Kind {
	case Lost:
		holds[h].told, holds[h].refused = i, 0
	case UnlockCall:
		holds[h].leaving = true
	case ReenterCall:
		holds[h].asking = i
	case Crashed, UnlockReturn:
		holds = append(holds[:h], holds[h+1:]...)
	}
	return holds
}

func noteDeletion(holds []hold, nodes []node, e *Event, i int) {
	n := findLive(nodes, e.Path)
	if n < 0 {
		return
	}
	for h := range holds {
		if holds[h].node != nodes[n].created {
			continue
		}
		holds[h].freed = true
		if !holds[h].leaving {
			holds[h].gone = i
		}
	}
}

func findHold(holds []hold, process int32) int {
	for h := range holds {
		if holds[h].process == process {
			return h
		}
	}
	return -1
}

// endsSession reports whether the deletion, which is event number i, came with the end of the session that owned the
// node: then the end follows, with the same transaction.
func endsSession(events []Event, i int) bool {
	for j := i + 1; j < len(events) && events[j].Zxid == events[i].Zxid; j++ {
		if k := events[j].Kind; k == SessionExpired || k == SessionClosed {
			return true
		}
	}
	return false
}
