package conform

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// cornerCases tests requests that no client library sends: null strings and vectors, invalid UTF-8,
// truncated records, and types that clients may not send.
func (p *probe) cornerCases() {
	root := p.createRoot(p.open(), "o")
	p.nullPaths()
	p.nullWatches(root)
	p.nullACLs(root)
	p.nullsInMultis(root)
	p.otherNulls()
	p.truncatedRecords()
	p.textEncodings(root)
	p.repeatedCreateSession()
}

// testBody sends a request on a new connection and reports the reply and the number of zxids
// consumed.
func (p *probe) testBody(what string, op wire.Op, body []byte) {
	observer, c := p.open(), p.open()
	before := p.zxid(observer)
	r := c.callBody(op, body)
	if r.err != nil {
		p.fact("%s -> %v dzxid %d", what, r, p.zxid(observer)-before)
		return
	}
	p.fact("%s -> %v bodylen %d dzxid %d", what, r, r.length, p.zxid(observer)-before)
}

// testRequest is testBody for a request that can be encoded.
func (p *probe) testRequest(what string, r *wire.Request) {
	p.testBody(what, r.Op, operation.AppendRequest(nil, r)[requestHeaderLength:])
}

const requestHeaderLength = 8

func (p *probe) nullPaths() {
	ttl := createTTL(wire.Null, wire.PersistentTTL, 10000)
	for _, r := range []*wire.Request{
		create(wire.Null), createFlags(wire.Null, wire.PersistentSequential),
		createFlags(wire.Null, 9),
		createOp(wire.OpCreate2, wire.Null, wire.Persistent), createOp(wire.OpCreateContainer,
			wire.Null,
			wire.Container), ttl,
		deleteNode(wire.Null), setAny(wire.Null), setACL(wire.Null, anyVersion, open...),
		check(wire.Null, anyVersion),
		read(wire.OpExists, wire.Null), watch(wire.OpExists, wire.Null),
		watch(wire.OpGetData, wire.Null),
		watch(wire.OpGetChildren, wire.Null), read(wire.OpGetChildren2, wire.Null),
		read(wire.OpGetACL, wire.Null),
		read(wire.OpSync, wire.Null), read(wire.OpGetEphemerals, wire.Null),
		read(wire.OpGetAllChildrenNumber, wire.Null),
		watches(wire.OpAddWatch, wire.Null, wire.RecursiveWatch), watches(wire.OpRemoveWatches,
			wire.Null,
			wire.AnyWatcher),
		watches(wire.OpCheckWatches, wire.Null, wire.AnyWatcher),
	} {
		p.testRequest(requestText(r), r)
	}
}

func (p *probe) nullWatches(root string) {
	c := p.open()
	added, removed := c.call(watches(wire.OpAddWatch, wire.Null, wire.PersistentWatch)),
		c.call(watches(wire.OpRemoveWatches, wire.Null, wire.AnyWatcher))
	p.fact("null path in addWatch -> %v and then in removeWatches -> %v and then in addWatch -> %v",
		added, removed,
		c.call(watches(wire.OpAddWatch, wire.Null, wire.RecursiveWatch)))
	for kind := range 5 {
		vectors := [5][]string{}
		vectors[kind] = []string{wire.Null}
		p.testRequest(fmt.Sprintf("null path in vector %d of setWatches2", kind),
			&wire.Request{Op: wire.OpSetWatches2, Watches: &wire.Watches{
				Data: vectors[0], Exist: vectors[1], Child: vectors[2], Persistent: vectors[3],
				Recursive: vectors[4],
			}})
		body := make([]byte, 8+4*5)
		binary.BigEndian.PutUint32(body[8+4*kind:], 0xffffffff)
		p.testBody(fmt.Sprintf("null for vector %d of setWatches2", kind), wire.OpSetWatches2, body)
	}
	c.call(&wire.Request{
		Op:      wire.OpSetWatches,
		Watches: &wire.Watches{Data: []string{root + "/gone", wire.Null, root + "/gone2"}},
	})
	p.fact("events of setWatches with a null path between two: %s", pyEvents(c.takeEvents()))
}

