package simzk

// PartitionLink keeps all that a server sends to another one from reaching it, until
// [Cluster.HealLink]. The other direction of their link, and all other links, are as they were.
// Nobody notices for some ticks, as with [Cluster.PartitionServer]; and then a follower that does
// not hear its leader, or is not heard by it, looks for another one, which it finds only if the
// leader has lost a majority: a leader that others follow does not look. It works for the first 64
// servers.
func (c *Cluster) PartitionLink(from, to int) {
	c.servers[to].inboundCutFrom |= 1 << from
	c.refreshConnectivity()
}

// HealLink lets what a server sends to another one reach it again. If nobody has noticed, all goes
// on as before.
func (c *Cluster) HealLink(from, to int) {
	c.servers[to].inboundCutFrom &^= 1 << from
	c.elect()
	c.refreshConnectivity()
}

// LinkPartitioned tells whether what a server sends to another one does not reach it, while both
// may hear of others.
func (c *Cluster) LinkPartitioned(from, to int) bool {
	return c.servers[to].inboundCutFrom>>from&1 != 0
}

// BlockClient keeps a client from reaching a server, until [Cluster.UnblockClient]. If it is
// connected to that one its connection breaks, as by [Cluster.Reset]; it can go on to another.
func (c *Cluster) BlockClient(l *Link, server int) {
	l.blocked |= 1 << server
	if l.server == server && l.Connected() {
		c.closeConnection(l)
	}
}

// UnblockClient lets a client reach a server again. It notices when it dials that one the next
// time.
func (c *Cluster) UnblockClient(l *Link, server int) { l.blocked &^= 1 << server }

// Blocked tells whether the client is kept from reaching a server, whatever else may keep it from
// that.
func (l *Link) Blocked(server int) bool { return l.blocked>>server&1 != 0 }

// canReach tells whether the client could connect to a server now.
func (l *Link) canReach(server int) bool {
	return l.state == up && !l.stalled() && !l.Blocked(server) && l.cluster.Serving(server)
}
