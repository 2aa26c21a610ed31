package conform

import "github.com/interlock-sim/interlock/simzk/wire"

// watches tests which changes fire watches, and the order of events and replies.
func (p *probe) watches() {
	c, w := p.open(), p.open()
	root := p.createRoot(c, "w")
	p.singleWatches(c, w, root)
	p.silentWatches(c, w, root)
	p.orderOfEvents(c, w, root)
	p.watchesOfMissing(c, w, root)
	p.persistentWatches(c, w, root)
}

func (p *probe) singleWatches(c, w *session, root string) {
	a := root + "/a"
	w.call(watch(wire.OpExists, a))
	c.call(create(a))
	p.fact("exists(missing) then create: %s", pyEvents(w.takeEvents()))
	w.call(watch(wire.OpExists, a))
	c.call(setAny(a))
	p.fact("exists(present) then set: %s", pyEvents(w.takeEvents()))
	c.call(setAny(a))
	p.fact("one-shot, 2nd set: %s", pyEvents(w.takeEvents()))
	w.call(watch(wire.OpExists, a))
	w.call(watch(wire.OpGetData, a))
	w.call(watch(wire.OpGetChildren, a))
	w.call(watch(wire.OpGetChildren, root))
	c.call(deleteNode(a))
	p.fact("exists+data+child on node, child on parent; delete node: %s", pyEvents(w.takeEvents()))
	w.call(watch(wire.OpGetChildren, root))
	c.call(create(a))
	p.fact("child watch, create: %s", pyEvents(w.takeEvents()))
}

func (p *probe) silentWatches(c, w *session, root string) {
	a := root + "/a"
	w.call(watch(wire.OpGetChildren, root))
	c.call(setAny(a))
	p.fact("child watch, set of the child: %s", pyEvents(w.takeEvents()))
	c.call(setAny(root))
	p.fact("child watch, set of the parent: %s", pyEvents(w.takeEvents()))
	w.call(watch(wire.OpGetData, a))
	c.call(setACL(a, anyVersion, open...))
	p.fact("data watch, setACL: %s", pyEvents(w.takeEvents()))
	c.call(setData(a, []byte("3"), 99))
	p.fact("data watch, failed set: %s", pyEvents(w.takeEvents()))
}

func (p *probe) orderOfEvents(c, w *session, root string) {
	a := root + "/a"
	kind := func(arrival string) string { return pyString(arrival[:2]) }
	p.fact("own write: order of own event and own response:")
	w.call(watch(wire.OpGetData, a))
	w.arrivals = nil
	w.call(setAny(a))
	p.fact("   %s", pyList(w.arrivals, kind))
	w.call(watch(wire.OpGetData, a))
	w.arrivals = nil
	c.call(setAny(a))
	w.call(read(wire.OpGetData, a))
	p.fact("other's write, then read that sees it: event first: %s", pyList(w.arrivals, kind))

	w.call(watch(wire.OpGetData, a))
	w.takeEvents()
	c.call(setAny(a))
	if events := w.takeEvents(); len(events) == 0 {
		p.fact("event header: no event")
	} else {
		p.fact("event header: type %d state %d, header zxid is -1: %s", events[0].Type,
			events[0].State,
			pyBool(events[0].Zxid == -1))
	}
}

func (p *probe) watchesOfMissing(c, w *session, root string) {
	w.call(watch(wire.OpGetData, root+"/gone"))
	c.call(create(root + "/gone"))
	p.fact("getData(missing,watch) then create: %s", pyEvents(w.takeEvents()))
	w.call(watch(wire.OpGetChildren, root+"/gone2"))
	c.call(create(root + "/gone2"))
	p.fact("getChildren(missing,watch) then create: %s", pyEvents(w.takeEvents()))
}

func (p *probe) persistentWatches(c, w *session, root string) {
	p.fact("addWatch persistent: %v", w.call(watches(wire.OpAddWatch, root, wire.PersistentWatch)))
	c.call(create(root + "/p1"))
	c.call(setAny(root))
	c.call(setAny(root + "/p1"))
	c.call(deleteNode(root + "/p1"))
	p.fact("  events: %s", pyEvents(w.takeEvents()))
	p.fact("removeWatches any(3): %v again: %v checkWatches: %v",
		w.call(watches(wire.OpRemoveWatches, root, wire.AnyWatcher)),
		w.call(watches(wire.OpRemoveWatches, root, wire.AnyWatcher)),
		w.call(watches(wire.OpCheckWatches, root, wire.AnyWatcher)))
	c.call(create(root + "/p1"))
	p.fact("  events: %s", pyEvents(w.takeEvents()))

	p.fact("addWatch recursive: %v", w.call(watches(wire.OpAddWatch, root, wire.RecursiveWatch)))
	c.call(create(root + "/p1/q"))
	c.call(setAny(root + "/p1/q"))
	c.call(deleteNode(root + "/p1/q"))
	c.call(setAny(root))
	p.fact("  events: %s", pyEvents(w.takeEvents()))
	p.fact("addWatch bad mode 9: %v", w.call(watches(wire.OpAddWatch, root, 9)))
}
