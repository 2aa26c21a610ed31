package conform

import "github.com/interlock-sim/interlock/simzk/wire"

// setWatches tests re-registering watches after a reconnect.
func (p *probe) setWatches() {
	c := p.open()
	root := p.createRoot(c, "v")
	below := func(names ...string) []string {
		paths := make([]string, len(names))
		for i, name := range names {
			paths[i] = root + "/" + name
		}
		return paths
	}
	for _, path := range below("d0", "d1", "d2", "c0", "c1", "c2", "e0") {
		c.call(create(path))
	}
	then := p.zxid(c)
	for _, r := range []*wire.Request{
		setAny(root + "/d1"), deleteNode(root + "/d2"), create(root + "/c1/k"),
		deleteNode(root + "/c2"),
		create(root + "/e1"), deleteNode(root + "/e0"), create(root + "/e2"),
		deleteNode(root + "/e2"),
	} {
		c.call(r)
	}

	w := p.open()
	r := w.call(&wire.Request{Op: wire.OpSetWatches, Watches: &wire.Watches{
		RelativeZxid: then,
		Data:         below("d0", "d1", "d2"), Exist: below("e0", "e1", "e2"),
		Child: below("c0", "c1", "c2"),
	}})
	p.fact("setWatches err %v bodylen %d stream: %s", r, r.length, pyList(w.arrivals, pyString))
	w.events = nil
	for _, r := range []*wire.Request{
		setAny(root + "/d0"), create(root + "/c0/k"),
		create(root + "/e0"), create(root + "/e2"),
	} {
		c.call(r)
	}
	p.fact("armed ones then fire: %s", pyEvents(w.takeEvents()))

	c.call(deleteNode(root + "/d0"))
	c.call(create(root + "/d0"))
	w.arrivals = nil
	w.call(&wire.Request{Op: wire.OpSetWatches, Watches: &wire.Watches{
		RelativeZxid: then,
		Data:         below("d0"),
	}})
	p.fact("delete+recreate, then setWatches at old zxid: %s", pyList(w.arrivals, pyString))
	now := p.zxid(c)
	w.arrivals = nil
	w.call(&wire.Request{Op: wire.OpSetWatches2, Watches: &wire.Watches{
		RelativeZxid: now,
		Persistent:   []string{root},
	}})
	c.call(create(root + "/n1"))
	p.fact("setWatches2 persistent: %s %s", pyList(w.arrivals, pyString), pyEvents(w.takeEvents()))
}
