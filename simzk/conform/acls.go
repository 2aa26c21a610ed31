package conform

import (
	"fmt"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// acls tests permissions and identities.
func (p *probe) acls() {
	c := p.open()
	root := p.root + "a"
	p.digestACL(c, root)
	p.ipACL(p.open(), root)
	d := p.open()
	if r := d.call(authenticate("digest", "blah")); r.err == nil {
		p.fact("digest without colon: err %v", r)
	} else {
		p.fact("digest without colon: closed %s", endReason(r.err))
	}
}

func (p *probe) digestACL(c *session, root string) {
	user := digest("u", "p")
	all := func(scheme, id string) wire.ACL {
		return wire.ACL{Perms: wire.PermAll, Scheme: scheme, ID: id}
	}
	c.call(createACL(root, all("digest", user)))
	p.fact("no auth: getData %v setData %v getChildren %v create child %v exists %v getACL %v "+
		"setACL %v delete %v addWatch %v",
		c.call(read(wire.OpGetData, root)), c.call(setAny(root)),
		c.call(read(wire.OpGetChildren, root)),
		c.call(create(root+"/x")),
		c.call(read(wire.OpExists, root)), c.call(read(wire.OpGetACL, root)),
		c.call(setACL(root, anyVersion, open...)),
		c.call(deleteNode(root)), c.call(watches(wire.OpAddWatch, root, wire.PersistentWatch)))
	own := createACL(root+"q", all("auth", ""))
	p.fact("auth scheme acl without auth: %v", c.call(own))
	c.call(authenticate("digest", "u:p"))
	p.fact("with auth: getData %v create auth: %v", c.call(read(wire.OpGetData, root)), c.call(own))
	p.fact("auth expands to: %s", pyList(c.call(read(wire.OpGetACL, own.Path)).ACL,
		func(a wire.ACL) string {
			return fmt.Sprintf("(%d, %s, %s)", a.Perms, pyString(a.Scheme), pyBool(a.ID == user))
		}))
}

func (p *probe) ipACL(d *session, root string) {
	own := func(path, id string) (created, got reply) {
		created = d.call(createACL(path, wire.ACL{Perms: wire.PermAll, Scheme: "ip", ID: id}))
		return created, d.call(read(wire.OpGetData, path))
	}
	i, gotI := own(root+"i", "127.0.0.1")
	j, gotJ := own(root+"j", "127.0.0.0/8")
	k, gotK := own(root+"k", "10.0.0.1")
	p.fact("ip acl: %v %v ip/mask: %v %v other ip: %v %v", i, gotI, j, gotJ, k, gotK)
	p.fact("delete needs DELETE on the parent, not on the node: %v", d.call(deleteNode(root+"k")))

	readOnly := wire.ACL{Perms: wire.PermRead, Scheme: "world", ID: "anyone"}
	p.fact("setACL bad aversion: %v", d.call(setACL(root+"i", 5, readOnly)))
	r := d.call(setACL(root+"i", 0, readOnly))
	p.fact("setACL ok: aversion %d version %d mzxid unchanged %s", r.Stat.Aversion, r.Stat.Version,
		pyBool(r.Stat.Mzxid == r.Stat.Czxid))
	if r := d.call(authenticate("nosuch", "x")); r.err == nil {
		p.fact("bad scheme auth reply err %v", r)
	}
	p.fact("then closed: %s", d.awaitEnd())
}
