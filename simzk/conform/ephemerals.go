package conform

import (
	"cmp"
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// ephemerals tests nodes with limited lifetimes: ephemeral nodes, containers and TTL nodes.
func (p *probe) ephemerals() {
	c := p.open()
	root := p.createRoot(c, "e")
	p.endOfSession(c, root)
	p.dropAndReattach(c, root)
	p.otherLifetimes(c, root)
}

func (p *probe) endOfSession(c *session, root string) {
	a := p.open()
	a.call(createFlags(root+"/e1", wire.Ephemeral))
	r := c.call(read(wire.OpExists, root+"/e1"))
	p.fact("ephemeralOwner==sid %s", pyBool(r.Stat.EphemeralOwner == a.SessionID))
	p.fact("child of ephemeral: %v  setData by other: %v", c.call(create(root+"/e1/x")),
		c.call(setAny(root+"/e1")))
	a.call(createFlags(root+"/e2", wire.Ephemeral))
	w := p.open()
	w.call(watch(wire.OpGetChildren, root))
	w.call(watch(wire.OpExists, root+"/e1"))
	w.call(watch(wire.OpExists, root+"/e2"))

	before := p.zxid(c)
	closing := a.call(&wire.Request{Op: wire.OpCloseSession})
	p.fact("closeSession reply: dzxid %d err %v bodylen %d", closing.Zxid-before, closing,
		closing.length)
	p.fact("then the server closes: %s", a.awaitEnd())
	events := w.takeEvents()
	// A session's nodes are deleted in an unspecified order.
	slices.SortFunc(events, func(a, b wire.Event) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Path, b.Path))
	})
	p.fact("events to a watcher of 2 ephemerals + parent children: %s n %d", pyEvents(events),
		len(events))
	r = c.call(read(wire.OpExists, root))
	p.fact("parent: cversion %d nchild %d pzxid==close zxid %s", r.Stat.Cversion,
		r.Stat.NumChildren,
		pyBool(r.Stat.Pzxid == closing.Zxid))
}

func (p *probe) dropAndReattach(c *session, root string) {
	a := p.open()
	a.call(createFlags(root+"/e3", wire.Ephemeral))
	a.disconnect()
	p.fact("socket dropped, ephemeral still there: %s",
		pyBool(c.call(read(wire.OpExists, root+"/e3")).String() == "0"))
	again := p.resume(a)
	p.fact("reattach same session %s", pyBool(again.SessionID == a.SessionID))
	again.close()
	p.fact("gone after close: %v", c.call(read(wire.OpExists, root+"/e3")))

	a = p.open()
	a.send(createFlags(root+"/e4", wire.Ephemeral), &wire.Request{Op: wire.OpCloseSession})
	created, closed := a.reply(wire.OpCreate), a.reply(wire.OpCloseSession)
	p.fact("pipelined create+close: %s node: %v", pyList([]reply{created, closed}, reply.String),
		c.call(read(wire.OpExists, root+"/e4")))
}

func (p *probe) otherLifetimes(c *session, root string) {
	p.fact("container create: %v  eowner: %d",
		c.call(createOp(wire.OpCreateContainer, root+"/ct", wire.Container)),
		c.call(read(wire.OpExists, root+"/ct")).Stat.EphemeralOwner)
	p.fact("ttl create: %v  ttl 0: %v  ttl on persistent: %v",
		c.call(createTTL(root+"/tt", wire.PersistentTTL, 1000)),
		c.call(createTTL(root+"/t0", wire.PersistentTTL, 0)),
		c.call(createTTL(root+"/t1", wire.Persistent, 10)))
}
