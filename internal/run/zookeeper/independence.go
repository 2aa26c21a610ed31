package zookeeper

import "github.com/interlock-sim/interlock/sim"

var _ sim.IndependentClient = (*processClient)(nil)

// CanServe reports whether the client's next request can be served now.
func (c *processClient) CanServe() bool {
	_, ok := c.Servable()
	return ok
}

// Syncs reports whether the client's next request is a sync at the only server.
func (c *processClient) Syncs() bool { return c.Link.Syncs() }

// MayTimeOut reports whether time can make the client give up its connection, or decides when what
// it sends arrives.
func (c *processClient) MayTimeOut() bool {
	return c.Link.MayTimeOut() || c.RoundTrip() > 0
}

// Stalled reports whether requests or replies wait for the client's link to be healed.
func (c *processClient) Stalled() bool {
	requests, replies := c.Link.Stalled()
	return requests || replies || c.Opening()
}

// Silent reports whether nothing is in flight to or from the client, the server has no watch of it,
// and its connection works.
func (c *processClient) Silent() bool {
	return c.Connected() && !c.Stalled() && c.Unserved() == 0 && c.Undelivered() == 0 &&
		!c.Watching()
}

// Several reports whether a process has opened a further client in this run.
func (z *System) Several() bool { return z.connects || z.cluster.SeveralConnections() }

// Retains reports whether the session of the client, if it has one, has not ended, and its server
// keeps following its leader. In a fully connected ensemble every server does. Otherwise that holds
// only while time stands still, and for a client with a session: another may turn to servers that
// depend on what is healed first.
func (z *System) Retains(of sim.Client, still bool) bool {
	c := of.(*processClient)
	switch {
	case c.Ended():
		return false
	case z.cluster.FullyConnected():
		return true
	}
	return still && c.Attached() && z.cluster.FollowsQuorum(c.ServerIndex())
}

// OnlyClient returns the one process that can take steps at the server or at its clients. Others
// influence what they do where a request of a client waits for another server, where a client may
// dial, or where a server can lose its leader.
func (z *System) OnlyClient(server int, atGate func(process int) bool) (client int32, ok bool) {
	for _, c := range z.clients {
		switch own := c.ServerIndex() == server; {
		case c.Crashed():
			if own && c.Unserved() > 0 {
				return 0, false
			}
		case !c.Connected():
			if c.Paused() {
				return 0, false // It may dial as soon as it resumes.
			}
		case !z.cluster.FollowsQuorum(c.ServerIndex()), !c.WillHaveSession() &&
			!(own && c.Ended() && z.cluster.FullyConnected()):
			return 0, false
		case own && c.Ended() && c.AwaitsApply():
			// What is under way to it is lost when the server applies the end, and what it asks
			// for.
			return 0, false
		case !own || c.AwaitsApply():
		case atGate(c.Process()) || client != 0 || c.dependent():
			return 0, false
		case c.Unserved() > 0 || c.Undelivered() > 0 || c.Down() || c.Paused():
			client = int32(c.Process())
		}
	}
	return client, true
}

// dependent reports whether others decide when the client's next request can be served.
func (c *processClient) dependent() bool {
	held, _ := c.Link.Stalled()
	return c.Unserved() > 0 && !c.CanServe() && !held
}
