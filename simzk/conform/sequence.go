package conform

import "github.com/interlock-sim/interlock/simzk/wire"

// sequence tests the numbers of sequential nodes.
func (p *probe) sequence() {
	c := p.open()
	root := p.createRoot(c, "s")
	next := func(prefix string, flags int32) string {
		r := c.call(createFlags(root+"/"+prefix, flags))
		if r.err != nil || r.Code != wire.OK {
			return r.String()
		}
		return r.Path[len(root):]
	}
	persistent := func() string { return next("n-", wire.PersistentSequential) }

	p.fact("seq first three: %s %s %s", persistent(), persistent(),
		next("m-", wire.EphemeralSequential))
	c.call(create(root + "/plain"))
	p.fact("after a plain create: %s", persistent())
	c.call(deleteNode(root + "/plain"))
	p.fact("after a delete: %s", persistent())
	p.fact("failed create: %v", c.call(create(root+"/n-0000000000")))
	p.fact("after a failed create: %s", persistent())
	c.call(setAny(root))
	p.fact("after setData of the parent: %s", persistent())
	p.fact("empty prefix: %s", next("", wire.PersistentSequential))

	d := p.open()
	d.call(createFlags(root+"/eph", wire.Ephemeral))
	d.close()
	p.fact("after an ephemeral came and went with its session: %s", persistent())
	one := createFlags(root+"/k-", wire.PersistentSequential)
	p.fact("failed multi with 2 seq creates: err %v",
		c.call(multi(one, one, deleteNode(root+"/missing"))))
	p.fact("after it: %s", persistent())
	r := c.call(read(wire.OpExists, root))
	p.fact("parent cversion %d nchild %d", r.Stat.Cversion, r.Stat.NumChildren)
}