func (p *probe) nullACLs(root string) {
	grant := func(scheme, id string) wire.ACL {
		return wire.ACL{Perms: wire.PermRead, Scheme: scheme, ID: id}
	}
	for _, test := range []struct {
		what string
		acl  []wire.ACL
	}{
		{"null scheme", []wire.ACL{grant(wire.Null, "anyone")}},
		{"null id of world", []wire.ACL{grant("world", wire.Null)}},
		{"null id of digest", []wire.ACL{grant("digest", wire.Null)}},
		{"null id of ip", []wire.ACL{grant("ip", wire.Null)}},
		{"null id of auth", []wire.ACL{grant("auth", wire.Null)}},
		{"null id of no scheme", []wire.ACL{grant("nosuch", wire.Null)}},
		{"anyone and null scheme", []wire.ACL{grant("world", "anyone"), grant(wire.Null, "x")}},
		{"bad id and null scheme", []wire.ACL{grant("ip", "x"), grant(wire.Null, "x")}},
		{"null scheme and bad id", []wire.ACL{grant(wire.Null, "x"), grant("ip", "x")}},
		{"bad id and null id", []wire.ACL{grant("ip", "x"), grant("ip", wire.Null)}},
		{"bad id and null id of others", []wire.ACL{grant("ip", "x"), {
			Perms: wire.PermAll, Scheme: "ip",
			ID: wire.Null,
		}}},
		{"null id twice", []wire.ACL{grant("auth", wire.Null), grant("auth", wire.Null)}},
	} {
		p.testRequest("create with "+test.what, createACL(root+"/acl", test.acl...))
	}
	null := setACL(root, anyVersion)
	body := operation.AppendRequest(nil, null)[requestHeaderLength:]
	binary.BigEndian.PutUint32(body[4+len(root):], 0xffffffff)
	p.testBody("setACL with null for the ACL", wire.OpSetACL, body)
	p.testRequest("setACL with null id of world",
		setACL(root, anyVersion, grant("world", wire.Null)))
}

// nullsInMultis reports the zxids consumed up to the next write: if a multi fails before it starts,
// its zxid only shows there.
func (p *probe) nullsInMultis(root string) {
	c := p.open()
	for _, r := range []*wire.Request{
		multi(create(wire.Null)), multi(createFlags(wire.Null, 9)), multi(deleteNode(wire.Null)),
		multi(setAny(root), check(wire.Null, anyVersion)),
		multi(deleteNode(root+"/no"), check(wire.Null, anyVersion)),
		multi(createACL(root+"/m", wire.ACL{Perms: wire.PermAll, Scheme: "world", ID: wire.Null})),
		multi(createACL(root+"/m", wire.ACL{Perms: wire.PermAll, Scheme: wire.Null, ID: "anyone"})),
		{Op: wire.OpMultiRead, Ops: []wire.Request{*read(wire.OpGetData, wire.Null)}},
		{Op: wire.OpMultiRead, Ops: []wire.Request{
			*read(wire.OpGetChildren, root),
			*read(wire.OpGetData, wire.Null),
		}},
	} {
		before := c.call(setAny(root)).Zxid
		answer := c.call(r)
		p.fact("%s -> %v bodylen %d, zxids until the next write %d", requestText(r), answer,
			answer.length, c.call(setAny(root)).Zxid-before)
	}
}

func (p *probe) otherNulls() {
	for _, r := range []*wire.Request{
		{Op: wire.OpAuth, Scheme: wire.Null, Data: []byte("u:p")},
		{Op: wire.OpAuth, Scheme: "digest"},
		{Op: wire.OpAuth, Scheme: "ip"},
		{Op: wire.OpSASL},
		{Op: wire.OpSASL, Data: []byte{}},
		{Op: wire.OpReconfig, Reconfig: &wire.Reconfig{
			Joining: wire.Null, Leaving: wire.Null,
			NewMembers: wire.Null, Version: -1,
		}},
	} {
		p.testRequest(fmt.Sprintf("null in %s %s", operation.Name(r.Op), pathText(r.Scheme)), r)
	}
	c := p.open()
	p.fact("zxid in the reply to sasl: %d",
		c.call(&wire.Request{Op: wire.OpSASL, Data: []byte("x")}).Zxid)
}

