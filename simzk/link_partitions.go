package simzk

// PartitionLink stops all messages from one server to another, until [Cluster.HealLink], which
// delivers them unless a server has noticed. The other direction and all other links are
// unaffected. It works for the first 64 servers.
//
// As with [Cluster.PartitionServer], nobody notices for some ticks. Then a follower that does not
// hear its leader, or that its leader does not hear, looks for another leader. It finds one only if
// the leader has lost its majority, as a leader with followers does not look.
func (c *Cluster) PartitionLink(from, to int) {
	c.servers[to].inboundCutFrom |= 1 << from
	c.refreshConnectivity()
}

// HealLink ends [Cluster.PartitionLink]. If no server has noticed, what has waited is delivered.
func (c *Cluster) HealLink(from, to int) {
	c.servers[to].inboundCutFrom &^= 1 << from
	c.elect()
	c.refreshConnectivity()
}

// LinkPartitioned reports whether the link between two servers is partitioned in this direction by
// [Cluster.PartitionLink].
func (c *Cluster) LinkPartitioned(from, to int) bool {
	return c.servers[to].inboundCutFrom>>from&1 != 0
}

// BlockClient keeps a client from reaching a server, until [Cluster.UnblockClient]. A connection to
// that server breaks, as by [Cluster.ResetConnection]; the client can connect to another server.
func (c *Cluster) BlockClient(l *Link, server int) {
	l.each(func(l *Link) { l.blocked |= 1 << server })
	l.each(func(l *Link) {
		if l.server == server && l.Connected() {
			c.closeConnection(l)
		}
	})
}

// UnblockClient ends [Cluster.BlockClient]. The client notices when it next dials the server.
func (c *Cluster) UnblockClient(l *Link, server int) {
	l.each(func(l *Link) { l.blocked &^= 1 << server })
}

// Blocked reports whether [Cluster.BlockClient] keeps the client from reaching a server.
func (l *Link) Blocked(server int) bool { return l.blocked>>server&1 != 0 }

// CanReach reports whether the client could connect to a server now.
func (l *Link) CanReach(server int) bool {
	return l.state == up && !l.stalled() && !l.Blocked(server) && l.cluster.Serving(server)
}
