package conform

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// basics tests single requests, their errors, and their effects on zxids and the parent's stat.
func (p *probe) basics() {
	c := p.open()
	root := p.createRoot(c, "")
	r := c.call(read(wire.OpExists, root))
	p.fact("root node: version %d cversion %d pzxid==czxid %s zxid==czxid %s", r.Stat.Version,
		r.Stat.Cversion,
		pyBool(r.Stat.Pzxid == r.Stat.Czxid), pyBool(r.Zxid == r.Stat.Czxid))
	p.creations(c, root, r.Zxid)
	p.changes(c, root, r.Zxid)
	p.zxidsOfReads(c, root, r.Zxid)
	p.paths(c, root)
	p.badCreations(c, root)
	p.badRequests(root)
	p.listings(c, root)
}

func (p *probe) creations(c *session, root string, start int64) {
	r := c.call(create(root + "/a"))
	p.fact("create: dzxid %d %v %s left %d", r.Zxid-start, r, r.Path, r.length-4-len(r.Path))
	r = c.call(createOp(wire.OpCreate2, root+"/b", wire.Persistent))
	p.fact("create2: dzxid %d %v %s {'version': %d, 'cversion': %d, 'eowner': %d, 'dlen': %d, "+
		"'nchild': %d}", r.Zxid-start, r, r.Path,
		r.Stat.Version, r.Stat.Cversion, r.Stat.EphemeralOwner, r.Stat.DataLength,
		r.Stat.NumChildren)
	r = c.call(create(root + "/a"))
	p.fact("create existing: dzxid %d err %v bodylen %d", r.Zxid-start, r, r.length)
	r = c.call(read(wire.OpExists, root))
	p.fact("after failed write, read dzxid %d parent cversion %d nchild %d pzxid %d", r.Zxid-start,
		r.Stat.Cversion, r.Stat.NumChildren, r.Stat.Pzxid-start)
}

func (p *probe) changes(c *session, root string, start int64) {
	r := c.call(read(wire.OpExists, root+"/no"))
	p.fact("exists missing: dzxid %d err %v bodylen %d", r.Zxid-start, r, r.length)
	p.fact("getData missing +watch: err %v", c.call(watch(wire.OpGetData, root+"/no")))
	r = c.call(setData(root+"/a", []byte("yy"), 7))
	p.fact("setData bad version: dzxid %d err %v", r.Zxid-start, r)
	r = c.call(setData(root+"/a", nil, anyVersion))
	p.fact("setData null: dzxid %d version %d dlen %d mzxid==zxid %s", r.Zxid-start, r.Stat.Version,
		r.Stat.DataLength, pyBool(r.Stat.Mzxid == r.Zxid))
	p.fact("getData of null data: %s", pyBytes(c.call(read(wire.OpGetData, root+"/a")).Data))
	p.fact("delete non-empty: err %v", c.call(deleteNode(root)))
	deleted := c.call(deleteNode(root + "/b"))
	p.fact("delete: err %v bodylen %d dzxid %d", deleted, deleted.length, deleted.Zxid-start)
	r = c.call(read(wire.OpExists, root))
	p.fact("parent after 2 creates 1 delete: cversion %d nchild %d pzxid==last delete %s",
		r.Stat.Cversion, r.Stat.NumChildren, pyBool(r.Stat.Pzxid == deleted.Zxid))
}

func (p *probe) zxidsOfReads(c *session, root string, start int64) {
	r := c.call(&wire.Request{Op: wire.OpPing})
	p.fact("ping: dzxid %d err %v bodylen %d", r.Zxid-start, r, r.length)
	r = c.call(read(wire.OpSync, root))
	p.fact("sync: dzxid %d err %v %s", r.Zxid-start, r, r.Path)
	p.fact("sync missing path: err %v", c.call(read(wire.OpSync, "/nonexistent")))
	r = c.call(authenticate("digest", "u:p"))
	p.fact("auth ok: zxid %d err %v bodylen %d", r.Zxid, r, r.length)
	p.fact("delete missing %v | missing parent %v", c.call(deleteNode(root+"/zz")),
		c.call(create(root+"/q/w")))
}

func (p *probe) paths(c *session, root string) {
	for _, path := range []string{
		"", "x", "/", "//", root + "/", root + "//c", root + "/./c", root + "/..", root + "/\x01",
		"/zookeeper", "/zookeeper/x", root + "/é",
	} {
		p.fact("create path %s -> %v", pyString(path), c.call(create(path)))
	}
	p.fact("delete / -> %v delete /zookeeper -> %v delete '' -> %v",
		c.call(deleteNode("/")), c.call(deleteNode("/zookeeper")), c.call(deleteNode("")))
	p.fact("setData bad path 'x' -> %v  exists '' -> %v  getChildren missing -> %v",
		c.call(setData("x", []byte{}, anyVersion)), c.call(read(wire.OpExists, "")),
		c.call(read(wire.OpGetChildren, root+"/no")))
}

func (p *probe) badCreations(c *session, root string) {
	grant := func(scheme, id string) wire.ACL {
		return wire.ACL{Perms: wire.PermAll, Scheme: scheme, ID: id}
	}
	p.fact("create empty acl -> %v  bad scheme -> %v  bad ip -> %v  bad digest -> %v",
		c.call(createACL(root+"/e1")),
		c.call(createACL(root+"/e2", grant("foo", "x"))),
		c.call(createACL(root+"/e3", grant("ip", "nope"))),
		c.call(createACL(root+"/e4", grant("digest", "nocolon"))))
	p.fact("create flags 7 -> %v  flags 99 -> %v  flags 4 via create -> %v",
		c.call(createFlags(root+"/f7", 7)), c.call(createFlags(root+"/f99", 99)),
		c.call(createFlags(root+"/f4", wire.Container)))
}

func (p *probe) badRequests(root string) {
	x := p.open()
	unknown := x.callBody(55, nil)
	// The server closes the connection shortly after its reply. A request in between might still be
	// answered.
	p.fact("unknown opcode 55 -> %v then closed(%s)", unknown, x.awaitEnd())
	c := p.open()
	p.fact("truncated body (getData) -> %v", c.callBody(wire.OpGetData, []byte{0, 0}))
	p.fact("still alive -> %v", c.call(read(wire.OpExists, "/")))
	p.fact("truncated create -> %v", c.callBody(wire.OpCreate, []byte("\x00\x00\x00\x02/x")))
	for _, version := range []int32{0, 9} {
		p.fact("check op alone, version %d -> %v", version,
			p.open().callAndPing(check(root, version)))
	}
}

func (p *probe) listings(c *session, root string) {
	r := c.call(read(wire.OpGetChildren2, root))
	slices.Sort(r.Children)
	p.fact("getChildren2: %s %d", pyList(r.Children, pyString), r.Stat.NumChildren)
	r = c.call(read(wire.OpGetEphemerals, "/"))
	p.fact("getEphemerals %v %d", r, len(r.Children))
	c.call(deleteNode("/zookeeper/x"))
	r = c.call(read(wire.OpGetAllChildrenNumber, root))
	p.fact("getAllChildrenNumber %v %d", r, r.Number)
	r = c.call(&wire.Request{Op: wire.OpWhoAmI})
	p.fact("whoAmI %v %s", r, pyList(r.Identities, func(i wire.Identity) string {
		return fmt.Sprintf("(%s, %s)", pyString(i.Scheme), pyString(i.ID))
	}))
}