// truncatedRecords tests truncated records.
func (p *probe) truncatedRecords() {
	for _, op := range []wire.Op{
		wire.OpCreate, wire.OpDelete, wire.OpSetACL, wire.OpCheck, wire.OpMulti, wire.OpReconfig,
		wire.OpDeleteContainer, wire.OpExists,
		wire.OpSync, wire.OpMultiRead, wire.OpSetWatches, wire.OpAddWatch, wire.OpGetEphemerals,
		wire.OpWhoAmI, wire.OpAuth, wire.OpSASL,
	} {
		p.testBody(fmt.Sprintf("%s of two bytes", operation.Name(op)), op, []byte{0, 0})
	}
	p.testBody("auth of negative length", wire.OpAuth, []byte("\x00\x00\x00\x00\xff\xff\xff\xfe"))
	p.testBody("deleteContainer of a path", wire.OpDeleteContainer, []byte("\x00\x00\x00\x02/a"))
	for _, op := range []wire.Op{wire.OpNotification, wire.OpError, 10, 23, 108} {
		p.testBody(fmt.Sprintf("type %d", op), op, nil)
	}
}

// textEncodings tests invalid UTF-8 and characters beyond 16 bits.
func (p *probe) textEncodings(root string) {
	for _, text := range []string{
		"\xff", "\xc3", "\xc0\x80", "\xe2\x82", "\xe2(\xa1", "\xed\xa0\x80",
		"\xed\xa0\xbd\xed\xb8\x80",
		"\xf0\x9f\x98",
		"\xf0\x9f\x98\x80", "\xf4\x90\x80\x80",
	} {
		c := p.open()
		r := c.callBody(wire.OpSync, appendText(nil, "/"+text))
		p.fact("sync of /%x -> %v %q bodylen %d", text, r, r.Path, r.length)
		c.callBody(wire.OpAuth, appendText(appendText([]byte{0, 0, 0, 0}, "digest"),
			text+":p"+text))
		r = c.call(&wire.Request{Op: wire.OpWhoAmI})
		slices.SortFunc(r.Identities, func(a, b wire.Identity) int {
			return cmp.Compare(a.Scheme, b.Scheme)
		})
		acl := c.call(createACL(root+fmt.Sprintf("/%x", text), wire.ACL{
			Perms:  wire.PermAll,
			Scheme: "auth",
		}))
		got := c.call(read(wire.OpGetACL, acl.Path))
		p.fact("user %x -> %v %q bodylen %d, ACL %q bodylen %d", text, r, r.Identities, r.length,
			aclText(got.ACL), got.length)
	}
}

// appendText appends a jute string or buffer.
func appendText(dst []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// repeatedCreateSession requests a session within a session.
func (p *probe) repeatedCreateSession() {
	p.testBody("createSession again, of no bytes", wire.OpCreateSession, nil)
	observer, c := p.open(), p.open()
	before := p.zxid(observer)
	c.sendBody(wire.OpCreateSession, []byte{0, 0, 0, 1})
	var answer wire.ConnectResponse
	frame := c.frame()
	c.fail(wire.DecodeConnectResponse(frame, &answer))
	p.fact("createSession again: same session %s same pw %s timeout %d rsplen %d dzxid %d",
		pyBool(answer.SessionID == c.SessionID),
		pyBool(string(answer.Password) == string(c.Password)), answer.TimeoutMillis, len(frame),
		p.zxid(observer)-before)
	p.fact("then -> %v", c.call(read(wire.OpExists, "/")))
}
