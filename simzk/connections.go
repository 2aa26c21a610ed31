package simzk

// A process whose code opens several clients has a link for each connection that is open at the
// same time. The first link is that of [Cluster.AddClient]. What strikes the process or its host
// strikes all of its links, so that their state of the network is the same.

// AddConnection adds the link of a further connection of a process, whose first link is given. Such
// a cluster cannot be saved.
func (c *Cluster) AddConnection(l, first *Link, end End) {
	c.addLink(l, first.process, first.server, loopback[0].ID)
	l.pings, l.first = true, first
	l.setEnd(end)
	l.state, l.blocked, l.percent, l.stall = first.state, first.blocked, first.percent, first.stall
	l.slowness = first.slowness
	l.held, l.behindWrite, l.disconnected, l.opening = false, false, false, false
	first.further = append(first.further, l)
	l.connection = int32(len(first.further) + 1)
	c.further++
}

// ReplaceEnd gives the link of a client that its process has closed to the next client of the
// process.
func (c *Cluster) ReplaceEnd(l *Link, end End) {
	c.drop(l)
	l.setEnd(end)
}

func (l *Link) setEnd(end End) {
	l.end = end
	l.model, _ = end.(ModelEnd)
}

// SeveralConnections reports whether a process has had several connections in this run.
func (c *Cluster) SeveralConnections() bool { return c.further > 0 }

// Connection returns the number of the link among the links of its process, from 1.
func (l *Link) Connection() int { return max(1, int(l.connection)) }

// Further returns the links of the process's connections after its first, if the link is the first.
func (l *Link) Further() []*Link { return l.further }

// each calls the function for every link of a process, given the first.
func (l *Link) each(do func(*Link)) {
	do(l)
	for _, further := range l.further {
		do(further)
	}
}

// host returns the first link of the process.
func (l *Link) host() *Link {
	if l.first != nil {
		return l.first
	}
	return l
}

// hasLiveSession reports whether any session that the process has opened is alive, given the first
// link.
func (l *Link) hasLiveSession() bool {
	for _, s := range l.cluster.sessions {
		if s.owner.host() == l {
			return true
		}
	}
	return false
}
