package simzk

// Sever keeps all that a server sends to another one from reaching it, until [Cluster.Restore]. The other direction of their
// link, and all other links, are as they were. Nobody notices for some ticks, as with [Cluster.Part]; and then a follower that
// does not hear its leader, or is not heard by it, looks for another one, which it finds only if the leader has lost a
// majority: a leader that others follow does not look. It works for the first 64 servers.
func (c *Cluster) Sever(from, to int) {
	c.servers[to].deafTo |= 1 << from
	c.watchWays()
}

// Restore lets what a server sends to another one reach it again. If nobody has noticed, all goes on as before.
func (c *Cluster) Restore(from, to int) {
	c.servers[to].deafTo &^= 1 << from
	c.elect()
	c.watchWays()
}

// Severed tells whether what a server sends to another one does not reach it, while both may hear of others.
func (c *Cluster) Severed(from, to int) bool { return c.servers[to].deafTo>>from&1 != 0 }

// Bar keeps a client from reaching a server, until [Cluster.Unbar]. If it is connected to that one its connection breaks, as by
// [Cluster.Reset]; it can go on to another.
func (c *Cluster) Bar(l *Link, server int) {
	l.barred |= 1 << server
	if l.server == server && l.Connected() {
		c.hangUp(l)
	}
}

// Unbar lets a client reach a server again. It notices when it dials that one the next time.
func (c *Cluster) Unbar(l *Link, server int) { l.barred &^= 1 << server }

// Barred tells whether the client is kept from reaching a server, whatever else may keep it from that.
func (l *Link) Barred(server int) bool { return l.barred>>server&1 != 0 }

// reaches tells whether the client could connect to a server now.
func (l *Link) reaches(server int) bool {
	return l.state == up && !l.held() && !l.Barred(server) && l.cluster.Serving(server)
}
