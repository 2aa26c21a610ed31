package history

import "fmt"

const reasonTokenFell = "a fencing token is not higher than one of an earlier grant"

// CheckToken decides [Token]: fencing tokens rise from grant to grant.
//
// The property holds if each grant's token, which a LockReturn carries as its Zxid, is higher than those of all grants
// before it. Grants without a token do not count, nor do those whose node was deleted before Lock returned: they are no
// grants any more, and may return late.
//
// It takes time linear in the events, times the number of nodes and processes alive.
func CheckToken(events []Event) *Violation {
	_, v := tokens(events)
	return v
}

// HighestToken returns the token below which [Token] lets no more grants come, 0 if it would let any. It takes as long.
func HighestToken(events []Event) int64 {
	highest, _ := tokens(events)
	return highest
}

// tokens returns the highest token of the grants that count, up to the first that does not rise.
func tokens(events []Event) (highest int64, v *Violation) {
	var nodeSpace [16]node
	var openSpace [8]opening
	nodes, open := nodeSpace[:0], openSpace[:0]
	holder := int32(0)
	for i := range events {
		e := &events[i]
		if !contends(e.Kind) {
			continue
		}
		granted := e.Kind == LockReturn && e.Err == "" && e.Zxid != 0
		if n := grantedNode(nodes, e); n >= 0 && nodes[n].deleted > 0 {
			granted = false
		}
		nodes, open = track(nodes, open, e, i)
		if !granted {
			continue
		}
		if e.Zxid <= highest {
			return highest, &Violation{Property: Token, Event: i, Reason: reasonTokenFell,
				Detail: fmt.Sprintf("c%d was granted the lock with token %d after c%d with %d", e.Process, e.Zxid, holder, highest)}
		}
		highest, holder = e.Zxid, e.Process
	}
	return highest, nil
}
