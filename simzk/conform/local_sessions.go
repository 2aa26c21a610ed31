package conform

import (
	"context"
	"fmt"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// LocalSessionFacts is [Facts] for the sessions of an ensemble with local sessions: it sends a
// fixed list of requests to one server, resumes the sessions at another, and reports the results.
// No other client may write during the run.
//
// The error is a [ServerError] if a server cannot be reached or stops responding, or the context's
// error.
func LocalSessionFacts(ctx context.Context, address, other string, report func(fact string)) error {
	h := newHost(ctx, address)
	defer h.fail(nil)
	p := &localProbe{
		probe: &probe{host: h, report: report},
		other: &host{ctx: h.ctx, address: other, fail: h.fail},
	}
	p.observer = p.open()
	p.root = fmt.Sprintf("/local-%x", uint64(p.observer.SessionID))
	p.createRoot(p.observer, "")
	p.openAndMove()
	p.requests()
	p.lifeOfEphemerals()
	p.observer.deleteAll(p.root)
	p.closeSessions()
	if lost := h.err(); lost != nil {
		return lost
	}
	return ctx.Err()
}

// A localProbe is a probe with a second server.
type localProbe struct {
	*probe
	other    *host
	observer *session // at the first server
}

// passed returns the number of transactions that the first server has applied since a zxid.
func (p *localProbe) passed(since int64) int64 { return p.zxid(p.observer) - since }

// resumeAtOther opens a connection to the other server for a session.
func (p *localProbe) resumeAtOther(s *session) *session {
	moved := connect(p.other, &wire.ConnectRequest{
		TimeoutMillis: 10000, SessionID: s.SessionID, Password: s.Password, HasReadOnly: true,
	})
	p.sessions = append(p.sessions, moved)
	return moved
}

func (p *localProbe) openAndMove() {
	before := p.zxid(p.observer)
	c := p.open()
	p.fact("open: sid!=0 %s, dzxid %d", pyBool(c.SessionID != 0), p.passed(before))
	moved := p.resumeAtOther(c)
	p.fact("resumed at another server: same sid %s, first connection: %v, dzxid %d",
		pyBool(moved.SessionID == c.SessionID), c.call(read(wire.OpExists, "/")), p.passed(before))
	again := p.resume(c)
	p.fact("resumed at its server: same sid %s, first connection: %s, dzxid %d",
		pyBool(again.SessionID == c.SessionID), c.awaitEnd(), p.passed(before))
	p.fact("createSession again: dzxid %d", p.reopen(again))
	before = p.zxid(p.observer)
	p.fact("close: %v, %s, dzxid %d", again.call(&wire.Request{Op: wire.OpCloseSession}),
		again.awaitEnd(), p.passed(before))
	p.fact("resumed after close: sid!=0 %s", pyBool(p.resume(c).SessionID != 0))
}

// reopen sends a further createSession request, and returns the number of zxids consumed.
func (p *localProbe) reopen(c *session) int64 {
	before := p.zxid(p.observer)
	c.sendBody(wire.OpCreateSession, []byte{0, 0, 0x27, 0x10})
	c.frame()
	return p.passed(before)
}

// requests sends each request on a session of its own, and then finds out whether another server
// knows the session.
func (p *localProbe) requests() {
	path := func(name string) string { return p.root + "/" + name }
	for _, c := range []struct {
		what string
		r    *wire.Request
	}{
		{"create", create(path("p"))},
		{"setData", setAny(path("p"))},
		{"ephemeral", createFlags(path("e1"), wire.Ephemeral)},
		{"ephemeral sequential", createFlags(path("e2-"), wire.EphemeralSequential)},
		{"ephemeral, create2", createOp(wire.OpCreate2, path("e3"), wire.Ephemeral)},
		{"ephemeral, node exists", createFlags(path("p"), wire.Ephemeral)},
		{"ephemeral, no parent", createFlags(path("none/e"), wire.Ephemeral)},
		{"ephemeral, bad path", createFlags("bad", wire.Ephemeral)},
		{"bad flags", createFlags(path("flags"), 9)},
		{"container", createOp(wire.OpCreateContainer, path("c1"), wire.Container)},
		{
			"container, flags of ephemeral",
			createOp(wire.OpCreateContainer, path("c2"), wire.Ephemeral),
		},
		{"TTL", createTTL(path("t1"), wire.PersistentTTL, 10000)},
		{"TTL, flags of ephemeral", createTTL(path("t2"), wire.Ephemeral, 10000)},
		{"multi", multi(create(path("m1")), create(path("m2")))},
		{"multi, ephemeral", multi(create(path("m3")), createFlags(path("m4"), wire.Ephemeral))},
		{"multi, error before ephemeral", multi(deleteNode(path("none")),
			createFlags(path("m5"), wire.Ephemeral))},
		{"multi, error after ephemeral", multi(createFlags(path("m6"), wire.Ephemeral),
			deleteNode(path("none")))},
		{"delete", deleteNode(path("p"))},
	} {
		p.requestAndMove(c.what, c.r)
	}
}

func (p *localProbe) requestAndMove(what string, r *wire.Request) {
	c, before := p.open(), p.zxid(p.observer)
	answer := c.call(r)
	codes := ""
	for _, result := range answer.Results {
		codes += fmt.Sprintf(" %d:%d", result.Op, result.Code)
	}
	p.fact("%s: %v%s, reply zxid %d, dzxid %d", what, answer, codes, answer.Zxid-before,
		p.passed(before))
	p.fact("  known elsewhere: %s", pyBool(p.resumeAtOther(c).SessionID != 0))
	before = p.zxid(p.observer)
	p.resume(c).close()
	p.fact("  close: dzxid %d", p.passed(before))
}

// lifeOfEphemerals tests the ephemeral nodes of a session that may have been upgraded.
func (p *localProbe) lifeOfEphemerals() {
	c, before := p.open(), p.zxid(p.observer)
	first, second := p.root+"/f1", p.root+"/f2"
	p.fact("first ephemeral: %v, dzxid %d", c.call(createFlags(first, wire.Ephemeral)),
		p.passed(before))
	before = p.zxid(p.observer)
	p.fact("second ephemeral: %v, dzxid %d", c.call(createFlags(second, wire.Ephemeral)),
		p.passed(before))
	p.fact("createSession again: dzxid %d", p.reopen(c))
	exists := p.observer.call(watch(wire.OpExists, first))
	p.fact("exists: %v, ephemeralOwner==sid %s", exists,
		pyBool(exists.Stat.EphemeralOwner == c.SessionID))
	before = p.zxid(p.observer)
	c.close()
	p.fact("close: events %s, exists: %v, dzxid %d", pyEvents(p.observer.takeEvents()),
		p.observer.call(read(wire.OpExists, first)), p.passed(before))

	c, before = p.open(), p.zxid(p.observer)
	c.send(createFlags(first, wire.Ephemeral), createFlags(second, wire.Ephemeral),
		&wire.Request{Op: wire.OpCloseSession})
	answers := []reply{c.reply(wire.OpCreate), c.reply(wire.OpCreate), c.reply(wire.OpCloseSession)}
	p.fact("pipelined creates and close: %s, exists: %v, dzxid %d", pyList(answers, reply.String),
		p.observer.call(read(wire.OpExists, first)), p.passed(before))
}
