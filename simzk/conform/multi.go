package conform

import "github.com/interlock-sim/interlock/simzk/wire"

// multi tests transactions of several operations.
func (p *probe) multi() {
	c := p.open()
	root := p.createRoot(c, "m")
	run := func(ops ...*wire.Request) string { return pyResults(c.call(multi(ops...))) }

	p.fact("ok: %s", run(create(root+"/a"), setAny(root+"/a"), check(root+"/a", 1),
		deleteNode(root+"/a")))
	p.fact("empty: %s", run())
	before := p.zxid(c)
	p.fact("fail 2nd of 3: %s", run(create(root+"/a"), deleteNode(root+"/none"), create(root+"/b")))
	p.fact("fail first: %s", run(check(root, 9), create(root+"/b")))
	p.fact("two failed multis used zxids: %d", p.zxid(c)-before)
	p.fact("create twice: %s", run(create(root+"/a"), create(root+"/a")))
	p.fact("create2 in multi: %s", run(createOp(wire.OpCreate2, root+"/c2", wire.Persistent)))
	p.fact("container in multi: %s",
		run(createOp(wire.OpCreateContainer, root+"/ct", wire.Container)))

	before = p.zxid(c)
	p.fact("multi ok: %s", run(create(root+"/x"), create(root+"/y")))
	p.fact("one multi, dzxid %d", p.zxid(c)-before)
	x, y := c.call(read(wire.OpExists, root+"/x")), c.call(read(wire.OpExists, root+"/y"))
	p.fact("same czxid in a multi: %s", pyBool(x.Stat.Czxid == y.Stat.Czxid))
	p.fact("bad op type in multi: %s", run(read(wire.OpGetData, root)))
	r := c.call(&wire.Request{
		Op: wire.OpMultiRead,
		Ops: []wire.Request{
			{Op: wire.OpGetData, Path: root},
			{Op: wire.OpGetChildren, Path: root + "/none"},
		},
	})
	p.fact("multiRead: err %v bodylen>0 %s", r, pyBool(r.length > 0))

	w := p.open()
	w.call(watch(wire.OpGetData, root+"/x"))
	w.call(watch(wire.OpGetChildren, root))
	p.fact("watch set")
	p.fact("%s", run(create(root+"/z"), setAny(root+"/x"), deleteNode(root+"/z")))
	p.fact("events from one multi (create z, set x, delete z) to data(x)+child(root): %s",
		pyEvents(w.takeEvents()))
}
